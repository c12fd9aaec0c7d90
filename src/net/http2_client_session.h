// net/http2_client_session.h - one HTTP/2 connection as a client speaks it; for .cpp files of net/.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include <nghttp2/nghttp2.h>

#include "net/client.h"
#include "net/http2_client.h"
#include "net/session.h"

namespace muster::net {

/// One request and what happens with its answer.
struct Http2Call {
    Request request;
    Http2Client::OnResponse on_response;  // Null: the answer is a stream.
    Http2Client::Stream stream;
    Response answer;
    std::string body;
    std::size_t sent = 0;  // Of the request's body.
    int tries = 0;         // Connections that gave it back unread.
    /// When anything of it went out or came last; for whole answers.
    std::chrono::steady_clock::time_point moved{};
    bool head_given = false;
    bool too_large = false;
    bool held_back = false;  // It may not go on; the server has a part of it.
    bool cancelled = false;

    bool is_stream() const { return on_response == nullptr; }
    void fail(const std::string& why);
};
using Http2CallPtr = std::shared_ptr<Http2Call>;

/// Carries calls over one connection, as many at once as the server grants streams; the others wait
/// in line here, so that each can be asked whether it still may go when its turn has come. What the
/// server says that it has not read, and what may not go, comes back by `again`: to be sent over
/// another connection, or to be told.
class Http2ClientSession final : public Session {
public:
    using Again = std::function<void(Http2CallPtr)>;

    Http2ClientSession(std::string authority, const ClientOptions& options, Again again);
    ~Http2ClientSession() override { nghttp2_session_del(session_); }
    Http2ClientSession(const Http2ClientSession&) = delete;
    Http2ClientSession& operator=(const Http2ClientSession&) = delete;

    /// False: the connection is broken, or the server wants no more requests on it.
    bool takes_requests() const { return !over_ && !going_; }
    void start(Http2CallPtr call);
    /// No more requests over this connection; it ends when those under way have.
    void leave();
    /// Forgets a call without a word to it; nothing happens when it is not on this connection.
    void cancel(const Http2CallPtr& call);

    void opened(Outlet& outlet) override;
    void feed(std::string_view bytes) override;
    bool wants_bytes() const override { return true; }
    void pull(std::string& out, std::size_t enough) override;
    bool may_send_rest() override;
    bool finished() const override;
    void closed(const std::string& why) override;
    void tick() override;

private:
    using Clock = std::chrono::steady_clock;

    bool may_go(const Http2Call& call) const;
    bool submit_next();
    void submit(const Http2CallPtr& call);
    void give_line_back();
    void take_field(Http2Call& call, std::string_view name, std::string value);
    void take_data(std::int32_t id, std::string_view data);
    void take_frame(const nghttp2_frame& frame);
    void stream_closed(std::int32_t id, std::uint32_t error);
    void settle();
    void forget(std::int32_t id);
    void end_overdue(Clock::time_point now);
    void give_up(const std::string& why);
    Http2CallPtr find(std::int32_t id) const;
    static nghttp2_session_callbacks* new_callbacks();
    static ssize_t read_body(nghttp2_session* session, std::int32_t id, std::uint8_t* out,
                             std::size_t size, std::uint32_t* flags, nghttp2_data_source* source,
                             void* user);

    std::string authority_;
    const ClientOptions& options_;
    Again again_;
    Outlet* outlet_ = nullptr;
    nghttp2_session* session_ = nullptr;
    std::deque<Http2CallPtr> line_;   // For the connection, and then for a stream.
    Clock::time_point line_moved_{};  // When somebody left it, or the first came.
    std::map<std::int32_t, Http2CallPtr> calls_;
    std::size_t whole_ = 0;         // How many of `calls_` are not streams.
    Clock::time_point heard_{};     // Of anything from the server.
    Clock::time_point answered_{};  // Of anything that whole answers waited for.
    Clock::time_point asked_{};     // When the ping went out that is not answered yet.
    bool pinged_ = false;
    bool going_ = false;
    bool sent_away_ = false;  // By the server.
    bool over_ = false;
    std::string why_;  // It was given up.
};

}  // namespace muster::net
