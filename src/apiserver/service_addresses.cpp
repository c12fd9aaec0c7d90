// apiserver/service_addresses.cpp - the allocator behind Service.spec.clusterIP.
#include "apiserver/service_addresses.h"

#include <cstddef>

#include "base/error.h"
#include "base/ip_address.h"
#include "base/text.h"

namespace muster::apiserver {
namespace {

constexpr std::uint32_t first_dynamic = 16;  // Lower ones are left for those asked for by hand.
constexpr std::uint32_t dns_offset = 10;     // Every pod asks there for names.
constexpr int first_node_port = 30'000;
constexpr int last_node_port = 32'767;

/// Written in whichever way: an object of an older data folder may have leading zeros.
std::optional<std::uint32_t> number_of(std::string_view text) {
    const auto address = parse_ip_sloppily(text);
    if (!address || !address->is_v4()) return std::nullopt;
    return address->to_number();
}

}  // namespace

ServiceAddresses::ServiceAddresses(std::string_view cidr) {
    const auto halves = split_first(cidr, '/');
    const auto base = halves ? parse_ip(halves->before) : std::nullopt;
    const auto bits = halves ? parse_integer(halves->after) : std::nullopt;
    if (!base || !base->is_v4() || !bits || *bits < 8 || *bits > 27) {
        throw Error(Reason::invalid,
                    "the service range must be an IPv4 range like 10.96.0.0/12, "
                    "with 8 to 27 bits, not " +
                        std::string(cidr));
    }
    size_ = std::uint32_t{1} << (32 - *bits);
    base_ = base->to_number() & ~(size_ - 1);
    cursor_ = first_dynamic;
}

std::string ServiceAddresses::first() const {
    return ip_of_number(base_ + 1).text();
}

bool ServiceAddresses::contains(std::string_view address) const {
    const auto number = number_of(address);
    return number && *number > base_ && *number - base_ < size_ - 1;
}

bool ServiceAddresses::is_taken(std::string_view address) const {
    const auto number = number_of(address);
    return number &&
           (taken_.contains(*number) || *number == base_ + 1 || *number == base_ + dns_offset);
}

bool ServiceAddresses::is_node_port(std::int64_t port) {
    return port >= first_node_port && port <= last_node_port;
}

std::optional<std::string> ServiceAddresses::free_address() {
    for (std::uint32_t tried = 0; tried < size_; ++tried) {
        const std::uint32_t number = base_ + cursor_;
        cursor_ = cursor_ + 2 < size_ ? cursor_ + 1 : 2;
        std::string address = ip_of_number(number).text();
        if (!is_taken(address)) return address;
    }
    return std::nullopt;
}

std::optional<int> ServiceAddresses::free_port(const std::set<int>& besides) const {
    for (int port = first_node_port; port <= last_node_port; ++port) {
        if (!ports_.contains(port) && !besides.contains(port)) return port;
    }
    return std::nullopt;
}

void ServiceAddresses::put(const std::string& key, const api::Value& service) {
    if (const auto held = held_.find(key); held != held_.end()) {
        if (held->second.address) taken_.erase(taken_.find(*held->second.address));
        for (const int port : held->second.ports)
            ports_.erase(port);
        held_.erase(held);
    }
    if (service.is_null()) return;
    Held held;
    held.address = number_of(service["spec"]["clusterIP"].text_or(""));
    for (const api::Value& port : service["spec"]["ports"].items()) {
        const std::int64_t number = port["nodePort"].integer_or(0);
        if (number > 0) held.ports.insert(static_cast<int>(number));
    }
    if (const auto number = service["spec"]["healthCheckNodePort"].integer_or(0); number > 0)
        held.ports.insert(static_cast<int>(number));
    if (held.address) taken_.insert(*held.address);
    ports_.insert(held.ports.begin(), held.ports.end());
    held_[key] = std::move(held);
}

}  // namespace muster::apiserver
