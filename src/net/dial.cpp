// net/dial.cpp - see dial.h.
#include "net/dial.h"

#include <array>
#include <cerrno>
#include <memory>

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::net {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Null when there is none.
Addresses addresses_of(const std::string& host, const char* port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), port, &hints, &found) != 0) found = nullptr;
    return {found, &freeaddrinfo};
}

/// "localhost" often has an IPv6 address that nobody listens on.
const addrinfo& to_dial(const Addresses& found) {
    for (const addrinfo* one = found.get(); one; one = one->ai_next) {
        if (one->ai_family == AF_INET) return *one;
    }
    return *found;
}

}  // namespace

int dial_directly(const std::string& host, int port) {
    Addresses found = addresses_of(host, std::to_string(port).c_str());
    if (!found) {
        errno = EHOSTUNREACH;
        return -1;
    }
    const addrinfo& chosen = to_dial(found);
    const int fd = socket(chosen.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const bool going =
        fd >= 0 && (connect(fd, chosen.ai_addr, chosen.ai_addrlen) == 0 || errno == EINPROGRESS);
    if (going) return fd;
    const int error = errno;
    if (fd >= 0) ::close(fd);
    found.reset();
    errno = error;
    return -1;
}

bool is_address(const std::string& host) {
    in6_addr address;
    return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
           inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

std::string find_address(const std::string& name) {
    const Addresses found = addresses_of(name, nullptr);
    if (!found) return "";
    const addrinfo& chosen = to_dial(found);
    std::array<char, NI_MAXHOST> text{};
    const int failed = getnameinfo(chosen.ai_addr, chosen.ai_addrlen, text.data(), text.size(),
                                   nullptr, 0, NI_NUMERICHOST);
    return failed != 0 ? "" : text.data();
}

}  // namespace muster::net
