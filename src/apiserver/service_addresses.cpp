// apiserver/service_addresses.cpp - the allocator behind Service.spec.clusterIP.
#include "apiserver/service_addresses.h"

#include <charconv>
#include <cstddef>

#include "base/error.h"

namespace muster::apiserver {
namespace {

constexpr std::uint32_t first_dynamic = 16;  // Lower ones are left for those asked for by hand.
constexpr int first_node_port = 30'000;
constexpr int last_node_port = 32'767;

std::optional<std::uint32_t> parse_address(std::string_view text) {
    std::uint32_t address = 0;
    for (int part = 0; part < 4; ++part) {
        std::uint32_t number = 0;
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (problem != std::errc() || number > 255) return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        if (part < 3) {
            if (text.empty() || text.front() != '.') return std::nullopt;
            text.remove_prefix(1);
        }
        address = address << 8 | number;
    }
    if (!text.empty()) return std::nullopt;
    return address;
}

std::string to_text(std::uint32_t address) {
    return std::to_string(address >> 24) + "." + std::to_string(address >> 16 & 255) + "." +
           std::to_string(address >> 8 & 255) + "." + std::to_string(address & 255);
}

}  // namespace

ServiceAddresses::ServiceAddresses(std::string_view cidr) {
    const std::size_t slash = cidr.find('/');
    const auto base = parse_address(cidr.substr(0, slash));
    int bits = -1;
    if (slash != std::string_view::npos) {
        std::from_chars(cidr.data() + slash + 1, cidr.data() + cidr.size(), bits);
    }
    if (!base || bits < 8 || bits > 28) {
        throw Error(Reason::invalid,
                    "the service range must be an IPv4 range like 10.96.0.0/12, "
                    "with 8 to 28 bits, not " +
                        std::string(cidr));
    }
    size_ = std::uint32_t{1} << (32 - bits);
    base_ = *base & ~(size_ - 1);
    cursor_ = size_ > 2 * first_dynamic ? first_dynamic : 2;
}

std::string ServiceAddresses::first() const {
    return to_text(base_ + 1);
}

bool ServiceAddresses::contains(std::string_view address) const {
    const auto parsed = parse_address(address);
    return parsed && *parsed > base_ && *parsed - base_ < size_ - 1;
}

std::optional<std::string> ServiceAddresses::free_address() {
    for (std::uint32_t tried = 0; tried < size_; ++tried) {
        const std::uint32_t offset = cursor_;
        cursor_ = cursor_ + 2 < size_ ? cursor_ + 1 : 2;
        std::string address = to_text(base_ + offset);
        if (!taken_.contains(address)) return address;
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
        taken_.erase(held->second.address);
        for (const int port : held->second.ports)
            ports_.erase(port);
        held_.erase(held);
    }
    if (service.is_null()) return;
    Held held;
    const std::string address = service["spec"]["clusterIP"].text();
    if (!address.empty() && address != "None") held.address = address;
    for (const api::Value& port : service["spec"]["ports"].items()) {
        const std::int64_t number = port["nodePort"].integer_or(0);
        if (number > 0) held.ports.insert(static_cast<int>(number));
    }
    if (!held.address.empty()) taken_.insert(held.address);
    ports_.insert(held.ports.begin(), held.ports.end());
    held_[key] = std::move(held);
}

}  // namespace muster::apiserver
