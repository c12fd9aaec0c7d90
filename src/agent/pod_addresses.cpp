// agent/pod_addresses.cpp - see pod_addresses.h.
#include "agent/pod_addresses.h"

#include <arpa/inet.h>

namespace muster::agent {

namespace {

constexpr std::uint32_t kFirst = (10U << 24) | (244U << 16) | (1U << 8) | 1U;     // 10.244.1.1
constexpr std::uint32_t kLast = (10U << 24) | (244U << 16) | (254U << 8) | 254U;  // 10.244.254.254

std::uint32_t number_of(const std::string& ip) {
    in_addr address{};
    return ::inet_pton(AF_INET, ip.c_str(), &address) == 1 ? ntohl(address.s_addr) : 0;
}

std::string text_of(std::uint32_t number) {
    const in_addr address{htonl(number)};
    char text[INET_ADDRSTRLEN];
    return ::inet_ntop(AF_INET, &address, text, sizeof(text));
}

}  // namespace

std::string PodAddresses::take(const std::string& ns) {
    const std::lock_guard lock(mutex_);
    for (std::uint32_t tries = 0; tries <= kLast - kFirst; ++tries) {
        last_ = last_ < kFirst || last_ >= kLast ? kFirst : last_ + 1;
        const std::uint32_t last_part = last_ & 0xff;
        if (last_part == 0 || last_part == 255) continue;
        if (used_.emplace(last_, ns).second) return text_of(last_);
    }
    return "";
}

void PodAddresses::note(const std::string& ip, const std::string& ns) {
    const std::lock_guard lock(mutex_);
    used_.emplace(number_of(ip), ns);
}

void PodAddresses::free(const std::string& ip) {
    const std::lock_guard lock(mutex_);
    used_.erase(number_of(ip));
}

std::string PodAddresses::namespace_of(const std::string& ip) const {
    const std::lock_guard lock(mutex_);
    const auto found = used_.find(number_of(ip));
    return found == used_.end() ? "" : found->second;
}

}  // namespace muster::agent
