// api/builtin/service_validation.cpp - what Kubernetes refuses in services.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "api/builtin/address_validation.h"
#include "api/field_error.h"
#include "api/label_rules.h"
#include "base/dns_name.h"
#include "base/text.h"

namespace muster::api {
namespace {

constexpr std::size_t addresses_max = 2;  // One of each family.
constexpr const char* for_balancers = "may only be used when `type` is 'LoadBalancer'";
constexpr const char* not_for_names = "may not be set for ExternalName services";

const Value& nothing() {
    static const Value null;
    return null;
}

const Value& spec_of(const Value* service) {
    return service == nullptr ? nothing() : (*service)["spec"];
}

bool is_of_type(const Value& spec, std::string_view type) {
    return spec["type"].text_or("") == type;
}

bool is_headless(const Value& spec) {
    return spec["clusterIPs"][0].text_or(spec["clusterIP"].text_or("")) == "None";
}

/// Reached from outside, as its type or its external addresses say.
bool is_reached_from_outside(const Value& spec) {
    return is_of_type(spec, "LoadBalancer") || is_of_type(spec, "NodePort") ||
           (is_of_type(spec, "ClusterIP") && !spec["externalIPs"].empty());
}

void check_port(const Value& port, const Path& path, bool only, FieldErrors& errors) {
    const Value& name = port["name"];
    if (name.text_or("").empty()) {
        if (!only) errors.push_back(required(path.child("name")));
    } else {
        add_invalid(errors, path.child("name"), name, dns1123_label_faults(name.as_string()));
    }
    if (!is_port(port["port"]))
        errors.push_back(invalid(path.child("port"), port["port"], port_range_fault));
    const Value& target = port["targetPort"];
    if (target.is_string()) {
        add_invalid(errors, path.child("targetPort"), target, port_name_faults(target.as_string()));
    } else if (!target.is_null() && !is_port(target)) {
        errors.push_back(invalid(path.child("targetPort"), target, port_range_fault));
    }
    const Value& protocol = port["appProtocol"];
    if (protocol.is_string())
        add_invalid(errors, path.child("appProtocol"), protocol,
                    label_key_faults(protocol.as_string()));
}

void check_ports(const Value& spec, const Path& path, FieldErrors& errors) {
    const Value& ports = spec["ports"];
    const Path list = path.child("ports");
    if (ports.empty() && !is_headless(spec) && !is_of_type(spec, "ExternalName"))
        errors.push_back(required(list));
    std::set<std::string> names;
    std::set<std::string> numbers;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const Path item = list.item(i);
        check_port(ports[i], item, ports.size() == 1, errors);
        const std::string name = ports[i]["name"].text();
        if (!name.empty() && !names.insert(name).second)
            errors.push_back(duplicate(item.child("name"), ports[i]["name"]));
        const std::string number =
            std::to_string(ports[i]["port"].integer_or(0)) + "/" + ports[i]["protocol"].text();
        if (!numbers.insert(number).second) errors.push_back(duplicate(item, ports[i]));
    }
}

void check_node_ports(const Value& spec, const Path& path, FieldErrors& errors) {
    const Path list = path.child("ports");
    std::set<std::pair<std::string, std::int64_t>> seen;
    for (std::size_t i = 0; i < spec["ports"].size(); ++i) {
        const Value& port = spec["ports"][i];
        const Path item = list.item(i);
        const std::int64_t number = port["nodePort"].integer_or(0);
        if (number == 0) continue;
        if (is_of_type(spec, "ClusterIP"))
            errors.push_back(
                forbidden(item.child("nodePort"), "may not be used when `type` is 'ClusterIP'"));
        if (!seen.emplace(port["protocol"].text(), number).second)
            errors.push_back(duplicate(item.child("nodePort"), port["nodePort"]));
    }
}

/// A service that is a name has no addresses.
void check_external_name(const Value& spec, const Path& path, FieldErrors& errors) {
    for (const char* field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
        if (!spec[field].is_null() && !(spec[field].is_array() && spec[field].empty()))
            errors.push_back(forbidden(path.child(field), not_for_names));
    }
    const std::string_view given = spec["externalName"].text_or("");
    const std::string_view name = given.ends_with('.') ? given.substr(0, given.size() - 1) : given;
    if (name.empty()) {
        errors.push_back(required(path.child("externalName")));
    } else {
        add_invalid(errors, path.child("externalName"), Value(std::string(name)),
                    dns1123_subdomain_faults(name));
    }
}

void check_external_ips(const Value& spec, const Value& old, const Path& path,
                        FieldErrors& errors) {
    const Path list = path.child("externalIPs");
    for (std::size_t i = 0; i < spec["externalIPs"].size(); ++i) {
        const Value& address = spec["externalIPs"][i];
        const std::size_t before = errors.size();
        const Path item = list.item(i);
        check_ip(address, item, old["externalIPs"], errors);
        if (errors.size() == before) check_endpoint_ip(address, item, errors);
    }
}

void check_balancer(const Value& spec, const Value& old, const Path& path, FieldErrors& errors) {
    const bool balancer = is_of_type(spec, "LoadBalancer");
    // Named with a capital, as the reference does.
    const Path ranges = path.child("LoadBalancerSourceRanges");
    const Value& given = spec["loadBalancerSourceRanges"];
    if (!given.empty() && !balancer) errors.push_back(forbidden(ranges, for_balancers));
    for (std::size_t i = 0; i < given.size(); ++i)
        check_cidr(given[i], ranges.item(i), old["loadBalancerSourceRanges"], errors);
    const Value& of_class = spec["loadBalancerClass"];
    for (const char* field : {"allocateLoadBalancerNodePorts", "loadBalancerClass"}) {
        if (!spec[field].is_null() && !balancer)
            errors.push_back(forbidden(path.child(field), for_balancers));
    }
    if (balancer && of_class.is_string())
        add_invalid(errors, path.child("loadBalancerClass"), of_class,
                    label_key_faults(of_class.as_string()));
    if (balancer && is_of_type(old, "LoadBalancer") && !(old["loadBalancerClass"] == of_class))
        errors.push_back(
            invalid(path.child("loadBalancerClass"), of_class, "may not change once set"));
}

void check_traffic(const Value& spec, const Path& path, FieldErrors& errors) {
    const Value& policy = spec["externalTrafficPolicy"];
    if (!policy.text_or("").empty() && !is_reached_from_outside(spec))
        errors.push_back(invalid(path.child("externalTrafficPolicy"), policy,
                                 "may only be set for externally-accessible services"));
    const bool checks = is_of_type(spec, "LoadBalancer") && policy.text_or("") == "Local";
    if (spec["healthCheckNodePort"].integer_or(0) != 0 && !checks)
        errors.push_back(invalid(path.child("healthCheckNodePort"), spec["healthCheckNodePort"],
                                 "may only be set when `type` is 'LoadBalancer' and "
                                 "`externalTrafficPolicy` is 'Local'"));
}

bool is_of_family(const Value& address, std::string_view family) {
    const auto parsed = parse_ip_sloppily(address.text_or(""));
    return parsed && parsed->is_v4() == (family == "IPv4");
}

void check_families(const Value& spec, const Path& path, FieldErrors& errors) {
    static const std::vector<std::string> families = {"IPv4", "IPv6"};
    const Path list = path.child("ipFamilies");
    std::set<std::string> seen;
    for (std::size_t i = 0; i < spec["ipFamilies"].size(); ++i) {
        const Value& family = spec["ipFamilies"][i];
        if (std::find(families.begin(), families.end(), family.text_or("")) == families.end())
            errors.push_back(not_supported(list.item(i), family, families));
        if (!seen.insert(family.text()).second) errors.push_back(duplicate(list.item(i), family));
    }
}

/// The addresses go with the families that are named.
void check_family_of_each(const Value& spec, const Value& addresses, const Path& list,
                          FieldErrors& errors) {
    if (addresses.size() == addresses_max &&
        is_of_family(addresses[0], "IPv4") == is_of_family(addresses[1], "IPv4")) {
        errors.push_back(
            invalid(list, addresses, "may specify no more than one IP for each IP family"));
    }
    if (is_headless(spec)) return;
    for (std::size_t i = 0; i < addresses.size() && i < spec["ipFamilies"].size(); ++i) {
        const std::string family = spec["ipFamilies"][i].text();
        if ((family != "IPv4" && family != "IPv6") || is_of_family(addresses[i], family)) continue;
        errors.push_back(invalid(list.item(i), addresses[i],
                                 "expected an " + family + " value as indicated by `ipFamilies[" +
                                     std::to_string(i) + "]`"));
    }
}

/// Once given, an address is a service's for its life, unless it becomes or was a mere name.
void check_kept_addresses(const Value& spec, const Value& old, const Path& path,
                          FieldErrors& errors) {
    if (old.is_null() || is_of_type(spec, "ExternalName") || is_of_type(old, "ExternalName"))
        return;
    const Value& before = old["clusterIPs"];
    const Value& after = spec["clusterIPs"];
    const Path list = path.child("clusterIPs");
    if (!before.empty() && after.empty())
        errors.push_back(invalid(list.item(0), after, "primary clusterIP can not be unset"));
    for (std::size_t i = 0; i < before.size() && i < after.size(); ++i) {
        if (!(before[i] == after[i]))
            errors.push_back(invalid(list.item(i), after, "may not change once set"));
    }
}

}  // namespace

