// agent/forwarder.cpp - see forwarder.h.
#include "agent/forwarder.h"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

namespace muster::agent {

struct Forwarder::Listener {
    Descriptor fd;
    net::AsioLoop::WatchId watch{};
};

/// Two connected sockets and what is on its way between them. Keeps itself alive through its
/// watches.
struct Forwarder::Pump : std::enable_shared_from_this<Forwarder::Pump> {
    static constexpr std::size_t kBuffer = 64 << 10;

    struct Side {
        Descriptor fd;
        net::AsioLoop::WatchId watch{};
        std::string to_write;  // Read at the other side.
        bool ended = false;    // It will send nothing more.
        bool shut = false;     // It was told that nothing more comes.
    };

    explicit Pump(net::AsioLoop& its_loop) : loop(its_loop) {}

    void start(Descriptor a, Descriptor b) {
        sides[0].fd = std::move(a);
        sides[1].fd = std::move(b);
        for (std::size_t i = 0; i < 2; ++i)
            sides[i].watch = loop.watch(sides[i].fd.get(), {.read = true, .write = true},
                                        [self = shared_from_this()](net::AsioLoop::Interest) {
                                            const auto keep = self;
                                            keep->move_bytes();
                                        });
    }

    void move_bytes() {
        if (closed) return;
        for (std::size_t i = 0; i < 2 && !closed; ++i) {
            read(sides[i], sides[1 - i]);
            write(sides[1 - i], sides[i].ended);
        }
        if (closed || (sides[0].shut && sides[1].shut)) return close();
        for (std::size_t i = 0; i < 2; ++i) {
            const Side& other = sides[1 - i];
            loop.change(sides[i].watch, {.read = !sides[i].ended && other.to_write.size() < kBuffer,
                                         .write = !sides[i].to_write.empty()});
        }
    }

    void read(Side& from, Side& to) {
        std::array<char, 16 << 10> piece;
        while (!from.ended && to.to_write.size() < kBuffer) {
            const ssize_t got = ::recv(from.fd.get(), piece.data(), piece.size(), MSG_DONTWAIT);
            if (got < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return;
            if (got < 0) {
                closed = true;
                return;
            }
            if (got == 0) from.ended = true;
            to.to_write.append(piece.data(), static_cast<std::size_t>(got));
        }
    }

    void write(Side& to, bool source_ended) {
        while (!to.to_write.empty()) {
            const ssize_t sent = ::send(to.fd.get(), to.to_write.data(), to.to_write.size(),
                                        MSG_DONTWAIT | MSG_NOSIGNAL);
            if (sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return;
            if (sent < 0) {
                closed = true;
                return;
            }
            to.to_write.erase(0, static_cast<std::size_t>(sent));
        }
        if (source_ended && !to.shut) {
            ::shutdown(to.fd.get(), SHUT_WR);
            to.shut = true;
        }
    }

    void close() {
        closed = true;
        for (Side& side : sides) {
            if (!side.fd) continue;
            loop.unwatch(side.watch);
            side.fd.reset();
        }
    }

    net::AsioLoop& loop;
    std::array<Side, 2> sides;
    bool closed = false;
};

Forwarder::Forwarder(Network& network) : network_(network) {
    loop_.start("muster-forward");
}

Forwarder::~Forwarder() {
    loop_.stop();
}

void Forwarder::set(Forwards forwards) {
    loop_.post([this, forwards = std::move(forwards)]() mutable { apply(std::move(forwards)); });
}

void Forwarder::apply(Forwards forwards) {
    forwards_ = std::move(forwards);
    for (auto at = listeners_.begin(); at != listeners_.end();) {
        if (forwards_.contains(at->first)) {
            ++at;
            continue;
        }
        loop_.unwatch(at->second->watch);
        at = listeners_.erase(at);
    }
    for (const auto& [address, behind] : forwards_) {
        if (listeners_.contains(address)) continue;
        try {
            auto listener = std::make_unique<Listener>();
            listener->fd.reset(network_.listen(address.ip, address.port));
            listener->watch =
                loop_.watch(listener->fd.get(), {.read = true, .write = false},
                            [this, where = address](net::AsioLoop::Interest) { accept(where); });
            listeners_[address] = std::move(listener);
        } catch (const Error& error) {
            log_warning("agent", "the service address " + address.ip + ":" +
                                     std::to_string(address.port) +
                                     " cannot be served: " + error.what());
        }
    }
}

void Forwarder::accept(const Endpoint& address) {
    const auto listener = listeners_.find(address);
    if (listener == listeners_.end()) return;
    for (;;) {
        Descriptor client(
            ::accept4(listener->second->fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!client) return;
        const std::vector<Endpoint>& behind = forwards_[address];
        if (behind.empty()) {
            // Nobody is ready: refused, as a cluster does.
            const linger now{1, 0};
            ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
            continue;
        }
        const Endpoint& to = behind[turn_++ % behind.size()];
        Descriptor server(network_.dial(to.ip, to.port));
        if (server) std::make_shared<Pump>(loop_)->start(std::move(client), std::move(server));
    }
}

}  // namespace muster::agent
