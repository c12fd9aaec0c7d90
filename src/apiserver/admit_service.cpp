// apiserver/admit_service.cpp - addresses and node ports of services, and what nobody serves yet.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "api/builtin/validation.h"
#include "api/field_error.h"
#include "apiserver/admit.h"
#include "apiserver/status_error.h"
#include "base/ip_address.h"

namespace muster::apiserver {
namespace {

using api::Value;

bool is_name_only(const Value& spec) {
    return spec["type"].text_or("") == "ExternalName";
}

bool has_node_ports(const Value& spec) {
    const std::string_view type = spec["type"].text_or("");
    return type == "NodePort" ||
           (type == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"].boolean_or(true));
}

bool has_health_port(const Value& spec) {
    return spec["type"].text_or("") == "LoadBalancer" &&
           spec["externalTrafficPolicy"].text_or("") == "Local";
}

bool is_reached_from_outside(const Value& spec) {
    const std::string_view type = spec["type"].text_or("");
    return type == "NodePort" || type == "LoadBalancer" ||
           (type == "ClusterIP" && !spec["externalIPs"].empty());
}

bool is_same(const Value& spec, const Value& old, const char* field) {
    return spec[field] == old[field];
}

std::set<std::int64_t> node_ports_of(const Value& spec) {
    std::set<std::int64_t> ports;
    for (const Value& port : spec["ports"].items()) {
        if (const std::int64_t number = port["nodePort"].integer_or(0); number != 0)
            ports.insert(number);
    }
    if (const std::int64_t number = spec["healthCheckNodePort"].integer_or(0); number != 0)
        ports.insert(number);
    return ports;
}

/// What a service was given stays its own when a client that does not know of it writes it anew.
void keep_given_ports(Value& spec, const Value& old) {
    if (!has_node_ports(old) || !has_node_ports(spec) || !spec["ports"].is_array()) return;
    std::set<std::int64_t> kept = node_ports_of(spec);
    std::map<std::string, std::int64_t> by_name;
    for (const Value& port : old["ports"].items())
        by_name[port["name"].text()] = port["nodePort"].integer_or(0);
    for (Value& port : spec.at("ports").mutable_items()) {
        if (!port.is_object() || port["nodePort"].integer_or(0) != 0) continue;
        const auto before = by_name.find(port["name"].text());
        if (before == by_name.end() || before->second == 0 || kept.contains(before->second))
            continue;
        port.set("nodePort", before->second);
    }
}

void keep_given(Value& spec, const Value& old) {
    if (!is_name_only(old) && !is_name_only(spec)) {
        if (spec["clusterIP"].text_or("").empty() && !old["clusterIP"].is_null())
            spec.set("clusterIP", old["clusterIP"]);
        if (spec["clusterIPs"].empty() && !old["clusterIPs"].empty())
            spec.set("clusterIPs", old["clusterIPs"]);
    }
    keep_given_ports(spec, old);
    if (has_health_port(old) && has_health_port(spec) &&
        spec["healthCheckNodePort"].integer_or(0) == 0 && !old["healthCheckNodePort"].is_null()) {
        spec.set("healthCheckNodePort", old["healthCheckNodePort"]);
    }
}

/// `clusterIPs` follows a client that knows of `clusterIP` alone.
void join_addresses(Value& spec, const Value& old) {
    const Value& first = spec["clusterIP"];
    if (old.is_null()) {
        if (!first.text_or("").empty() && spec["clusterIPs"].empty())
            spec.set("clusterIPs", Value::array({first}));
        return;
    }
    if (is_same(spec, old, "clusterIP") || !is_same(spec, old, "clusterIPs")) return;
    if (first.text_or("").empty()) {
        spec.erase("clusterIPs");
    } else {
        spec.set("clusterIPs", Value::array({first}));
    }
}

/// What was given or made for a type that the service is of no more, unless its writer changed it
/// too.
void drop_what_the_type_has_not(Value& spec, const Value& old) {
    const auto drop = [&](const char* field, bool had, bool has) {
        if (had && !has && is_same(spec, old, field)) spec.erase(field);
    };
    const bool addressed = !is_name_only(spec);
    if (is_same(spec, old, "clusterIPs")) drop("clusterIP", !is_name_only(old), addressed);
    for (const char* field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"})
        drop(field, !is_name_only(old), addressed);
    if (has_node_ports(old) && !has_node_ports(spec) && spec["ports"].is_array() &&
        node_ports_of(spec) == node_ports_of(old)) {
        for (Value& port : spec.at("ports").mutable_items()) {
            if (port.is_object()) port.erase("nodePort");
        }
    }
    drop("healthCheckNodePort", has_health_port(old), has_health_port(spec));
    const bool was_balancer = old["type"].text_or("") == "LoadBalancer";
    const bool is_balancer = spec["type"].text_or("") == "LoadBalancer";
    for (const char* field : {"allocateLoadBalancerNodePorts", "loadBalancerClass"})
        drop(field, was_balancer, is_balancer);
    drop("externalTrafficPolicy", is_reached_from_outside(old), is_reached_from_outside(spec));
}

/// What is wrong with the families of addresses on a server that has IPv4 alone.
std::vector<api::FieldError> family_faults(const Value& spec) {
    std::vector<api::FieldError> errors;
    const api::Path root;
    const api::Path path = root.child("spec");
    const Value& policy = spec["ipFamilyPolicy"];
    const Value& addresses = spec["clusterIPs"];
    const Value& families = spec["ipFamilies"];
    const bool single = policy.text_or("SingleStack") == "SingleStack";
    for (const auto& [list, what] :
         {std::pair(&addresses, "cluster IPs are"), std::pair(&families, "IP families are")}) {
        if (!single || list->size() != 2) continue;
        errors.push_back(api::invalid(path.child("ipFamilyPolicy"), policy,
                                      "must be 'RequireDualStack' or 'PreferDualStack' when "
                                      "multiple " +
                                          std::string(what) + " specified"));
    }
    const api::Path list = path.child("clusterIPs");
    for (std::size_t i = families.size(); i < addresses.size(); ++i) {
        const auto address = parse_ip_sloppily(addresses[i].text_or(""));
        if (address && !address->is_v4())
            errors.push_back(
                api::invalid(list.item(i), addresses, "IPv6 is not configured on this cluster"));
    }
    const bool headless = spec["clusterIP"].text_or("") == "None";
    if (!errors.empty() || (headless && spec["selector"].empty())) return errors;
    if (policy.text_or("") == "RequireDualStack")
        errors.push_back(api::invalid(path.child("ipFamilyPolicy"), policy,
                                      "this cluster is not configured for dual-stack services"));
    const api::Path of = path.child("ipFamilies");
    for (std::size_t i = 0; i < families.size(); ++i) {
        if (families[i].text_or("") != "IPv4")
            errors.push_back(
                api::invalid(of.item(i), families[i], "not configured on this cluster"));
    }
    return errors;
}

/// The cluster's own address is its service's alone.
bool is_taken(const Context& context, const Value& service, const std::string& address) {
    const Value& metadata = service["metadata"];
    const bool own = metadata["namespace"].text_or("") == "default" &&
                     metadata["name"].text_or("") == "kubernetes" &&
                     address == context.addresses.first();
    return !own && context.addresses.is_taken(address);
}

/// The address that is asked for, which must be free and of the range.
void take_address(Context& context, const api::Kind& kind, const Value& service,
                  const std::string& wanted) {
    std::string problem;
    if (!context.addresses.contains(wanted)) {
        problem = "the provided IP (" + wanted +
                  ") is not in the valid range. The range of valid IPs is " +
                  context.options.service_cidr;
    } else if (is_taken(context, service, wanted)) {
        problem = "provided IP is already allocated";
    }
    if (problem.empty()) return;
    const api::Path root;
    const api::Path path = root.child("spec");
    throw invalid(kind, service["metadata"]["name"].text_or(""),
                  {api::invalid(path.child("clusterIPs"), Value::array({Value(wanted)}),
                                "failed to allocate IP " + wanted + ": " + problem)});
}

/// Takes the address that is asked for, keeps the one it has, or gives a free one.
void set_address(Context& context, const api::Kind& kind, Value& service, const Value& old) {
    Value& spec = service.at("spec");
    const std::string wanted = spec["clusterIP"].text();
    const std::string before = old["spec"]["clusterIP"].text();
    if (wanted.empty()) {
        const auto free = context.addresses.free_address();
        if (!free) {
            throw StatusError(Reason::internal_error,
                              "Internal error occurred: failed to allocate a serviceIP for "
                              "Service \"" +
                                  service["metadata"]["name"].text() + "\": range is full");
        }
        spec.set("clusterIP", *free);
        spec.set("clusterIPs", Value::array({Value(*free)}));
    } else if (wanted != "None" && wanted != before && (before.empty() || before == "None")) {
        take_address(context, kind, service, wanted);
    }
    // Like the address they are given, not wanted: they are nobody's fields.
    if (spec["ipFamilyPolicy"].text_or("").empty()) spec.set("ipFamilyPolicy", "SingleStack");
    if (spec["ipFamilies"].empty()) spec.set("ipFamilies", Value::array({"IPv4"}));
}

bool is_lost_port(const Context& context, std::int64_t port, const std::set<std::int64_t>& mine) {
    return port != 0 && context.addresses.is_port_taken(static_cast<int>(port)) &&
           !mine.contains(port);
}

std::string port_problem(const Context& context, std::int64_t wanted,
                         const std::set<std::int64_t>& mine) {
    if (mine.contains(wanted)) return "";
    if (!ServiceAddresses::is_node_port(wanted))
        return "provided port is not in the valid range. The range of valid ports is 30000-32767";
    return is_lost_port(context, wanted, mine) ? "provided port is already allocated" : "";
}

int free_port(const Context& context, std::set<int>& given, const char* what) {
    const auto free = context.addresses.free_port(given);
    if (!free) {
        throw StatusError(Reason::internal_error,
                          std::string("Internal error occurred: failed to allocate a ") + what +
                              ": range is full");
    }
    given.insert(*free);
    return *free;
}

void set_node_ports(Context& context, const api::Kind& kind, Value& service, const Value& old) {
    if (!service["spec"]["ports"].is_array()) return;
    const std::set<std::int64_t> mine = node_ports_of(old["spec"]);
    std::set<int> given;
    for (const std::int64_t port : node_ports_of(service["spec"]))
        given.insert(static_cast<int>(port));
    const bool gives = has_node_ports(service["spec"]);
    const std::string name = service["metadata"]["name"].text();
    const api::Path root;
    const api::Path path = root.child("spec");
    const api::Path list = path.child("ports");
    std::size_t index = 0;
    for (Value& port : service.at("spec").at("ports").mutable_items()) {
        const api::Path item = list.item(index++);
        if (!port.is_object()) continue;
        const Value& wanted = port["nodePort"];
        if (wanted.integer_or(0) == 0) {
            if (gives) port.set("nodePort", free_port(context, given, "nodePort"));
            continue;
        }
        const std::string problem = port_problem(context, wanted.as_integer(), mine);
        if (!problem.empty())
            throw invalid(kind, name, {api::invalid(item.child("nodePort"), wanted, problem)});
    }
}

void set_health_port(Context& context, Value& service, const Value& old) {
    Value& spec = service.at("spec");
    if (!has_health_port(spec)) return;
    std::set<int> given;
    for (const std::int64_t port : node_ports_of(spec))
        given.insert(static_cast<int>(port));
    const std::int64_t wanted = spec["healthCheckNodePort"].integer_or(0);
    if (wanted == 0) {
        spec.set("healthCheckNodePort", free_port(context, given, "HealthCheck NodePort"));
        return;
    }
    const std::string problem = port_problem(context, wanted, node_ports_of(old["spec"]));
    if (problem.empty()) return;
    throw StatusError(
        Reason::internal_error,
        "Internal error occurred: failed to allocate requested HealthCheck NodePort " +
            std::to_string(wanted) + ": " + problem);
}

}  // namespace

bool has_lost_addresses(const Context& context, const Value& service, const Value& old) {
    const std::string address = service["spec"]["clusterIP"].text();
    if (address != old["spec"]["clusterIP"].text_or("") && is_taken(context, service, address))
        return true;
    const std::set<std::int64_t> mine = node_ports_of(old["spec"]),
                                 wanted = node_ports_of(service["spec"]);
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](std::int64_t port) { return is_lost_port(context, port, mine); });
}

void warn_of_service(Exchange& exchange, const Value& service) {
    const Value& spec = service["spec"];
    const std::string type = spec["type"].text();
    const bool headless = type == "ClusterIP" && spec["clusterIP"].text_or("") == "None";
    const bool external = !spec["externalIPs"].empty();
    const auto warn = [&](const char* text) { exchange.warnings.emplace_back(text); };
    // What Kubernetes warns of.
    if (headless && !spec["loadBalancerIP"].text_or("").empty())
        warn("spec.loadBalancerIP is ignored for headless services");
    if (headless && external) warn("spec.externalIPs is ignored for headless services");
    if (headless && spec["sessionAffinity"].text_or("None") != "None")
        warn("spec.SessionAffinity is ignored for headless services");
    if (external && !headless && type != "ExternalName")
        warn("spec.externalIPs is deprecated and may no longer be implemented in some clusters");
    if (external && type == "ExternalName")
        warn("spec.externalIPs is ignored when spec.type is \"ExternalName\"");
    if (type != "ExternalName" && !spec["externalName"].text_or("").empty())
        warn("spec.externalName is ignored when spec.type is not \"ExternalName\"");
    if (spec["trafficDistribution"].text_or("") == "PreferClose")
        warn("spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
    // What nobody serves here yet.
    if (type == "NodePort")
        warn(
            "spec.type: this version of Muster does not serve node ports; the service is reached "
            "at its clusterIP, and by port-forward");
    if (type == "LoadBalancer")
        warn(
            "spec.type: this version of Muster has no load balancer; the service is reached at "
            "its clusterIP, and by port-forward");
    if (type == "ExternalName")
        warn("spec.type: this version of Muster does not answer names of ExternalName services");
    if (external && !headless)
        warn("spec.externalIPs: this version of Muster does not serve external addresses");
}

void admit_service(Context& context, const api::Kind& kind, Value& service, const Value& old) {
    // Without a spec it has what it was given, and lacks the rest: validation will say so.
    if (service["spec"].is_null() && !old.is_null()) service.set("spec", Value::object());
    if (!service["spec"].is_object()) return;
    Value& spec = service.at("spec");
    if (!old.is_null()) {
        keep_given(spec, old["spec"]);
        join_addresses(spec, old["spec"]);
        drop_what_the_type_has_not(spec, old["spec"]);
    } else {
        join_addresses(spec, Value());
    }
    if (!is_name_only(spec)) {
        auto faults = api::cluster_ip_faults(service, old.is_null() ? nullptr : &old);
        if (faults.empty()) faults = family_faults(spec);
        if (!faults.empty()) throw invalid(kind, service["metadata"]["name"].text_or(""), faults);
        set_address(context, kind, service, old);
    }
    const std::string_view type = spec["type"].text_or("");
    if (type != "NodePort" && type != "LoadBalancer") return;
    set_node_ports(context, kind, service, old);
    set_health_port(context, service, old);
}

}  // namespace muster::apiserver