FieldErrors cluster_ip_faults(const Value& service, const Value* old) {
    FieldErrors errors;
    const Path root;
    const Path path = root.child("spec");
    const Path list = path.child("clusterIPs");
    const Value& spec = service["spec"];
    if (is_of_type(spec, "ExternalName")) return errors;
    const Value& first = spec["clusterIP"];
    // Who gives the one alone means both.
    const bool alone = spec["clusterIPs"].empty() && !first.text_or("").empty();
    const Value addresses = alone ? Value::array({first}) : spec["clusterIPs"];
    if (first.text_or("").empty() && !addresses.empty()) {
        errors.push_back(
            invalid(list, addresses, "must be empty when `clusterIP` is not specified"));
    } else if (!addresses.empty() && !(addresses[0] == first)) {
        errors.push_back(invalid(list, addresses, "first value must match `clusterIP`"));
    }
    check_families(spec, path, errors);
    const std::size_t before = errors.size();
    for (std::size_t i = 0; i < addresses.size(); ++i) {
        if (i == 0 && addresses[0].text_or("") == "None") {
            if (addresses.size() > 1)
                errors.push_back(
                    invalid(list, addresses, "'None' must be the first and only value"));
            continue;
        }
        check_ip(addresses[i], list.item(i), spec_of(old)["clusterIPs"], errors);
    }
    const bool any_bad = errors.size() > before;
    if (addresses.size() > addresses_max)
        errors.push_back(invalid(list, addresses, "may only hold up to 2 values"));
    if (!any_bad) check_family_of_each(spec, addresses, list, errors);
    return errors;
}

FieldErrors validate_service(const Value& service, const Value* old) {
    FieldErrors errors;
    const Path root;
    const Path path = root.child("spec");
    const Value& spec = service["spec"];
    const Value& before = spec_of(old);
    check_kept_addresses(spec, before, path, errors);
    for (const char* type : {"LoadBalancer", "NodePort"}) {
        if (!is_of_type(spec, type) || !is_headless(spec)) continue;
        const Path list = path.child("clusterIPs");
        errors.push_back(
            invalid(list.item(0), spec["clusterIPs"][0],
                    "may not be set to 'None' for " + std::string(type) + " services"));
    }
    if (is_of_type(spec, "ExternalName")) check_external_name(spec, path, errors);
    check_ports(spec, path, errors);
    check_labels(spec["selector"], path.child("selector"), errors);
    for (FieldError& error : cluster_ip_faults(service, old))
        errors.push_back(std::move(error));
    check_external_ips(spec, before, path, errors);
    check_node_ports(spec, path, errors);
    check_balancer(spec, before, path, errors);
    check_traffic(spec, path, errors);
    return errors;
}

}  // namespace muster::api
