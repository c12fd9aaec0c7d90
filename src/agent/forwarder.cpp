// agent/forwarder.cpp - see forwarder.h.
#include "agent/forwarder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

namespace muster::agent {

namespace {
// A pod that has just become ready is looked at often, one that never listens there seldom.
constexpr Duration kFresh = seconds(30);
constexpr Duration kQuickLook = milliseconds(100);
constexpr Duration kSlowLook = seconds(1);
/// Bytes on their way in one direction of a connection; little, when all together are many: pods
/// may open as many connections as they like to pods that read nothing.
constexpr std::size_t kBuffer = 64 << 10;
constexpr std::size_t kSmallBuffer = 2 << 10;
constexpr std::size_t kManyBytes = 32 << 20;
/// Each takes two descriptors of the server.
constexpr std::size_t kClientConnectionsMax = 1000;
constexpr std::size_t kAcceptedAtOnce = 64;  // Then it is the turn of those that are connected.

/// The address without its port; empty when it cannot be told.
std::string address_of_peer(int fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof(peer);
    char text[INET_ADDRSTRLEN] = "";
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 ||
        peer.sin_family != AF_INET)
        return "";
    ::inet_ntop(AF_INET, &peer.sin_addr, text, sizeof(text));
    return text;
}
}  // namespace

struct Forwarder::Listener {
    Descriptor fd;
    net::AsioLoop::WatchId watch{};
};

/// Two connected sockets and what is on its way between them. Keeps itself alive through its
/// watches.
struct Forwarder::Pump : std::enable_shared_from_this<Forwarder::Pump> {
    struct Side {
        Descriptor fd;
        net::AsioLoop::WatchId watch{};
        std::string to_write;  // Read at the other side.
        bool ended = false;    // It will send nothing more.
        bool shut = false;     // It was told that nothing more comes.
    };

