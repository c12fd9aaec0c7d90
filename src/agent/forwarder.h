// agent/forwarder.h - connections to service addresses are passed on to the pods behind them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/descriptor.h"
#include "agent/forward_table.h"
#include "agent/names.h"
#include "agent/network.h"
#include "agent/shares.h"
#include "net/asio_loop.h"

namespace muster::agent {

/// Copies bytes both ways on a thread of its own, so that bulk traffic delays nothing else. A
/// service address takes connections only while a pod behind it does: before and after, clients are
/// refused, as they would be without a forwarder.
class Forwarder {
public:
    /// Whose pod has the address; empty when nobody's. Asked on the forwarder's thread.
    using NamespaceOf = std::function<std::string(const std::string& ip)>;
    Forwarder(Network& network, NamespaceOf namespace_of);
    ~Forwarder();
    Forwarder(const Forwarder&) = delete;
    Forwarder& operator=(const Forwarder&) = delete;

    /// All that is forwarded for these services from now on; from any thread. Connections under way
    /// go on.
    void set(std::vector<ServiceForwards> services);

    /// The network is a new one: everything is opened there again. From any thread.
    void renew();

private:
    struct Listener;
    struct Address;
    struct Pump;
    struct Attempt;
    using Place = std::pair<std::string, std::string>;  // Namespace, name.

    void apply(ServiceForwards service);
    void drop(const Endpoint& address);
    void wait(const Endpoint& address, Time until);
    void look();
    void come_back();
    std::optional<Endpoint> next_due(std::string& turn);
    std::size_t look_once(const Endpoint& address);
    bool open(const Endpoint& address, Address& known);
    void close(const Endpoint& address);
    void accept(const Endpoint& at);
    std::shared_ptr<void> take_ticket(const std::string& client);
    std::vector<Endpoint> in_turn(const Endpoint& address);
    void tell(const std::string& problem);

    Network& network_;
    NamespaceOf namespace_of_;
    std::map<Endpoint, Address> addresses_;
    std::map<Place, std::vector<Endpoint>> by_service_;
    /// Addresses for which nobody takes connections yet, by namespace: when each is looked at.
    std::map<std::string, std::set<std::pair<Time, Endpoint>>> waiting_;
    std::string looked_last_;  // The namespace whose turn was the last one.
    std::optional<Loop::TimerId> looking_;
    Time looks_at_;  // When that timer ends.
    Time looked_;
    Shares listeners_;
    Shares connections_;
    std::size_t turn_ = 0;
    /// Of connections under way: bytes read and not yet written, and how many each client has.
    struct Load {
        std::size_t bytes = 0;
        std::map<std::string, std::size_t> connections;
    };
    std::shared_ptr<Load> load_ = std::make_shared<Load>();
    std::string told_problem_;
    Time tell_next_;
    net::AsioLoop loop_;  // Last: its thread ends before what it uses.
};

}  // namespace muster::agent
