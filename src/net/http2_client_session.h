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
    bool head_given = false;
    bool too_large = false;
    bool cancelled = false;

    bool is_stream() const { return on_response == nullptr; }
    void fail(const std::string& why);
};
using Http2CallPtr = std::shared_ptr<Http2Call>;

/// Why a request that may not go any more fails.
constexpr const char* too_late = "not sent: its time was over before it could be";

/// Carries calls over one connection. What the server says that it has not read comes back by
/// `again`, to be sent over another connection.
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
    bool finished() const override;
    void closed(const std::string& why) override;
    void tick() override;

private:
    using Clock = std::chrono::steady_clock;

    void submit(const Http2CallPtr& call);
    void take_field(Http2Call& call, std::string_view name, std::string value);
    void take_data(std::int32_t id, std::string_view data);
    void take_frame(const nghttp2_frame& frame);
    void stream_closed(std::int32_t id, std::uint32_t error);
    void settle();
    void forget(std::int32_t id);
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
    std::deque<Http2CallPtr> waiting_;  // For the connection.
    std::map<std::int32_t, Http2CallPtr> calls_;
    std::size_t whole_ = 0;         // How many of `calls_` are not streams.
    Clock::time_point heard_{};     // Of anything from the server.
    Clock::time_point answered_{};  // Of anything that whole answers waited for.
    Clock::time_point asked_{};     // When the ping went out that is not answered yet.
    bool pinged_ = false;
    bool going_ = false;
    bool over_ = false;
    std::string why_;  // It was given up.
};

}  // namespace muster::net
