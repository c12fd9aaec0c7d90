// apiserver/measure.cpp - a responder that counts what goes through it.
#include "apiserver/measure.h"

#include <algorithm>
#include <utility>

#include "apiserver/answer.h"

namespace muster::apiserver {
namespace {

std::string verb_text(const Exchange& exchange) {
    const std::string& verb = exchange.route.verb;
    if (verb == "create") return exchange.route.subresource == "proxy" ? "CONNECT" : "POST";
    if (verb == "update") return "PUT";
    if (verb == "patch") {
        const std::string_view type = exchange.request.headers.get("Content-Type");
        return type.starts_with("application/apply-patch") ? "APPLY" : "PATCH";
    }
    std::string text;
    for (const char c : verb)
        text += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return text;
}

std::string scope_of(const Route& route) {
    if (!route.name.empty()) return "resource";
    return route.ns.empty() ? "cluster" : "namespace";
}

bool is_served(const Context& context, const Exchange& exchange) {
    static constexpr std::string_view usual[] = {"",        "status",   "scale",    "proxy",
                                                 "log",     "exec",     "attach",   "portforward",
                                                 "binding", "eviction", "finalize", "token"};
    const std::string& subresource = exchange.route.subresource;
    return std::find(std::begin(usual), std::end(usual), subresource) != std::end(usual) ||
           context.answers.contains({exchange.kind->resource(), subresource});
}

class Measured final : public net::Responder {
public:
    Measured(Context& context, const Exchange& exchange)
        : context_(context),
          alive_(context.alive),
          described_(exchange.described),
          way_(exchange.responder),
          since_(context.loop.now()) {}

    void respond(net::Response response) override {
        count(response.status, RequestMetrics::Timing::whole);
        way_->respond(std::move(response));
    }
    void begin(net::Response head) override {
        count(head.status, RequestMetrics::Timing::stream);
        way_->begin(std::move(head));
    }
    void write(Bytes piece) override { way_->write(std::move(piece)); }
    void write_rope(net::RopePtr rope) override { way_->write_rope(std::move(rope)); }
    void finish() override { way_->finish(); }
    void cut() override { way_->cut(); }
    std::size_t buffered() const override { return way_->buffered(); }
    net::Backlog backlog() const override { return way_->backlog(); }
    void on_closed(std::function<void()> handler) override { way_->on_closed(std::move(handler)); }
    std::shared_ptr<net::Channel> upgrade_websocket(std::string subprotocol) override {
        auto channel = way_->upgrade_websocket(std::move(subprotocol));
        if (channel) count(101, RequestMetrics::Timing::stream);
        return channel;
    }
    std::shared_ptr<net::Channel> upgrade_raw(net::Response head) override {
        auto channel = way_->upgrade_raw(std::move(head));
        if (channel) count(101, RequestMetrics::Timing::stream);
        return channel;
    }

private:
    void count(int code, RequestMetrics::Timing timing) {
        if (alive_.expired()) return;  // A node may answer after the server's end.
        const Duration took = context_.loop.now() - since_;
        context_.requests->count(*described_, code, static_cast<double>(took.nanoseconds) / 1e9,
                                 timing);
    }

    Context& context_;
    std::weak_ptr<int> alive_;
    std::shared_ptr<const std::vector<std::string>> described_;
    std::shared_ptr<net::Responder> way_;
    Time since_;
};

}  // namespace

RequestMetrics::RequestMetrics(Metrics& metrics)
    : requests_(metrics.counters(
          {"apiserver_request_total",
           "Counter of apiserver requests broken out for each verb, dry run value, group, version, "
           "resource, scope, component, and HTTP response code.",
           {"code", "component", "dry_run", "group", "resource", "scope", "subresource", "verb",
            "version"}})),
      durations_(metrics.histograms(
          {"apiserver_request_duration_seconds",
           "Response latency distribution in seconds for each verb, dry run value, group, version, "
           "resource, subresource, scope and component.",
           {"component", "dry_run", "group", "resource", "scope", "subresource", "verb",
            "version"}},
          {0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1,  1.25, 1.5, 2,
           3,     4,     5,    6,   8,   10,  15,  20,  30, 45,   60})) {}

void RequestMetrics::count(const std::vector<std::string>& described, int code, double took,
                           Timing timing) {
    std::vector<std::string> values = described;
    values.insert(values.begin(), "apiserver");
    if (timing == Timing::whole) durations_.with(values).observe(took);
    values.insert(values.begin(), std::to_string(code));
    requests_.with(values).add();
}

std::shared_ptr<net::Responder> measured(Context& context, const Exchange& exchange) {
    return std::make_shared<Measured>(context, exchange);
}

void describe(const Context& context, Exchange& exchange) {
    const Route& route = exchange.route;
    if (!is_served(context, exchange)) return;
    *exchange.described = {exchange.is_dry_run() ? "All" : "",
                           route.group,
                           route.plural,
                           scope_of(route),
                           route.subresource,
                           verb_text(exchange),
                           route.version};
}

bool serve_metrics(Context& context, Exchange& exchange) {
    if (exchange.route.path != "/metrics") return false;
    send_json(exchange, 200, make_bytes(context.metrics->text()),
              std::string(Metrics::content_type));
    return true;
}

}  // namespace muster::apiserver
