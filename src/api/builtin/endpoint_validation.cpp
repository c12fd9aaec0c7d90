// api/builtin/endpoint_validation.cpp - what Kubernetes refuses in Endpoints and EndpointSlices.
#include <set>
#include <string>

#include "api/builtin/address_validation.h"
#include "api/field_error.h"
#include "api/label_rules.h"
#include "base/dns_name.h"

namespace muster::api {
namespace {

constexpr std::int64_t slice_endpoints_max = 1000;
constexpr std::int64_t slice_addresses_max = 100;
constexpr std::int64_t slice_ports_max = 20'000;

void check_label(const Value& name, const Path& path, FieldErrors& errors) {
    if (name.is_string()) add_invalid(errors, path, name, dns1123_label_faults(name.as_string()));
}

void check_node_name(const Value& name, const Path& path, FieldErrors& errors) {
    if (name.is_string())
        add_invalid(errors, path, name, dns1123_subdomain_faults(name.as_string()));
}

void check_protocol(const Value& port, const Path& path, FieldErrors& errors) {
    if (port["protocol"].text_or("").empty()) errors.push_back(required(path.child("protocol")));
    const Value& application = port["appProtocol"];
    if (application.is_string())
        add_invalid(errors, path.child("appProtocol"), application,
                    label_key_faults(application.as_string()));
}

void check_address(const Value& address, const Path& path, FieldErrors& errors) {
    check_ip(address["ip"], path.child("ip"), Value(), errors);
    if (!address["hostname"].text_or("").empty())
        check_label(address["hostname"], path.child("hostname"), errors);
    check_node_name(address["nodeName"], path.child("nodeName"), errors);
    check_endpoint_ip(address["ip"], path.child("ip"), errors);
}

void check_subset(const Value& subset, const Path& path, FieldErrors& errors) {
    if (subset["addresses"].empty() && subset["notReadyAddresses"].empty())
        errors.push_back(required(path, "must specify `addresses` or `notReadyAddresses`"));
    for (const char* list : {"addresses", "notReadyAddresses"}) {
        const Path here = path.child(list);
        for (std::size_t i = 0; i < subset[list].size(); ++i)
            check_address(subset[list][i], here.item(i), errors);
    }
    const Path ports = path.child("ports");
    for (std::size_t i = 0; i < subset["ports"].size(); ++i) {
        const Value& port = subset["ports"][i];
        const Path item = ports.item(i);
        if (!port["name"].text_or("").empty()) {
            check_label(port["name"], item.child("name"), errors);
        } else if (subset["ports"].size() > 1) {
            errors.push_back(required(item.child("name")));
        }
        if (!is_port(port["port"]))
            errors.push_back(invalid(item.child("port"), port["port"], port_range_fault));
        check_protocol(port, item, errors);
    }
}

FieldErrors subset_faults(const Value& endpoints) {
    FieldErrors errors;
    const Path root;
    const Path list = root.child("subsets");
    for (std::size_t i = 0; i < endpoints["subsets"].size(); ++i)
        check_subset(endpoints["subsets"][i], list.item(i), errors);
    return errors;
}

/// An address of a slice is of the type that the slice says, and none that is special.
void check_slice_address(const Value& address, std::string_view type, const Path& list,
                         std::size_t index, FieldErrors& errors) {
    const Path item = list.item(index);
    if (type == "FQDN") {
        if (address.text_or("").find('.') == std::string_view::npos)
            errors.push_back(invalid(item, address,
                                     "should be a domain with at least two segments separated by "
                                     "dots"));
        add_invalid(errors, item, address, dns1123_subdomain_faults(address.text_or("")));
        return;
    }
    if (type != "IPv4" && type != "IPv6") return;
    const std::size_t before = errors.size();
    check_ip(address, item, Value(), errors);
    const auto parsed = parse_ip(address.text_or(""));
    if (errors.size() == before && type == "IPv6" && parsed->text() != address.text_or(""))
        errors.push_back(
            invalid(item, address, "must be in canonical form (\"" + parsed->text() + "\")"));
    if (errors.size() > before) return;
    if (parsed->is_v4() != (type == "IPv4"))
        errors.push_back(invalid(list, address, "must be an " + std::string(type) + " address"));
    check_endpoint_ip(address, item, errors);
}

void check_endpoint(const Value& endpoint, std::string_view type, const Path& path,
                    FieldErrors& errors) {
    const Path list = path.child("addresses");
    const Value& addresses = endpoint["addresses"];
    if (addresses.empty()) {
        errors.push_back(required(list, "must contain at least 1 address"));
    } else if (addresses.size() > slice_addresses_max) {
        errors.push_back(too_many(list, addresses.size(), slice_addresses_max));
    }
    for (std::size_t i = 0; i < addresses.size(); ++i)
        check_slice_address(addresses[i], type, list, i, errors);
    check_node_name(endpoint["nodeName"], path.child("nodeName"), errors);
    check_labels(endpoint["deprecatedTopology"], path.child("deprecatedTopology"), errors);
    check_label(endpoint["hostname"], path.child("hostname"), errors);
}

void check_slice_ports(const Value& ports, const Path& list, FieldErrors& errors) {
    if (ports.size() > slice_ports_max) {
        errors.push_back(too_many(list, ports.size(), slice_ports_max));
        return;
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < ports.size(); ++i) {
        const Path item = list.item(i);
        const Value& name = ports[i]["name"];
        if (!name.text_or("").empty()) check_label(name, item.child("name"), errors);
        if (!names.insert(name.text()).second)
            errors.push_back(duplicate(item.child("name"), Value(name.text())));
        check_protocol(ports[i], item, errors);
    }
}

FieldErrors endpoint_faults(const Value& slice) {
    FieldErrors errors;
    const Path root;
    const Path list = root.child("endpoints");
    const Value& endpoints = slice["endpoints"];
    if (endpoints.size() > slice_endpoints_max) {
        errors.push_back(too_many(list, endpoints.size(), slice_endpoints_max));
        return errors;
    }
    for (std::size_t i = 0; i < endpoints.size(); ++i)
        check_endpoint(endpoints[i], slice["addressType"].text_or(""), list.item(i), errors);
    return errors;
}

}  // namespace

FieldErrors validate_endpoints(const Value& endpoints, const Value* old) {
    FieldErrors errors = subset_faults(endpoints);
    const bool same = old != nullptr && (*old)["subsets"] == endpoints["subsets"];
    return same ? FieldErrors() : errors;
}

FieldErrors validate_endpoint_slice(const Value& slice, const Value* old) {
    static const std::vector<std::string> types = {"FQDN", "IPv4", "IPv6"};
    FieldErrors errors;
    const Path root;
    const Value& type = slice["addressType"];
    if (type.text_or("").empty()) {
        errors.push_back(required(root.child("addressType")));
    } else if (type.text_or("") != "IPv4" && type.text_or("") != "IPv6" &&
               type.text_or("") != "FQDN") {
        errors.push_back(not_supported(root.child("addressType"), type, types));
    }
    check_slice_ports(slice["ports"], root.child("ports"), errors);
    if (old == nullptr || !((*old)["endpoints"] == slice["endpoints"])) {
        for (FieldError& error : endpoint_faults(slice))
            errors.push_back(std::move(error));
    }
    if (old != nullptr && !((*old)["addressType"] == type))
        errors.push_back(invalid(root.child("addressType"), type, "field is immutable"));
    return errors;
}

}  // namespace muster::api