    Pump(net::AsioLoop& its_loop, std::shared_ptr<Load> its_load)
        : loop(its_loop), load(std::move(its_load)) {}
    ~Pump() { load->bytes -= counted; }

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
        load->bytes -= counted;
        counted = sides[0].to_write.size() + sides[1].to_write.size();
        load->bytes += counted;
        for (std::size_t i = 0; i < 2; ++i) {
            const Side& other = sides[1 - i];
            loop.change(sides[i].watch, {.read = !sides[i].ended && other.to_write.size() < room(),
                                         .write = !sides[i].to_write.empty()});
        }
    }

    std::size_t room() const { return load->bytes < kManyBytes ? kBuffer : kSmallBuffer; }

    void read(Side& from, Side& to) {
        std::array<char, 16 << 10> piece;
        const std::size_t most = room();
        while (!from.ended && to.to_write.size() < most) {
            const ssize_t got =
                ::recv(from.fd.get(), piece.data(), std::min(piece.size(), most), MSG_DONTWAIT);
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
        const bool whole = sides[0].shut && sides[1].shut;
        for (Side& side : sides) {
            if (!side.fd) continue;
            // What was cut off must not look like an end.
            const linger now{1, 0};
            if (!whole) ::setsockopt(side.fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
            loop.unwatch(side.watch);
            side.fd.reset();
        }
    }

    net::AsioLoop& loop;
    std::shared_ptr<Load> load;
    std::size_t counted = 0;
    std::array<Side, 2> sides;
    std::shared_ptr<void> ticket;  // Of the client's connections.
    bool closed = false;
};

/// A client's connection on its way to a pod: the pods are tried one after the other, and the
/// client gets an answer only when one of them has taken it.
struct Forwarder::Attempt : std::enable_shared_from_this<Forwarder::Attempt> {
    Attempt(Forwarder& its_owner, Endpoint its_address, Descriptor its_client,
            std::vector<Endpoint> its_pods)
        : owner(its_owner),
          address(std::move(its_address)),
          client(std::move(its_client)),
          pods(std::move(its_pods)) {}

    void try_next() {
        while (next < pods.size()) {
            const Endpoint& pod = pods[next++];
            server.reset(owner.network_.dial(pod.ip, pod.port));
            if (!server) continue;
            watch = owner.loop_.watch(server.get(), {.read = false, .write = true},
                                      [self = shared_from_this()](net::AsioLoop::Interest) {
                                          const auto keep = self;
                                          keep->answered();
                                      });
            return;
        }
        refuse();
    }

    void answered() {
        owner.loop_.unwatch(watch);
        int fault = 0;
        socklen_t size = sizeof(fault);
        ::getsockopt(server.get(), SOL_SOCKET, SO_ERROR, &fault, &size);
        if (fault != 0) return try_next();
        const auto pump = std::make_shared<Pump>(owner.loop_, owner.load_);
        pump->ticket = std::move(ticket);
        pump->start(std::move(client), std::move(server));
    }

    /// Nobody takes it: reset, and those who come after are refused.
    void refuse() {
        const linger now{1, 0};
        ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        client.reset();
        owner.close(address);
    }

    Forwarder& owner;
    Endpoint address;
    Descriptor client;
    std::shared_ptr<void> ticket;
    std::vector<Endpoint> pods;
    std::size_t next = 0;
    Descriptor server;
    net::AsioLoop::WatchId watch{};
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

void Forwarder::renew() {
    loop_.post([this] {
        for (const auto& [address, listener] : listeners_)
            loop_.unwatch(listener->watch);
        listeners_.clear();
        look();
    });
}

void Forwarder::apply(Forwards forwards) {
    forwards_ = std::move(forwards);
    changed_ = loop_.now();
    for (auto at = listeners_.begin(); at != listeners_.end();) {
        const auto behind = forwards_.find(at->first);
        if (behind != forwards_.end() && !behind->second.empty()) {
            ++at;
            continue;
        }
        loop_.unwatch(at->second->watch);
        at = listeners_.erase(at);
    }
    look();
}

/// Opens what somebody takes connections for by now, and comes back for the rest.
void Forwarder::look() {
    bool waits = false;
    for (const auto& [address, behind] : forwards_) {
        if (behind.empty() || listeners_.contains(address)) continue;
        if (someone_takes(behind)) open(address);
        waits |= !listeners_.contains(address);
    }
    if (!waits || looking_) return;
    looking_ = true;
    const bool fresh = loop_.now() - changed_ < kFresh;
    loop_.after(fresh ? kQuickLook : kSlowLook, [this] {
        looking_ = false;
        look();
    });
}

bool Forwarder::someone_takes(const std::vector<Endpoint>& behind) const {
    return std::any_of(behind.begin(), behind.end(), [this](const Endpoint& pod) {
        return network_.takes(pod.ip, pod.port) != Network::Takes::no;
    });
}

void Forwarder::open(const Endpoint& address) {
    try {
        auto listener = std::make_unique<Listener>();
        listener->fd.reset(network_.listen(address.ip, address.port));
        listener->watch =
            loop_.watch(listener->fd.get(), {.read = true, .write = false},
                        [this, address](net::AsioLoop::Interest) { accept(address); });
        listeners_[address] = std::move(listener);
    } catch (const Error& error) {
        const std::string problem = "the service address " + address.ip + ":" +
                                    std::to_string(address.port) +
                                    " cannot be served: " + error.what();
        if (std::exchange(told_problem_, problem) != problem) log_warning("agent", problem);
    }
}

void Forwarder::close(const Endpoint& address) {
    const auto listener = listeners_.find(address);
    if (listener == listeners_.end()) return;
    loop_.unwatch(listener->second->watch);
    listeners_.erase(listener);
    changed_ = loop_.now();
    look();
}

std::vector<Endpoint> Forwarder::in_turn(const Endpoint& address) {
    std::vector<Endpoint> pods = forwards_[address];
    if (!pods.empty())
        std::rotate(pods.begin(), pods.begin() + static_cast<std::ptrdiff_t>(turn_++ % pods.size()),
                    pods.end());
    return pods;
}

void Forwarder::accept(const Endpoint& address) {
    std::vector<Descriptor> clients;
    if (const auto listener = listeners_.find(address); listener != listeners_.end())
        while (clients.size() < kAcceptedAtOnce) {
            Descriptor client(::accept4(listener->second->fd.get(), nullptr, nullptr,
                                        SOCK_NONBLOCK | SOCK_CLOEXEC));
            if (!client) break;
            clients.push_back(std::move(client));
        }
    for (Descriptor& client : clients) {
        auto ticket = take_ticket(address_of_peer(client.get()));
        if (!ticket) {
            const linger now{1, 0};
            ::setsockopt(client.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
            continue;
        }
        const auto attempt =
            std::make_shared<Attempt>(*this, address, std::move(client), in_turn(address));
        attempt->ticket = std::move(ticket);
        attempt->try_next();
    }
}

/// Counts a connection of a client until nobody holds the ticket; null when it has too many.
std::shared_ptr<void> Forwarder::take_ticket(const std::string& client) {
    std::size_t& count = load_->connections[client];
    if (count >= kClientConnectionsMax) return nullptr;
    ++count;
    return std::shared_ptr<void>(load_.get(), [load = load_, client](void*) {
        const auto at = load->connections.find(client);
        if (--at->second == 0) load->connections.erase(at);
    });
}

}  // namespace muster::agent
