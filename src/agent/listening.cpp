// agent/listening.cpp - see listening.h.
#include "agent/listening.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>

#include "agent/descriptor.h"
#include "base/text.h"

namespace muster::agent {

namespace {

constexpr std::string_view kListen = "0A";

/// An IPv4 address as the table writes it: eight digits, the machine's own order of bytes.
std::string table_form(const std::string& ip) {
    in_addr address{};
    ::inet_pton(AF_INET, ip.c_str(), &address);
    char text[16];
    std::snprintf(text, sizeof(text), "%08X", static_cast<unsigned>(address.s_addr));
    return text;
}

/// Messages of an answer that are read; each has some fifty listeners of the one port.
constexpr int kAnswersMax = 16;

Descriptor diag_socket_in_network_of(pid_t pid) {
    const Descriptor own(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    const Descriptor other(
        ::open(("/proc/" + std::to_string(pid) + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC));
    if (!own || !other || ::setns(other.get(), CLONE_NEWNET) != 0) return Descriptor();
    Descriptor made(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (::setns(own.get(), CLONE_NEWNET) != 0) ::abort();  // Pods would be made in a pod's network.
    return made;
}

bool ask_for_listeners(const Descriptor& fd, int family, int port) {
    struct {
        nlmsghdr header;
        inet_diag_req_v2 question;
    } request{};
    request.header.nlmsg_len = sizeof(request);
    request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    request.question.sdiag_family = static_cast<std::uint8_t>(family);
    request.question.sdiag_protocol = IPPROTO_TCP;
    request.question.idiag_states = 1U << TCP_LISTEN;
    request.question.id.idiag_sport = htons(static_cast<std::uint16_t>(port));
    return ::send(fd.get(), &request, sizeof(request), 0) == sizeof(request);
}

/// Whether a socket that is bound to `source` takes connections to the IPv4 address.
bool takes_address(const inet_diag_msg& socket, in_addr address) {
    const auto& source = socket.id.idiag_src;
    const std::uint32_t mapped[4] = {0, 0, htonl(0x0000ffffU), address.s_addr};
    if (socket.idiag_family == AF_INET) return source[0] == 0 || source[0] == address.s_addr;
    const bool all = std::all_of(std::begin(source), std::end(source),
                                 [](std::uint32_t part) { return part == 0; });
    return all || std::memcmp(source, mapped, sizeof(mapped)) == 0;
}

std::optional<bool> find_listener(const Descriptor& fd, in_addr address) {
    alignas(nlmsghdr) char answer[16 << 10];
    for (int answers = 0; answers < kAnswersMax; ++answers) {
        const ssize_t got = ::recv(fd.get(), answer, sizeof(answer), 0);
        if (got <= 0) return std::nullopt;
        std::size_t at = 0;
        const auto size = static_cast<std::size_t>(got);
        while (size - at >= sizeof(nlmsghdr)) {
            nlmsghdr header{};
            std::memcpy(&header, answer + at, sizeof(header));
            if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > size - at)
                return std::nullopt;
            if (header.nlmsg_type == NLMSG_DONE) return false;
            if (header.nlmsg_type == NLMSG_ERROR ||
                header.nlmsg_len < sizeof(header) + sizeof(inet_diag_msg))
                return std::nullopt;
            inet_diag_msg socket{};
            std::memcpy(&socket, answer + at + sizeof(header), sizeof(socket));
            if (takes_address(socket, address)) return true;
            at += std::min(size - at, std::size_t{NLMSG_ALIGN(header.nlmsg_len)});
        }
    }
    return false;
}

}  // namespace

bool listens_on(std::string_view table, const std::string& ip, int port) {
    char port_text[8];
    std::snprintf(port_text, sizeof(port_text), "%04X", static_cast<unsigned>(port) & 0xffff);
    const std::string exact = table_form(ip);
    char mapped_mark[16];
    std::snprintf(mapped_mark, sizeof(mapped_mark), "%08X",
                  static_cast<unsigned>(htonl(0x0000ffffU)));
    const std::string mapped = std::string(16, '0') + mapped_mark + exact;
    for (const std::string_view line : split(table, '\n')) {
        // "  sl  local_address rem_address   st ..."
        std::string_view words[4];
        std::size_t count = 0;
        for (const std::string_view word : split(line, ' '))
            if (!word.empty() && count < 4) words[count++] = word;
        if (count < 4 || words[3] != kListen) continue;
        const auto place = split_first(words[1], ':');
        if (!place || place->after != port_text) continue;
        const std::string_view address = place->before;
        if (address.find_first_not_of('0') == std::string_view::npos) return true;
        if (address == exact || address == mapped) return true;
    }
    return false;
}

std::optional<bool> listens_in_network_of(pid_t pid, const std::string& ip, int port) {
    in_addr address{};
    if (::inet_pton(AF_INET, ip.c_str(), &address) != 1 || port < 1 || port > 65'535) return false;
    bool asked = false;
    for (const int family : {AF_INET, AF_INET6}) {
        const Descriptor fd = diag_socket_in_network_of(pid);
        if (!fd || !ask_for_listeners(fd, family, port)) return std::nullopt;
        const auto found = find_listener(fd, address);
        if (found && *found) return true;
        asked |= found.has_value();
    }
    return asked ? std::optional<bool>(false) : std::nullopt;
}

}  // namespace muster::agent
