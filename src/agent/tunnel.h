// agent/tunnel.h - one TCP connection to a port of a pod, as bytes in and out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent/descriptor.h"
#include "agent/network.h"
#include "agent/pending_bytes.h"
#include "net/asio_loop.h"

namespace muster::agent {

/// What a tunnel tells, on its loop.
struct TunnelEvents {
    std::function<void(std::string_view)> bytes;
    std::function<void(const std::string& problem)> ended;  // Once; empty: the pod has closed.
    std::function<bool()> may_read;  // False: the other side is slow, ask again in a while.
    /// So much of what was to be written has gone to the pod, or will not go any more.
    std::function<void(std::size_t)> taken;
};

class Tunnel : public std::enable_shared_from_this<Tunnel> {
public:
    Tunnel(net::AsioLoop& loop, TunnelEvents events) : loop_(loop), events_(std::move(events)) {}
    ~Tunnel() { close(); }

    /// For its descriptor, as long as it lives.
    void hold(std::shared_ptr<void> ticket) { ticket_ = std::move(ticket); }
    void open(Network& network, const std::string& ip, int port);
    void write(std::string_view bytes);
    void end_input();  // Nothing more will be written.
    void close();      // Tells nothing any more.

private:
    void ready();
    void read();
    void flush();
    void end(const std::string& problem);
    void stop_watching();
    void drop_input();
    void choose_interest();

    net::AsioLoop& loop_;
    TunnelEvents events_;
    std::shared_ptr<void> ticket_;
    Descriptor fd_;
    net::AsioLoop::WatchId watch_{};
    bool watching_ = false;
    bool connected_ = false;
    bool paused_ = false;
    bool input_ended_ = false;
    PendingBytes to_write_;
    std::string name_;
};

}  // namespace muster::agent
