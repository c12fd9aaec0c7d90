// apps/up/machine.cpp - asks the operating system about this machine.
#include "apps/up/machine.h"

#include <algorithm>
#include <climits>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/text.h"

namespace muster::up {

std::string machine_name() {
    char name[HOST_NAME_MAX + 1] = "";
    gethostname(name, HOST_NAME_MAX);
    std::string text = to_lower(name);
    for (char& c : text) {
        const bool fit = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
        if (!fit) c = '-';
    }
    const std::size_t first = text.find_first_not_of("-.");
    const std::size_t last = text.find_last_not_of("-.");
    return first == std::string::npos ? "localhost" : text.substr(first, last - first + 1);
}

std::vector<std::string> machine_addresses() {
    std::vector<std::string> addresses;
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) return addresses;
    for (const ifaddrs* one = list; one; one = one->ifa_next) {
        if (!one->ifa_addr) continue;
        char text[INET6_ADDRSTRLEN] = "";
        const void* bytes = nullptr;
        if (one->ifa_addr->sa_family == AF_INET)
            bytes = &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr;
        if (one->ifa_addr->sa_family == AF_INET6)
            bytes = &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
        if (bytes && inet_ntop(one->ifa_addr->sa_family, bytes, text, sizeof text))
            addresses.emplace_back(text);
    }
    freeifaddrs(list);
    return addresses;
}

namespace {

/// ",nvidia.com/gpu=2" on a machine with two: /dev/nvidia0 and /dev/nvidia1.
std::string gpus_text() {
    int count = 0;
    while (access(("/dev/nvidia" + std::to_string(count)).c_str(), F_OK) == 0)
        ++count;
    return count == 0 ? "" : ",nvidia.com/gpu=" + std::to_string(count);
}

long long memory_kibibytes() {
    return static_cast<long long>(sysconf(_SC_PHYS_PAGES)) * (sysconf(_SC_PAGE_SIZE) / 1024);
}

}  // namespace

std::size_t usual_bytes_per_namespace() {
    return std::max(std::size_t{256} << 20,
                    static_cast<std::size_t>(memory_kibibytes()) * 1024 / 16);
}

std::string machine_declaration() {
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const long long kibibytes = memory_kibibytes();
    return machine_name() + ":cpu=" + std::to_string(cpus) +
           ",memory=" + std::to_string(kibibytes) + "Ki,pods=110" + gpus_text();
}

}  // namespace muster::up
