// net/server_session.cpp - waits for a connection's first bytes, then passes everything to the
// session of that protocol.
#include "net/server_session.h"

#include <utility>

namespace muster::net {
namespace {

/// HTTP/2's preface begins with these, and no method of HTTP/1.1 does.
constexpr std::string_view http2_start = "PRI";

class FrontSession final : public ServerSession {
public:
    explicit FrontSession(std::shared_ptr<const Rules> rules) : rules_(std::move(rules)) {}

    void opened(Outlet& outlet) override {
        outlet_ = &outlet;
        if (outlet.protocol() == "h2") return choose(make_http2_session(rules_));
        if (outlet.protocol() == "http/1.1") return choose(make_http1_session(rules_));
        outlet.set_deadline(rules_->request_timeout);
    }

    void feed(std::string_view bytes) override {
        if (chosen_) return chosen_->feed(bytes);
        first_ += bytes;
        if (first_.starts_with(http2_start)) {
            choose(make_http2_session(rules_));
        } else if (http2_start.starts_with(first_)) {
            return;
        } else {
            choose(make_http1_session(rules_));
        }
        chosen_->feed(std::exchange(first_, {}));
    }

    bool is_idle() const override { return !chosen_ || chosen_->is_idle(); }
    bool wants_bytes() const override { return !chosen_ || chosen_->wants_bytes(); }
    bool ends_with_other_end() const override { return chosen_ && chosen_->ends_with_other_end(); }
    void pull(std::string& out, std::size_t enough) override {
        if (chosen_) chosen_->pull(out, enough);
    }
    bool finished() const override { return chosen_ ? chosen_->finished() : leaving_; }
    void closed(const std::string& why) override {
        if (chosen_) chosen_->closed(why);
    }
    void tick() override {
        if (chosen_) chosen_->tick();
    }
    void go_away() override {
        leaving_ = true;
        if (chosen_) return chosen_->go_away();
        if (outlet_) outlet_->flush_soon();
    }

    // Links lead to the chosen session itself; these are never asked.
    void respond(Stream, Response) override {}
    void begin(Stream, Response) override {}
    void write(Stream, Bytes) override {}
    void write_rope(Stream, RopePtr) override {}
    void finish(Stream) override {}
    void abandon(Stream) override {}
    void cut(Stream) override {}
    void decided(Stream, Verdict) override {}
    void body_taken(Stream, std::size_t) override {}
    void upgrade(Stream, std::string) override {}
    void upgrade_raw(Stream, Response) override {}
    void read_no_faster_than(Stream, Backlog) override {}
    void send_message(Stream, std::string) override {}
    void close_channel(Stream) override {}

private:
    void choose(std::unique_ptr<ServerSession> session) {
        chosen_ = std::move(session);
        chosen_->opened(*outlet_);
    }

    std::shared_ptr<const Rules> rules_;
    Outlet* outlet_ = nullptr;
    std::unique_ptr<ServerSession> chosen_;
    std::string first_;
    bool leaving_ = false;
};

}  // namespace

std::unique_ptr<ServerSession> make_server_session(std::shared_ptr<const Rules> rules) {
    return std::make_unique<FrontSession>(std::move(rules));
}

void set_target(Request& request, std::string_view target) {
    // A proxy's form, "http://host/path", means the same.
    if (const std::size_t scheme = target.find("://");
        !target.starts_with('/') && scheme != std::string_view::npos) {
        const std::size_t path = target.find('/', scheme + 3);
        target = path == std::string_view::npos ? "/" : target.substr(path);
    }
    target = target.substr(0, target.find('#'));
    const std::size_t question = target.find('?');
    request.path = target.substr(0, question);
    if (question == std::string_view::npos) return;
    request.query_text = target.substr(question + 1);
    request.query = parse_query(request.query_text);
}

}  // namespace muster::net
