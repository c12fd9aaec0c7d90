// control/cluster/endpoint_slice.cpp - a service, its pods and their ports become slices.
#include "control/cluster/endpoint_slice.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/cluster/resources.h"
#include "control/conditions.h"
#include "control/fold_pod.h"
#include "control/owner.h"

namespace muster::control::cluster {
namespace {

constexpr std::size_t endpoints_max = 100;
constexpr std::string_view manager = "endpointslice-controller.k8s.io";
constexpr std::string_view manager_label = "endpointslice.kubernetes.io/managed-by";
constexpr std::string_view service_label = "kubernetes.io/service-name";

bool has_endpoints(const kube::Object& service) {
    const api::Value& spec = service.value["spec"];
    return !spec["selector"].empty() && spec["type"].text_or("") != "ExternalName";
}

/// The number of a port that may be a name; 0 when the pod has no such port.
std::int64_t resolve_port(const api::Value& port, const kube::Object& pod) {
    const api::Value& target = port["targetPort"];
    if (target.is_null()) return port["port"].integer_or(0);
    if (target.is_integer())
        return target.as_integer() != 0 ? target.as_integer() : port["port"].integer_or(0);
    const std::string_view protocol = port["protocol"].text_or("TCP");
    for (const char* list : {"containers", "initContainers"}) {
        for (const api::Value& container : pod.value["spec"][list].items()) {
            for (const api::Value& own : container["ports"].items()) {
                if (own["name"] == target && own["protocol"].text_or("TCP") == protocol)
                    return own["containerPort"].integer_or(0);
            }
        }
    }
    return 0;
}

api::Value ports_of(const kube::Object& service, const kube::Object& pod) {
    api::Value ports = api::Value::array();
    for (const api::Value& port : service.value["spec"]["ports"].items()) {
        const std::int64_t number = resolve_port(port, pod);
        if (number == 0) continue;
        api::Value resolved = api::Value::object({{"name", port["name"].text()},
                                                  {"protocol", port["protocol"].text_or("TCP")},
                                                  {"port", number}});
        if (port.has("appProtocol")) resolved.set("appProtocol", port["appProtocol"]);
        ports.push(std::move(resolved));
    }
    return ports;
}

std::string sort_text(const api::Value& ports) {
    std::string text;
    for (const api::Value& port : ports.items()) {
        text += port["name"].text() + "/" + port["protocol"].text() + "/" +
                std::to_string(port["port"].integer_or(0)) + ",";
    }
    return text;
}

api::Value endpoint_of(const kube::Object& service, const kube::Object& pod,
                       const std::string& address) {
    const bool serving = is_ready_pod(pod);
    const bool terminating = pod.is_terminating();
    const bool not_ready_too = service.value["spec"]["publishNotReadyAddresses"].boolean_or(false);
    api::Value endpoint = api::Value::object(
        {{"addresses", api::Value::array({address})},
         {"conditions", api::Value::object({{"ready", not_ready_too || (serving && !terminating)},
                                            {"serving", serving},
                                            {"terminating", terminating}})},
         {"targetRef", api::Value::object({{"kind", "Pod"},
                                           {"namespace", pod.key.ns},
                                           {"name", pod.key.name},
                                           {"uid", pod.uid}})}});
    const api::Value& spec = pod.value["spec"];
    if (!spec["nodeName"].text_or("").empty()) endpoint.set("nodeName", spec["nodeName"]);
    const bool named = spec["subdomain"].text_or("") == service.key.name;
    if (named && !spec["hostname"].text_or("").empty()) endpoint.set("hostname", spec["hostname"]);
    return endpoint;
}

bool is_ipv6(std::string_view address) {
    return address.find(':') != std::string_view::npos;
}

/// Endpoints that share address family and ports.
struct Group {
    bool ipv6 = false;
    api::Value ports;
    std::vector<api::Value> endpoints;
};

std::map<std::string, Group> group_endpoints(const kube::Cache& seen, const kube::Object& service) {
    std::map<std::string, Group> groups;
    for (const kube::ObjectPtr& pod : seen.list(pods, service.key.ns)) {
        const std::string address = pod->value["status"]["podIP"].text();
        if (address.empty() || is_finished_pod(*pod) || !selects(service, *pod)) continue;
        api::Value ports = ports_of(service, *pod);
        const std::string family = is_ipv6(address) ? "6 " : "4 ";
        Group& group = groups[family + sort_text(ports)];
        group.ipv6 = is_ipv6(address);
        group.ports = std::move(ports);
        group.endpoints.push_back(endpoint_of(service, *pod, address));
    }
    if (groups.empty()) {
        // As Kubernetes: one slice without endpoints says that the service is known.
        groups["4 "] = Group{false, api::Value::array(), {}};
    }
    return groups;
}

api::Value slice_of(const kube::Object& service, const std::string& name, const Group& group,
                    std::size_t first) {
    api::Value labels = service.value["metadata"]["labels"];
    labels.set(manager_label, manager);
    labels.set(service_label, service.key.name);
    if (service.value["spec"]["clusterIP"].text_or("") == "None")
        labels.set("service.kubernetes.io/headless", "");
    api::Value owner = owner_reference(service);
    owner.set("apiVersion", "v1");
    owner.set("kind", "Service");
    api::Value endpoints = api::Value::array();
    const std::size_t end = std::min(first + endpoints_max, group.endpoints.size());
    for (std::size_t i = first; i < end; ++i)
        endpoints.push(group.endpoints[i]);
    return api::Value::object(
        {{"apiVersion", "discovery.k8s.io/v1"},
         {"kind", "EndpointSlice"},
         {"metadata", api::Value::object({{"name", name},
                                          {"namespace", service.key.ns},
                                          {"labels", std::move(labels)},
                                          {"ownerReferences", api::Value::array({owner})}})},
         {"addressType", group.ipv6 ? "IPv6" : "IPv4"},
         {"endpoints", std::move(endpoints)},
         {"ports", group.ports}});
}

bool is_as_wanted(const kube::Object& held, const api::Value& wanted) {
    return held.value["endpoints"] == wanted["endpoints"] &&
           held.value["ports"] == wanted["ports"] &&
           held.value["metadata"]["labels"] == wanted["metadata"]["labels"];
}

void want_slice(const kube::Cache& seen, api::Value wanted, Reconciled& result) {
    const api::Key key{endpoint_slices, wanted["metadata"]["namespace"].text(),
                       wanted["metadata"]["name"].text()};
    const kube::ObjectPtr held = seen.find(key);
    if (held != nullptr && is_as_wanted(*held, wanted)) return;
    Write write;
    write.verb = held == nullptr ? Write::Verb::create : Write::Verb::merge_patch;
    write.key = key;
    write.api_version = "discovery.k8s.io/v1";
    if (held != nullptr) {
        wanted.erase("addressType");  // Never changes.
        wanted.at("metadata").erase("ownerReferences");
        write.version = held->version;
    }
    write.body = std::move(wanted);
    result.writes.push_back(std::move(write));
}

Reconciled reconcile(const kube::Cache& seen, const api::Key& key, Time) {
    const kube::ObjectPtr service = seen.find(key);
    if (!seen.synced() || service == nullptr || service->is_terminating()) return {};
    const kube::ObjectPtr ns = seen.find({namespaces, "", key.ns});
    if (ns != nullptr && ns->is_terminating()) return {};
    Reconciled result;
    std::vector<std::string> names;
    if (has_endpoints(*service)) {
        for (const auto& [family_and_ports, group] : group_endpoints(seen, *service)) {
            std::size_t first = 0;
            do {
                const std::string what = family_and_ports + " " + std::to_string(first);
                std::string name = service->key.name + "-" + derived_suffix(service->uid, what);
                want_slice(seen, slice_of(*service, name, group, first), result);
                names.push_back(std::move(name));
                first += endpoints_max;
            } while (first < group.endpoints.size());
        }
    }
    for (const kube::ObjectPtr& held : seen.owned_by(endpoint_slices, service->uid)) {
        if (held->label(manager_label) != manager || held->is_terminating()) continue;
        if (std::find(names.begin(), names.end(), held->key.name) != names.end()) continue;
        Write write;
        write.verb = Write::Verb::remove;
        write.key = held->key;
        write.api_version = "discovery.k8s.io/v1";
        write.uid = held->uid;
        result.writes.push_back(std::move(write));
    }
    return result;
}

/// Nothing of the pod that a slice shows has changed.
bool is_same_to_us(const kube::Object& before, const kube::Object& after) {
    return before.uid == after.uid && before.is_terminating() == after.is_terminating() &&
           is_finished_pod(before) == is_finished_pod(after) &&
           is_ready_pod(before) == is_ready_pod(after) &&
           before.value["status"]["podIP"] == after.value["status"]["podIP"] &&
           before.value["metadata"]["labels"] == after.value["metadata"]["labels"];
}

std::vector<api::Key> services_of(const kube::Cache& seen, const kube::Object* before,
                                  const kube::Object* after) {
    std::vector<api::Key> keys;
    if (before != nullptr && after != nullptr && is_same_to_us(*before, *after)) return keys;
    for (const kube::ObjectPtr& service :
         seen.list(services, (after != nullptr ? after : before)->key.ns)) {
        if (!has_endpoints(*service)) continue;
        const bool concerns = (before != nullptr && selects(*service, *before)) ||
                              (after != nullptr && selects(*service, *after));
        if (concerns) keys.push_back(service->key);
    }
    return keys;
}

}  // namespace

bool selects(const kube::Object& service, const kube::Object& pod) {
    const api::Value& labels = pod.value["metadata"]["labels"];
    const api::Value::Object& selector = service.value["spec"]["selector"].members();
    return std::all_of(selector.begin(), selector.end(), [&](const api::Value::Member& wanted) {
        const api::Value* label = labels.find(wanted.key);
        return label != nullptr && *label == wanted.value;
    });
}

Controller endpoint_slice_controller() {
    Controller controller;
    controller.name = "endpointslice-controller";
    // Namespaces only to be seen: in one that ends nothing new can be made.
    const auto nobody = [](const kube::Cache&, const kube::Object*, const kube::Object*) {
        return std::vector<api::Key>{};
    };
    controller.watches = {watch_self(services, "v1"), Watch{pods, "v1", services_of},
                          watch_owned(endpoint_slices, "v1", services),
                          Watch{namespaces, "v1", nobody}};
    controller.reconcile = reconcile;
    return controller;
}

}  // namespace muster::control::cluster
