// net/http2_server_session.h - a server's HTTP/2 connection; for .cpp files of net/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nghttp2/nghttp2.h>

#include "net/server_session.h"

namespace muster::net {

/// One request and its answer.
struct Http2Stream {
    Request request;
    std::string body;
    std::size_t header_size = 0;
    bool authority_seen = false;
    bool answered = false;   // By the handler or by us: the head is submitted.
    bool refused = false;    // What still comes of it is dropped.
    bool head_only = false;  // HEAD: the answer has no body.
    bool delivered = false;
    bool uploading = false;  // Delivered, and its body still comes.
    bool complete = false;   // Nothing follows what is in `pieces`.
    enum class Asked { no, waits, passed };
    Asked asked_gate = Asked::no;
    Charge reading;                  // For what has come, until it is delivered.
    std::shared_ptr<Account> whose;  // As the gate said.
    std::size_t unread = 0;          // Of the body, for which the window has not been opened again.
    Pending pending;
    Outgoing pieces;
    std::size_t taken = 0;  // Bytes of the answer that have gone out since the last tick.
    Stall stall;
    int ticks = 0;  // How long its end has not come.
};

/// Many streams over nghttp2, with flow control; bytes are pulled when the socket takes them.
class Http2Session final : public ServerSession {
public:
    explicit Http2Session(std::shared_ptr<const Rules> rules)
        : rules_(std::move(rules)), link_(std::make_shared<Link>(Link{rules_->io, this})) {}
    ~Http2Session() override { nghttp2_session_del(session_); }

    void opened(Outlet& outlet) override;
    void feed(std::string_view bytes) override;
    bool wants_bytes() const override { return true; }
    void pull(std::string& out, std::size_t enough) override;
    bool finished() const override;
    bool is_idle() const override { return streams_.empty(); }
    void closed(const std::string& why) override;

    void respond(Stream stream, Response response) override;
    void begin(Stream stream, Response head) override;
    void write(Stream stream, Bytes piece) override;
    void write_rope(Stream stream, RopePtr rope) override;
    void finish(Stream stream) override;
    void abandon(Stream stream) override;
    void cut(Stream stream) override;
    void decided(Stream stream, Verdict verdict) override;
    // RFC 8441 is not spoken: a request that comes this way never asks for a WebSocket.
    void upgrade(Stream, std::string) override {}
    void body_taken(Stream stream, std::size_t bytes) override;
    void upgrade_raw(Stream, Response) override {}
    void read_no_faster_than(Stream, Backlog) override {}
    void send_message(Stream, std::string) override {}
    void close_channel(Stream) override {}
    void tick() override;
    void go_away() override;

    // nghttp2's callbacks:
    int stream_begins(std::int32_t id);
    int field_came(std::int32_t id, std::string_view name, std::string_view value);
    int header_came(std::int32_t id);
    int data_came(std::int32_t id, std::string_view bytes);
    int request_ended(std::int32_t id);
    void stream_closed(std::int32_t id);
    ssize_t read_body(Http2Stream& stream, std::uint8_t* out, std::size_t size,
                      std::uint32_t* flags);

private:
    Http2Stream* find(Stream id);
    void submit_head(Stream id, Http2Stream& stream, const Response& head);
    void refuse(std::int32_t id, Http2Stream& stream, int status, const std::string& text);
    void refuse(std::int32_t id, Http2Stream& stream, const Response& response);
    void refuse_for_room(std::int32_t id, Http2Stream& stream);
    bool hold(Http2Stream& stream, std::size_t bytes);
    void ask_gates();
    void let_pass(std::int32_t id, Http2Stream& stream);
    void resume(Stream id);

    std::shared_ptr<const Rules> rules_;
    Outlet* outlet_ = nullptr;
    std::shared_ptr<Link> link_;
    nghttp2_session* session_ = nullptr;
    std::map<std::int32_t, Http2Stream> streams_;
    std::vector<std::int32_t> heads_;  // Came in this piece without the end of their requests.
    std::size_t bodies_size_ = 0;
    bool broken_ = false;
    bool leaving_ = false;
};

}  // namespace muster::net
