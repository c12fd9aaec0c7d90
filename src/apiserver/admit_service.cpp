// apiserver/admit_service.cpp - addresses and node ports of services.
#include <string>
#include <utility>

#include "apiserver/admit.h"
#include "apiserver/status_error.h"

namespace muster::apiserver {
namespace {

using api::Value;

bool has_address(const std::string& type) {
    return type == "ClusterIP" || type == "NodePort" || type == "LoadBalancer" || type.empty();
}

/// Takes the address that is asked for, keeps the one it has, or gives a free one.
void set_address(Context& context, const api::Kind& kind, Value& service, const Value& old) {
    Value& spec = service.at("spec");
    const std::string name = service["metadata"]["name"].text();
    const std::string before = old["spec"]["clusterIP"].text();
    std::string wanted = spec["clusterIP"].text();
    if (wanted.empty()) wanted = spec["clusterIPs"][0].text();
    if (wanted.empty() && !before.empty()) wanted = before;
    if (wanted.empty()) {
        const auto free = context.addresses.free_address();
        if (!free) {
            throw StatusError(Reason::internal_error,
                              "Internal error occurred: failed to allocate a serviceIP: range is "
                              "full");
        }
        wanted = *free;
    } else if (wanted != "None" && wanted != before) {
        if (!before.empty() && before != "None") {
            throw invalid(kind, name,
                          {invalid_value("spec.clusterIPs[0]", wanted, "may not change once set")});
        }
        if (wanted.find_first_not_of("0123456789abcdef.:") != std::string::npos) {
            throw invalid(
                kind, name,
                {invalid_value("spec.clusterIPs[0]", wanted,
                               "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")});
        }
        const std::string shown = "[\"" + wanted + "\"]";
        if (!context.addresses.contains(wanted)) {
            throw invalid(kind, name,
                          {{"FieldValueInvalid", "spec.clusterIPs",
                            "Invalid value: " + shown + ": failed to allocate IP " + wanted +
                                ": the provided IP is not in the valid range. The range of valid "
                                "IPs is " +
                                context.options.service_cidr}});
        }
        if (context.addresses.is_taken(wanted)) {
            throw invalid(kind, name,
                          {{"FieldValueInvalid", "spec.clusterIPs",
                            "Invalid value: " + shown + ": failed to allocate IP " + wanted +
                                ": provided IP is already allocated"}});
        }
    }
    spec.set("clusterIP", wanted);
    spec.set("clusterIPs", Value::array({Value(wanted)}));
    // Like the address they are given, not wanted: they are nobody's fields.
    if (spec["ipFamilyPolicy"].text_or("").empty()) spec.set("ipFamilyPolicy", "SingleStack");
    if (spec["ipFamilies"].empty()) spec.set("ipFamilies", Value::array({"IPv4"}));
}

bool is_lost_port(const Context& context, std::int64_t port, const std::set<std::int64_t>& mine) {
    return port != 0 && context.addresses.is_port_taken(static_cast<int>(port)) &&
           !mine.contains(port);
}

std::set<std::int64_t> node_ports_of(const Value& service) {
    std::set<std::int64_t> ports;
    for (const Value& port : service["spec"]["ports"].items())
        ports.insert(port["nodePort"].integer_or(0));
    return ports;
}

void set_node_ports(Context& context, const api::Kind& kind, Value& service, const Value& old) {
    if (!service["spec"]["ports"].is_array()) return;
    const std::set<std::int64_t> mine = node_ports_of(old);
    std::set<int> given;
    for (Value& port : service.at("spec").at("ports").mutable_items()) {
        if (!port.is_object()) continue;
        const std::int64_t wanted = port["nodePort"].integer_or(0);
        if (wanted != 0) {
            if (is_lost_port(context, wanted, mine)) {
                throw invalid(kind, service["metadata"]["name"].text_or(""),
                              {{"FieldValueInvalid", "spec.ports[0].nodePort",
                                "Invalid value: " + std::to_string(wanted) +
                                    ": provided port is already allocated"}});
            }
            continue;
        }
        const auto free = context.addresses.free_port(given);
        if (!free) {
            throw StatusError(Reason::internal_error,
                              "Internal error occurred: failed to allocate a nodePort: range is "
                              "full");
        }
        given.insert(*free);
        port.set("nodePort", *free);
    }
}

}  // namespace

bool has_lost_addresses(const Context& context, const Value& service, const Value& old) {
    const std::string address = service["spec"]["clusterIP"].text();
    if (address != old["spec"]["clusterIP"].text_or("") && context.addresses.is_taken(address))
        return true;
    const std::set<std::int64_t> mine = node_ports_of(old), wanted = node_ports_of(service);
    return std::any_of(wanted.begin(), wanted.end(),
                       [&](std::int64_t port) { return is_lost_port(context, port, mine); });
}

void admit_service(Context& context, const api::Kind& kind, Value& service, const Value& old) {
    if (!service["spec"].is_object()) return;  // Validation will say so.
    const std::string type = service["spec"]["type"].text();
    if (!has_address(type)) {
        for (const char* field : {"clusterIP", "clusterIPs"})
            service.at("spec").erase(field);
        return;
    }
    set_address(context, kind, service, old);
    if (type == "NodePort" || type == "LoadBalancer") {
        set_node_ports(context, kind, service, old);
    }
}

}  // namespace muster::apiserver
