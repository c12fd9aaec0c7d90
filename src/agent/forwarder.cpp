// agent/forwarder.cpp - see forwarder.h.
#include "agent/forwarder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/steady_time.h"
#include "base/error.h"
#include "base/log.h"

namespace muster::agent {

namespace {
// A pod that has just become ready is looked at often, one that never listens there seldom.
constexpr Duration kFresh = seconds(30);
constexpr Duration kQuickLook = milliseconds(100);
constexpr Duration kSlowLook = seconds(1);
/// Looks of one turn, some 100 microseconds of the holder each, and the pause until the next turn.
constexpr std::size_t kLooksOfTurn = 32;
constexpr std::size_t kPodsOfLook = 16;
constexpr Duration kPause = milliseconds(10);
/// A part of the descriptors that this process may have.
constexpr std::size_t kPartOfListeners = 16;
constexpr std::size_t kPartOfConnections = 10;  // Two each.
/// Problems come with each connection, and of several namespaces by turns.
constexpr Duration kTellPause = seconds(10);
/// Connections that are taken in one turn.
constexpr int kAcceptsOfTurn = 64;
/// Bytes on their way in one direction of a connection; little, when all together are many: pods
/// may open as many connections as they like to pods that read nothing.
constexpr std::size_t kBuffer = 64 << 10;
constexpr std::size_t kSmallBuffer = 2 << 10;
constexpr std::size_t kManyBytes = 32 << 20;
/// Each takes two descriptors of the server, of which its namespace has a share besides.
constexpr std::size_t kClientConnectionsMax = 1000;

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
    std::shared_ptr<void> ticket;
};

struct Forwarder::Address {
    std::string ns;
    std::string service;
    std::vector<Endpoint> behind;
    Time changed;
    std::size_t next = 0;  // The pod that is asked after next.
    std::unique_ptr<Listener> listener;
    std::optional<Time> due;  // When it is looked at, if it waits.
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

Forwarder::Forwarder(Network& network, NamespaceOf namespace_of)
    : network_(network),
      namespace_of_(std::move(namespace_of)),
      listeners_(descriptors_max() / kPartOfListeners),
      connections_(descriptors_max() / kPartOfConnections) {
    loop_.start("muster-forward");
}

Forwarder::~Forwarder() {
    loop_.stop();
}

void Forwarder::set(std::vector<ServiceForwards> services) {
    loop_.post([this, services = std::move(services)]() mutable {
        for (ServiceForwards& service : services)
            apply(std::move(service));
        come_back();
    });
}

void Forwarder::renew() {
    loop_.post([this] {
        for (auto& [address, known] : addresses_) {
            if (!known.listener) continue;
            loop_.unwatch(known.listener->watch);
            known.listener.reset();
            known.changed = steady_now();
            wait(address, steady_now());
        }
        come_back();
    });
}

void Forwarder::apply(ServiceForwards service) {
    const Place place{service.ns, service.name};
    for (const Endpoint& old : by_service_[place]) {
        const auto known = addresses_.find(old);
        if (known == addresses_.end() || known->second.ns != service.ns ||
            known->second.service != service.name)
            continue;  // Another service has the address by now.
        const auto now = service.addresses.find(old);
        if (now == service.addresses.end() || now->second.empty()) drop(old);
    }
    by_service_.erase(place);
    std::vector<Endpoint> own;
    for (auto& [address, behind] : service.addresses) {
        if (behind.empty()) continue;
        const auto known = addresses_.find(address);
        if (known != addresses_.end() &&
            (known->second.ns != service.ns || known->second.service != service.name))
            drop(address);
        Address& now = addresses_[address];
        now.ns = service.ns;
        now.service = service.name;
        now.behind = std::move(behind);
        now.changed = steady_now();
        if (!now.listener) wait(address, steady_now());
        own.push_back(address);
    }
    if (!own.empty()) by_service_[place] = std::move(own);
}

void Forwarder::drop(const Endpoint& address) {
    const auto known = addresses_.find(address);
    if (known->second.listener) loop_.unwatch(known->second.listener->watch);
    if (known->second.due) {
        const auto list = waiting_.find(known->second.ns);
        list->second.erase({*known->second.due, address});
        if (list->second.empty()) waiting_.erase(list);
    }
    addresses_.erase(known);
}

/// The address is looked at then, and not before.
void Forwarder::wait(const Endpoint& address, Time until) {
    Address& known = addresses_.at(address);
    auto& list = waiting_[known.ns];
    if (known.due) list.erase({*known.due, address});
    known.due = until;
    list.emplace(until, address);
}

/// The address of the next namespace that is due, taken out.
std::optional<Endpoint> Forwarder::next_due(std::string& turn) {
    auto list = waiting_.upper_bound(turn);
    for (std::size_t tries = waiting_.size(); tries > 0; --tries, ++list) {
        if (list == waiting_.end()) list = waiting_.begin();
        const auto [due, address] = *list->second.begin();
        if (due > steady_now()) continue;
        turn = list->first;
        list->second.erase(list->second.begin());
        if (list->second.empty()) waiting_.erase(list);
        addresses_.at(address).due.reset();
        return address;
    }
    return std::nullopt;
}

/// Opens what somebody takes connections for by now, so much in one turn, and comes back for the
/// rest.
void Forwarder::look() {
    looked_ = steady_now();
    for (std::size_t looks = 0; looks < kLooksOfTurn;) {
        const auto address = next_due(looked_last_);
        if (!address) break;
        looks += look_once(*address);
    }
    come_back();
}

/// Sets the timer for the address that is due first. Looks are `kPause` apart, and a timer that is
/// set for an earlier time stays: very many changes must not put off every look.
void Forwarder::come_back() {
    if (waiting_.empty()) return;
    Time next = waiting_.begin()->second.begin()->first;
    for (const auto& [ns, list] : waiting_)
        next = std::min(next, list.begin()->first);
    next = std::max(next, looked_ + kPause);
    if (looking_ && looks_at_ <= next) return;
    if (looking_) loop_.cancel(*looking_);
    looks_at_ = next;
    looking_ = loop_.after(std::max(Duration{}, next - steady_now()), [this] {
        looking_.reset();
        look();
    });
}

/// Returns how many pods were asked after.
std::size_t Forwarder::look_once(const Endpoint& address) {
    Address& known = addresses_.at(address);
    const std::size_t count = std::min(known.behind.size(), kPodsOfLook);
    for (std::size_t asked = 1; asked <= count; ++asked) {
        const Endpoint& pod = known.behind[known.next++ % known.behind.size()];
        if (network_.takes(pod.ip, pod.port) == Network::Takes::no) continue;
        if (!open(address, known)) wait(address, steady_now() + kSlowLook);
        return asked;
    }
    const bool fresh = steady_now() - known.changed < kFresh;
    wait(address, steady_now() + (fresh ? kQuickLook : kSlowLook));
    return count;
}

bool Forwarder::open(const Endpoint& address, Address& known) {
    const std::string name = "the service address " + address.ip + ":" +
                             std::to_string(address.port) + " of namespace " + known.ns +
                             " cannot be served: ";
    try {
        auto listener = std::make_unique<Listener>();
        listener->ticket = listeners_.take(known.ns);
        if (!listener->ticket) {
            tell(name + "the namespace has its share of the server's listening sockets, of which " +
                 std::to_string(listeners_.held()) + " are open; raise the limit of open files");
            return false;
        }
        listener->fd.reset(network_.listen(address.ip, address.port));
        listener->watch =
            loop_.watch(listener->fd.get(), {.read = true, .write = false},
                        [this, address](net::AsioLoop::Interest) { accept(address); });
        known.listener = std::move(listener);
        return true;
    } catch (const Error& error) {
        tell(name + error.what());
        return false;
    }
}

void Forwarder::tell(const std::string& problem) {
    if (problem == told_problem_ || steady_now() < tell_next_) return;
    told_problem_ = problem;
    tell_next_ = steady_now() + kTellPause;
    log_warning("agent", problem);
}

/// Until it is looked at again, clients are refused.
void Forwarder::close(const Endpoint& address) {
    const auto known = addresses_.find(address);
    if (known == addresses_.end() || !known->second.listener) return;
    loop_.unwatch(known->second.listener->watch);
    known->second.listener.reset();
    known->second.changed = steady_now();
    wait(address, steady_now() + kQuickLook);
    come_back();
}

std::vector<Endpoint> Forwarder::in_turn(const Endpoint& address) {
    const auto known = addresses_.find(address);
    if (known == addresses_.end()) return {};
    std::vector<Endpoint> pods = known->second.behind;
    if (!pods.empty())
        std::rotate(pods.begin(), pods.begin() + static_cast<std::ptrdiff_t>(turn_++ % pods.size()),
                    pods.end());
    return pods;
}

void Forwarder::accept(const Endpoint& at) {
    const Endpoint address = at;  // The listener that it belongs to may be closed meanwhile.
    std::vector<Descriptor> clients;
    const auto known = addresses_.find(address);
    if (known == addresses_.end() || !known->second.listener) return;
    for (int i = 0; i < kAcceptsOfTurn; ++i) {
        Descriptor client(::accept4(known->second.listener->fd.get(), nullptr, nullptr,
                                    SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!client && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
            // What waits there would wake this thread again and again.
            close(address);
            break;
        }
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

/// Counts a connection of a client until nobody holds the ticket; null when it, or its namespace,
/// has too many.
std::shared_ptr<void> Forwarder::take_ticket(const std::string& client) {
    std::size_t& count = load_->connections[client];
    if (count >= kClientConnectionsMax) return nullptr;
    const std::string ns = namespace_of_(client);
    auto share = connections_.take(ns);
    if (!share) {
        if (count == 0) load_->connections.erase(client);
        tell("connections of pods of namespace " + ns +
             " to services are reset: it has its share of the server's open files; raise their "
             "limit (ulimit -n)");
        return nullptr;
    }
    ++count;
    return std::shared_ptr<void>(load_.get(), [load = load_, client, share](void*) {
        const auto at = load->connections.find(client);
        if (--at->second == 0) load->connections.erase(at);
    });
}

}  // namespace muster::agent
