// apps/operator/endpoints.h - what the operator serves of itself: probes, metrics, profiles.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "apps/operator/scrape_access.h"
#include "apps/operator/vitals.h"
#include "apps/up/listen.h"
#include "base/metrics.h"
#include "net/asio_loop.h"
#include "net/server.h"

namespace muster::on_cluster {

/// Where each is served; absent: nowhere.
struct EndpointOptions {
    std::optional<up::Listen> health;   // Plain HTTP, for the kubelet.
    std::optional<up::Listen> metrics;  // HTTPS, for whom the cluster allows it.
    std::optional<up::Listen> profile;  // Plain HTTP, for people who forward the port.
    ProbeNames names;
    net::TlsLimits tls{};  // Of the metrics.
};

/// "" and "0": nowhere. Throws Error that names the flag or field when it is no address.
std::optional<up::Listen> address_of(const std::string& text, const std::string& named);

/// The servers. Probes and profiles have a thread of their own, so that they answer while the
/// controllers' loop is busy or stuck; metrics are answered on that loop.
class Endpoints {
public:
    /// Listens; what is not told yet counts as starting. Throws Error when an address cannot be
    /// had. Requires: `home` does not run yet, or this is its thread.
    Endpoints(const EndpointOptions& options, net::AsioLoop& home, kube::Transport& transport,
              std::shared_ptr<Metrics> metrics, std::function<Duration()> stopwatch);
    ~Endpoints();  // Stops serving. Requires: `home` does not run any more.

    /// How it stands from now on. On the home loop.
    void tell(Vitals vitals);

private:
    void answer_probe(const net::Request& request, net::Responder& responder) const;
    void answer_metrics(const net::Request& request,
                        const std::shared_ptr<net::Responder>& responder);

    ProbeNames names_;
    std::shared_ptr<Metrics> metrics_;
    std::function<Duration()> stopwatch_;
    ScrapeAccess access_;
    net::AsioLoop probes_;
    Vitals vitals_;  // Of the probes' thread.
    std::unique_ptr<net::Server> health_server_;
    std::unique_ptr<net::Server> profile_server_;
    std::unique_ptr<net::Server> metrics_server_;
};

}  // namespace muster::on_cluster
