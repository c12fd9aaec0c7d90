// agent/dns_server.cpp - see dns_server.h.
#include "agent/dns_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include "agent/dns_message.h"

namespace muster::agent {

namespace {
constexpr int kQuestionsAtOnce = 64;  // Pods may ask as fast as they can.
}

DnsServer::DnsServer(Network& network, net::AsioLoop& loop, const NameTable& names)
    : loop_(loop), names_(names), fd_(network.listen_udp(dns_service_address, 53)) {
    watch_ = loop_.watch(fd_.get(), {.read = true, .write = false},
                         [this](net::AsioLoop::Interest) { serve(); });
}

DnsServer::~DnsServer() {
    loop_.unwatch(watch_);
}

void DnsServer::serve() {
    for (int answered = 0; answered < kQuestionsAtOnce; ++answered) {
        char datagram[1500];
        sockaddr_storage from{};
        socklen_t size = sizeof(from);
        const ssize_t got = ::recvfrom(fd_.get(), datagram, sizeof(datagram), MSG_DONTWAIT,
                                       reinterpret_cast<sockaddr*>(&from), &size);
        if (got < 0) return;
        const auto question = parse_question({datagram, static_cast<std::size_t>(got)});
        if (!question) continue;
        const std::string answer = make_answer(*question, names_.find(question->name));
        // An answer that cannot be sent now is asked for again by the resolver.
        ::sendto(fd_.get(), answer.data(), answer.size(), MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&from), size);
    }
}

}  // namespace muster::agent
