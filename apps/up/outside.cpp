// apps/up/outside.cpp - finds the address behind a service name and calls it.
#include "apps/up/outside.h"

#include <utility>

#include "base/text.h"
#include "control/cluster/endpoint_slice.h"
#include "control/conditions.h"
#include "net/secret.h"

namespace muster::up {
namespace {

net::ClientOptions client_options(std::function<int(const std::string&, int)> dial) {
    net::ClientOptions options;
    options.dial = std::move(dial);
    options.connect_timeout = seconds(2);
    options.response_timeout = seconds(10);
    options.response_limit = 8 << 20;  // A dashboard's list of jobs; pods may say anything.
    return options;
}

/// The first ready address of a service's endpoint slices.
std::string endpoint_of(const kube::Cache& seen, std::string_view ns, std::string_view service) {
    for (const auto& slice : seen.list({"discovery.k8s.io", "endpointslices"}, ns)) {
        if (slice->label("kubernetes.io/service-name") != service) continue;
        for (const api::Value& endpoint : slice->value["endpoints"].items()) {
            if (!endpoint["conditions"]["ready"].boolean_or(true)) continue;
            if (const auto& addresses = endpoint["addresses"]; !addresses.empty())
                return addresses[0].text();
        }
    }
    return "";
}

/// The address of the first ready pod that a service selects, or of any when it publishes those
/// that are not: the operator on a cluster sees pods, not endpoint slices.
std::string pod_address_of(const kube::Cache& seen, const kube::Object& service) {
    const api::Value& spec = service.value["spec"];
    if (spec["selector"].empty()) return "";
    std::string unready;
    for (const auto& pod : seen.list({"", "pods"}, service.key.ns)) {
        const api::Value& status = pod->value["status"];
        if (pod->is_terminating() || !control::cluster::selects(service, *pod)) continue;
        if (control::condition_of(status, "Ready")["status"].text_or("") == "True")
            return status["podIP"].text();
        if (unready.empty()) unready = status["podIP"].text();
    }
    return spec["publishNotReadyAddresses"].boolean_or(false) ? unready : "";
}

}  // namespace

Outside::Outside(net::AsioLoop& loop, std::function<int(const std::string&, int)> dial, Seen seen)
    : seen_(std::move(seen)), client_(loop, loop, client_options(std::move(dial))) {}

void Outside::ask(const control::Call& call, std::function<void(int, std::string)> done) {
    if (call.url == "muster:random/32") return done(200, to_base64(net::secret_bytes(32)));
    const auto url = net::parse_url(call.url);
    if (!url) return done(0, "\"" + call.url + "\" is not a URL");
    net::Target target = url->target;
    target.host = service_address(seen_(), url->target.host);
    if (target.host.empty())
        return done(0, "the service " + url->target.host + " has no ready endpoint");
    net::Request request;
    request.method = call.method;
    request.path = url->path;
    request.query = net::parse_query(url->query);
    request.headers.set("Host", url->target.host + ":" + std::to_string(url->target.port));
    request.body = make_bytes(call.body);
    if (!call.body.empty()) request.headers.set("Content-Type", "application/json");
    for (const control::Header& header : call.headers)
        request.headers.set(header.name, header.value);
    client_.send(target, std::move(request),
                 [done = std::move(done)](const net::Response& response) {
                     done(response.status, *response.body);
                 });
}

std::string service_address(const kube::Cache& seen, const std::string& host) {
    const auto parts = split(host, '.');
    if (parts.size() < 3 || parts[2] != "svc") return host;
    const std::string name(parts[0]);
    const std::string ns(parts[1]);
    const auto service = seen.find({{"", "services"}, ns, name});
    if (!service) return "";
    const std::string address = service->value["spec"]["clusterIP"].text();
    if (!address.empty() && address != "None") return address;
    const std::string endpoint = endpoint_of(seen, ns, name);
    return endpoint.empty() ? pod_address_of(seen, *service) : endpoint;
}

}  // namespace muster::up
