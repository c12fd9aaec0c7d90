// agent/forwarder.h - connections to service addresses are passed on to the pods behind them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/descriptor.h"
#include "agent/names.h"
#include "agent/network.h"
#include "net/asio_loop.h"

namespace muster::agent {

/// Copies bytes both ways on a thread of its own, so that bulk traffic delays nothing else. A
/// service address takes connections only while a pod behind it does: before and after, clients are
/// refused, as they would be without a forwarder.
class Forwarder {
public:
    explicit Forwarder(Network& network);
    ~Forwarder();
    Forwarder(const Forwarder&) = delete;
    Forwarder& operator=(const Forwarder&) = delete;

    /// From any thread. Connections under way go on.
    void set(Forwards forwards);

    /// The network is a new one: everything is opened there again. From any thread.
    void renew();

private:
    struct Listener;
    struct Pump;
    struct Attempt;

    void apply(Forwards forwards);
    void look();
    bool someone_takes(const std::vector<Endpoint>& behind) const;
    void open(const Endpoint& address);
    void close(const Endpoint& address);
    void accept(const Endpoint& address);
    std::shared_ptr<void> take_ticket(const std::string& client);
    std::vector<Endpoint> in_turn(const Endpoint& address);

    Network& network_;
    std::map<Endpoint, std::unique_ptr<Listener>> listeners_;
    Forwards forwards_;
    std::size_t turn_ = 0;
    /// Of connections under way: bytes read and not yet written, and how many each client has.
    struct Load {
        std::size_t bytes = 0;
        std::map<std::string, std::size_t> connections;
    };
    std::shared_ptr<Load> load_ = std::make_shared<Load>();
    Time changed_;  // When `forwards_` did.
    bool looking_ = false;
    std::string told_problem_;
    net::AsioLoop loop_;  // Last: its thread ends before what it uses.
};

}  // namespace muster::agent
