// net/dial.cpp - see dial.h.
#include "net/dial.h"

#include <cerrno>

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

namespace muster::net {

int dial_directly(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    // "localhost" often has an IPv6 address that nobody listens on.
    const addrinfo* chosen = found;
    for (const addrinfo* one = found; one; one = one->ai_next) {
        if (one->ai_family == AF_INET) {
            chosen = one;
            break;
        }
    }
    const int fd = socket(chosen->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const bool going =
        fd >= 0 && (connect(fd, chosen->ai_addr, chosen->ai_addrlen) == 0 || errno == EINPROGRESS);
    const int error = errno;
    freeaddrinfo(found);
    if (going) return fd;
    if (fd >= 0) ::close(fd);
    errno = error;
    return -1;
}

}  // namespace muster::net
