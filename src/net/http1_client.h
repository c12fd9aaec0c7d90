// net/http1_client.h - a client's HTTP/1.1 connection: one call at a time, then it can be used
// again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/time.h"
#include "net/exchange.h"
#include "net/http1_parser.h"
#include "net/session.h"
#include "net/websocket.h"

namespace muster::net {

/// One request and what happens with its answer; all on the connection's thread.
struct Call {
    enum class Kind { whole, stream, websocket, raw };
    Kind kind = Kind::whole;
    std::uint64_t stream = 0;      // The owner's name for it.
    std::string bytes;             // Head and body as they go out.
    std::function<bool()> may_go;  // Asked when it goes out; no: it fails. Null: always yes.
    bool head_only = false;
    bool repeatable = false;    // May be sent again when a kept connection turns out dead.
    Duration response_timeout;  // For the whole answer, or for the head of a stream.
    std::size_t limit = 0;      // Of a whole answer's body.
    bool cuts = false;          // A longer one ends there, in place of failing.
    std::string websocket_key;
    std::function<void(Response)> on_head;  // Status 0: failed. With the body for whole answers.
    std::function<void(std::string)> on_piece;
    std::function<void(std::string)> on_message;  // Of a WebSocket, or raw bytes.
    std::function<void(std::string)> on_broken;   // Of a stream: its end did not come.
    std::function<void(std::size_t)> on_sent;     // So much of a streamed body has gone out.
    enum class Upload { none, sized, chunked };
    Upload upload = Upload::none;  // Not none: the body comes by `send_body`.
    std::function<void()> on_end;  // Once, last; also after a failure.
    Onward onward;                 // `home` is let go of by whoever takes what comes.
};

class Http1ClientSession final : public Session {
public:
    struct Owner {
        std::function<void()> on_idle;  // Another call could be started.
        /// A kept connection turned out dead before anything of the answer came: send it again.
        std::function<void(std::unique_ptr<Call>)> again;
    };
    explicit Http1ClientSession(Owner owner);

    /// Requires: idle. May be called before the connection is there.
    void start(std::unique_ptr<Call> call);
    bool idle() const { return !call_ && !over_; }
    /// Forgets the call without a word; the connection ends.
    void drop_call();

    void send_body(std::string_view piece);
    void end_body();
    void send_message(std::string message, const std::shared_ptr<Flow>& flow);
    void close_channel();
    void read_no_faster_than(Backlog onward);

    void opened(Outlet& outlet) override;
    void feed(std::string_view bytes) override;
    bool wants_bytes() const override { return !call_ || !call_->onward.is_full(); }
    void pull(std::string& out, std::size_t enough) override;
    bool may_send_rest() override { return !call_ || !call_->may_go || call_->may_go(); }
    bool finished() const override;
    void closed(const std::string& why) override;

private:
    void put_request();
    void read();
    void head_came();
    void body_came();
    void answer_complete();
    void end_call();
    void start_websocket();
    void start_raw();
    void message_came(std::string bytes);
    void fail(const std::string& why);
    void take_socket_output();

    Owner owner_;
    Outlet* outlet_ = nullptr;
    Http1Parser parser_;
    std::unique_ptr<Call> call_;
    std::string input_;
    std::string out_;
    Response answer_;
    std::string body_;
    bool head_given_ = false;
    bool kept_ = false;   // Has carried a call to its end before.
    bool over_ = false;   // Of no further use.
    bool asked_ = false;  // Whether the call may go.
    std::optional<WebSocket> socket_;
    std::size_t body_unsent_ = 0;     // Of a streamed body, not yet pulled.
    bool raw_ = false;                // Past HTTP, without WebSocket framing.
    std::shared_ptr<Flow> raw_flow_;  // Counts what of `out_` nobody has pulled.
};

}  // namespace muster::net
