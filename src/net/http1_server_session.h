// net/http1_server_session.h - a server's HTTP/1.1 connection; for .cpp files of net/.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http1_parser.h"
#include "net/server_session.h"
#include "net/websocket.h"

namespace muster::net {

/// How much of later requests may wait here while one is being answered.
constexpr std::size_t input_limit = 16 << 10;

/// One request at a time: read, answered whole or in chunks, and then the next; or past HTTP.
class Http1Session final : public ServerSession {
public:
    explicit Http1Session(std::shared_ptr<const Rules> rules)
        : rules_(std::move(rules)),
          parser_(Http1Parser::Reads::requests, {rules_->header_limit, 0}),
          link_(std::make_shared<Link>(Link{rules_->io, this})) {}

    void opened(Outlet& outlet) override;
    void feed(std::string_view bytes) override;
    bool wants_bytes() const override {
        if (phase_ == Phase::raw || socket_) return !onward_.is_full();
        if (uploading_) return untaken_ <= onward_limit;
        return asked_gate_ != Asked::waits && input_.size() < input_limit;
    }
    void pull(std::string& out, std::size_t enough) override;
    bool finished() const override;
    bool ends_with_other_end() const override { return socket_.has_value(); }
    bool is_idle() const override { return phase_ == Phase::reading && !parser_.started(); }
    void closed(const std::string& why) override;
    void tick() override;

    void respond(Stream stream, Response response) override;
    void begin(Stream stream, Response head) override;
    void write(Stream stream, Bytes piece) override;
    void write_rope(Stream stream, RopePtr rope) override;
    void finish(Stream stream) override;
    void abandon(Stream stream) override;
    void cut(Stream stream) override;
    void decided(Stream stream, Verdict verdict) override;
    void body_taken(Stream stream, std::size_t bytes) override;
    void upgrade(Stream stream, std::string subprotocol) override;
    void upgrade_raw(Stream stream, Response head) override;
    void read_no_faster_than(Stream stream, Backlog onward) override;
    void send_message(Stream stream, std::string message) override;
    void close_channel(Stream stream) override;
    void go_away() override;

private:
    /// Reading a request, waiting for its answer, sending it, or past HTTP.
    enum class Phase { reading, answering, streaming, last_words, websocket, raw };

    void read_requests();
    bool read_request();
    void header_came();
    void request_waits();
    bool hold(std::size_t bytes);
    bool hold_onward();
    void expect_body();
    Request request_so_far() const;
    void request_came();
    void upload_begins(Request request);
    void read_upload();
    bool is_too_large() const;
    void hand_over(Request request, Body body);
    void refuse(Http1Parser::Problem problem);
    void refuse(const Response& response);
    void put_head(const Response& head, std::optional<std::size_t> length);
    void put_piece(Bytes piece, bool counted);
    void put_chunk_head(std::size_t size);
    void answer_complete();
    void take_socket_output();
    void raw_came(std::string_view bytes);
    void message_came(std::string bytes);
    bool is_current(Stream stream) const { return stream == stream_; }

    std::shared_ptr<const Rules> rules_;
    Outlet* outlet_ = nullptr;
    Http1Parser parser_;
    std::shared_ptr<Link> link_;
    std::string input_;
    Phase phase_ = Phase::reading;
    Stream stream_ = 0;
    Pending pending_;
    Headers asked_;  // The headers of the request being answered.
    bool header_seen_ = false;
    enum class Asked { no, waits, passed };
    Asked asked_gate_ = Asked::no;    // About the request being read.
    std::size_t came_ = 0;            // Of it, in bytes.
    Charge reading_;                  // For it, as long as it is not whole.
    std::shared_ptr<Account> whose_;  // As the gate said.
    std::shared_ptr<const void> admitted_;
    bool keep_alive_ = true;
    bool head_only_ = false;
    bool chunked_ = false;
    bool leaving_ = false;
    std::string out_;
    Outgoing pieces_;
    std::size_t taken_ = 0;  // Bytes of the answer that have gone out since the last tick.
    Stall stall_;
    bool uploading_ = false;               // The body of the request that is answered still comes.
    std::size_t untaken_ = 0;              // Of that body, handed over and not yet passed on.
    std::optional<std::size_t> promised_;  // Of a streamed answer, by its Content-Length.
    std::optional<WebSocket> socket_;
    Onward onward_;
    int ticks_ = 0;
};

}  // namespace muster::net
