// apps/operator/endpoints.cpp - three servers and their handlers.
#include "apps/operator/endpoints.h"

#include <utility>

#include "apps/operator/profile_page.h"
#include "apps/up/machine.h"
#include "base/error.h"
#include "base/log.h"
#include "net/pki.h"

namespace muster::on_cluster {
namespace {

/// Scrapers do not check it, as those of Kubernetes' own programs do not: it is for secrecy.
net::ServerTls own_tls(Time now, const net::TlsLimits& limits) {
    const net::KeyPair authority = net::make_authority("muster-operator-metrics", now);
    net::Subject subject;
    subject.common_name = up::machine_name();
    subject.names = {"localhost", up::machine_name()};
    const net::KeyPair pair =
        net::make_server_certificate(authority, subject, now, hours(10 * 365 * 24));
    net::ServerTls tls;
    tls.certificate_pem = pair.certificate_pem;
    tls.key_pem = pair.key_pem;
    tls.limits = limits;
    return tls;
}

net::ServerOptions options_of(const up::Listen& listen, const std::string& what) {
    net::ServerOptions options;
    options.connection_limit = 200;
    options.listening_fd =
        net::open_listener(listen.address, listen.port, "--" + what + "-bind-address");
    return options;
}

void tell_port(const std::string& what, const net::Server& server) {
    log_info("operator", what + " on port " + std::to_string(server.port()));
}

}  // namespace

std::optional<up::Listen> address_of(const std::string& text, const std::string& named) {
    if (text.empty() || text == "0") return std::nullopt;
    const auto listen = up::parse_listen(text);
    if (listen) return listen;
    throw Error(Reason::bad_request, "error: " + named + " " + text +
                                         ": give ADDRESS:PORT, :PORT for every address, or 0 for "
                                         "none");
}

Endpoints::Endpoints(const EndpointOptions& options, net::AsioLoop& home,
                     kube::Transport& transport, std::shared_ptr<Metrics> metrics,
                     std::function<Duration()> stopwatch)
    : names_(options.names),
      metrics_(std::move(metrics)),
      stopwatch_(std::move(stopwatch)),
      access_(transport, home) {
    vitals_.beat = stopwatch_();
    using Way = std::shared_ptr<net::Responder>;
    if (options.health) {
        health_server_ = std::make_unique<net::Server>(
            options_of(*options.health, "health-probe"), probes_,
            [this](const net::Request& request, const Way& way) { answer_probe(request, *way); });
        tell_port("probes", *health_server_);
    }
    if (options.profile) {
        profile_server_ =
            std::make_unique<net::Server>(options_of(*options.profile, "pprof"), probes_,
                                          [this](const net::Request& request, const Way& way) {
                                              answer_profile(probes_, request, way);
                                          });
        tell_port("profiles", *profile_server_);
    }
    if (options.metrics) {
        net::ServerOptions secure = options_of(*options.metrics, "metrics");
        secure.tls = own_tls(home.now(), options.tls);
        metrics_server_ = std::make_unique<net::Server>(
            std::move(secure), home,
            [this](const net::Request& request, const Way& way) { answer_metrics(request, way); });
        tell_port("metrics", *metrics_server_);
    }
    if (options.health || options.profile) probes_.start("probes");
}

Endpoints::~Endpoints() {
    for (net::Server* server :
         {metrics_server_.get(), profile_server_.get(), health_server_.get()}) {
        if (server != nullptr) server->stop(milliseconds(200));
    }
    probes_.stop();
}

void Endpoints::tell(Vitals vitals) {
    probes_.post([this, vitals = std::move(vitals)] { vitals_ = vitals; });
}

void Endpoints::answer_probe(const net::Request& request, net::Responder& responder) const {
    responder.respond(probe_answer(request, names_, vitals_, stopwatch_()));
}

void Endpoints::answer_metrics(const net::Request& request,
                               const std::shared_ptr<net::Responder>& responder) {
    if (request.path != "/metrics")
        return responder->respond(text_answer(404, "there is only /metrics\n"));
    access_.ask(request, [this, responder](const ScrapeAccess::Answer& answer) {
        using Verdict = ScrapeAccess::Verdict;
        if (answer.verdict == Verdict::granted) {
            net::Response response = text_answer(200, metrics_->text());
            response.headers.set("Content-Type", std::string(Metrics::content_type));
            return responder->respond(std::move(response));
        }
        const int status = answer.verdict == Verdict::unknown_user ? 401
                           : answer.verdict == Verdict::forbidden  ? 403
                                                                   : 503;
        responder->respond(text_answer(status, answer.why + "\n"));
    });
}

}  // namespace muster::on_cluster
