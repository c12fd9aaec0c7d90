// apps/operator/process_options.cpp - command line before file before habit.
#include "apps/operator/process_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"

namespace muster::on_cluster {
namespace {

constexpr std::array<std::string_view, 5> obeyed{"leaderElection", "health", "pprofBindAddress",
                                                 "metrics.bindAddress", "tls"};

/// The first that says something.
std::string first_of(const std::string& one, const std::string& other,
                     const std::string& usual = {}) {
    return !one.empty() ? one : !other.empty() ? other : usual;
}

/// Else two would lead at once, or the one would lose the Lease before it asks for it again.
void check_times(const kube::LeaseOptions& lease) {
    const bool in_order = lease.lease >= seconds(1) && lease.lease > lease.renew_within &&
                          lease.renew_within.nanoseconds > lease.retry.nanoseconds / 5 * 6;
    if (in_order) return;
    throw Error(Reason::bad_request,
                "error: leaderElection in the file of --config: leaseDuration (at least a second, "
                "15s where nothing is said) must be longer than renewDeadline (10s), and that than "
                "1.2 times retryPeriod (2s)");
}

}  // namespace

EndpointOptions endpoints_of(const OperatorOptions& options, const ProcessSettings& process) {
    EndpointOptions made;
    made.health = address_of(first_of(options.health_address, process.health_address),
                             "--health-probe-bind-address");
    made.metrics = address_of(first_of(options.metrics_address, process.metrics_address),
                              "--metrics-bind-address");
    made.profile = address_of(first_of(options.profile_address, process.profile_address),
                              "--pprof-bind-address");
    made.names.liveness = first_of(process.liveness_name, made.names.liveness);
    made.names.readiness = first_of(process.readiness_name, made.names.readiness);
    made.tls = tls_of(process);
    return made;
}

net::TlsLimits tls_of(const ProcessSettings& process) {
    const ProcessSettings::Tls& file = process.tls;
    net::TlsLimits limits{file.only_1_3, file.cipher_suites, file.curves};
    try {
        net::check_limits(limits);
    } catch (const Error& error) {
        throw Error(Reason::bad_request,
                    std::string("error: tls in the file of --config: ") + error.what());
    }
    return limits;
}

std::optional<kube::LeaseOptions> election_of(const OperatorOptions& options,
                                              const ProcessSettings& process) {
    using Wanted = ProcessSettings::Election::Wanted;
    const bool by_file = process.election && process.election->wanted == Wanted::yes;
    if (!options.leader_elect && !by_file) return std::nullopt;
    const auto file = process.election.value_or(ProcessSettings::Election{});
    kube::LeaseOptions lease;
    lease.ns = first_of(options.lease_ns, file.ns, "muster-system");
    lease.name = first_of(options.lease_name, file.name, "muster-operator");
    lease.lease = file.lease.value_or(lease.lease);
    lease.renew_within = file.renew_within.value_or(lease.renew_within);
    lease.retry = file.retry.value_or(lease.retry);
    check_times(lease);
    return lease;
}

std::vector<std::string> without_effect(const ProcessSettings& process) {
    std::vector<std::string> sections;
    for (const std::string& section : process.given) {
        if (std::find(obeyed.begin(), obeyed.end(), section) == obeyed.end())
            sections.push_back(section);
    }
    return sections;
}

}  // namespace muster::on_cluster
