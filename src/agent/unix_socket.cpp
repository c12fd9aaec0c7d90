// agent/unix_socket.cpp - see unix_socket.h.
#include "agent/unix_socket.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/error.h"

namespace muster::agent {

namespace {

constexpr std::size_t kDescriptorLimit = 4;

/// The directory is opened and addressed through /proc/self/fd, because a socket's path may have
/// only 107 characters.
struct Place {
    Descriptor directory;
    sockaddr_un address{};
};

Place place_of(const std::string& directory, const std::string& name) {
    Place place;
    place.directory.reset(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    place.address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(place.directory.get()) + "/" + name;
    path.copy(place.address.sun_path, sizeof(place.address.sun_path) - 1);
    return place;
}

}  // namespace

Descriptor listen_unix(const std::string& directory, const std::string& name) {
    const Place place = place_of(directory, name);
    Descriptor fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (place.directory && fd) {
        ::unlinkat(place.directory.get(), name.c_str(), 0);
        if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&place.address),
                   sizeof(place.address)) == 0 &&
            ::listen(fd.get(), 64) == 0)
            return fd;
    }
    throw Error(Reason::internal_error,
                "cannot make the socket " + directory + "/" + name + ": " + std::strerror(errno));
}

Descriptor connect_unix(const std::string& directory, const std::string& name, Patience patience) {
    const Place place = place_of(directory, name);
    if (!place.directory) return {};
    const int waits = patience == Patience::waits ? 0 : SOCK_NONBLOCK;
    Descriptor fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | waits, 0));
    if (!fd) return {};
    if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&place.address),
                  sizeof(place.address)) != 0)
        fd.reset();
    return fd;
}

Passed pass_message(int fd, std::string_view text, const std::vector<int>& descriptors) {
    if (text.size() > kMessageLimit || descriptors.size() > kDescriptorLimit) {
        errno = EMSGSIZE;
        return Passed::no;
    }
    iovec piece{const_cast<char*>(text.data()), text.size()};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kDescriptorLimit)] = {};
    if (!descriptors.empty()) {
        const std::size_t bytes = sizeof(int) * descriptors.size();
        header.msg_control = control;
        header.msg_controllen = CMSG_SPACE(bytes);
        cmsghdr* part = CMSG_FIRSTHDR(&header);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(bytes);
        std::memcpy(CMSG_DATA(part), descriptors.data(), bytes);
    }
    for (;;) {
        if (::sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return Passed::yes;
        if (errno == EAGAIN) return Passed::not_now;
        if (errno != EINTR) return Passed::no;
    }
}

bool send_message(int fd, std::string_view text, const std::vector<int>& descriptors) {
    for (;;) {
        const Passed passed = pass_message(fd, text, descriptors);
        if (passed != Passed::not_now) return passed == Passed::yes;
        pollfd ready{fd, POLLOUT, 0};
        ::poll(&ready, 1, 1000);
    }
}

std::size_t unread_bytes(int fd) {
    int bytes = 0;
    return ::ioctl(fd, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
}

Message receive_message(int fd) {
    Message message;
    message.text.resize(kMessageLimit);
    iovec piece{message.text.data(), message.text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kDescriptorLimit)] = {};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    ssize_t got = 0;
    do
        got = ::recvmsg(fd, &header, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    message.text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    if (got < 0 && errno == EAGAIN) {
        message.kind = Message::Kind::none_now;
        return message;
    }
    if (got <= 0) return message;
    // A part of a message is not acted on; who sends such a one does not keep to the protocol.
    const bool is_whole = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    if (is_whole) message.kind = Message::Kind::message;
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part; part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int received = -1;
            std::memcpy(&received, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
            message.descriptors.emplace_back(received);
        }
    }
    return message;
}

std::vector<std::vector<std::string>> in_messages(const std::vector<std::string>& lines) {
    std::vector<std::vector<std::string>> parts;
    std::size_t taken = 0;
    for (const std::string& line : lines) {
        if (parts.empty() || taken + line.size() > kMessageLimit / 2) {
            parts.emplace_back();
            taken = 0;
        }
        parts.back().push_back(line);
        taken += line.size() + 1;
    }
    return parts;
}

void set_nonblocking(int fd) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace muster::agent
