// agent/dns_server.h - answers the pods' questions for names, inside their network.
#pragma once

#include "agent/descriptor.h"
#include "agent/names.h"
#include "agent/network.h"
#include "net/asio_loop.h"

namespace muster::agent {

/// Listens at the DNS service's address. Lives on `loop`, as `names` does.
class DnsServer {
public:
    DnsServer(Network& network, net::AsioLoop& loop, const NameTable& names);
    ~DnsServer();
    DnsServer(const DnsServer&) = delete;
    DnsServer& operator=(const DnsServer&) = delete;

private:
    void serve();
    net::AsioLoop& loop_;
    const NameTable& names_;
    Descriptor fd_;
    net::AsioLoop::WatchId watch_{};
};

}  // namespace muster::agent
