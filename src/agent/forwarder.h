// agent/forwarder.h - connections to service addresses are passed on to the pods behind them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "agent/descriptor.h"
#include "agent/names.h"
#include "agent/network.h"
#include "net/asio_loop.h"

namespace muster::agent {

/// Copies bytes both ways on a thread of its own, so that bulk traffic delays nothing else.
class Forwarder {
public:
    explicit Forwarder(Network& network);
    ~Forwarder();
    Forwarder(const Forwarder&) = delete;
    Forwarder& operator=(const Forwarder&) = delete;

    /// From any thread. Connections under way go on.
    void set(Forwards forwards);

private:
    struct Listener;
    struct Pump;

    void apply(Forwards forwards);
    void accept(const Endpoint& address);

    Network& network_;
    std::map<Endpoint, std::unique_ptr<Listener>> listeners_;
    Forwards forwards_;
    std::size_t turn_ = 0;
    net::AsioLoop loop_;  // Last: its thread ends before what it uses.
};

}  // namespace muster::agent
