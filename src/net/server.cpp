// net/server.cpp - listeners, the threads behind them, and the connections of each thread.
#include "net/server.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <future>
#include <map>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/verify.h"
#include "net/asio_loop.h"
#include "net/server_session.h"
#include "net/tls.h"
#include "net/wire.h"

namespace muster::net {
namespace {

constexpr Duration handshake_timeout = seconds(10);
constexpr Duration tick_every = seconds(1);
/// How long accepting rests when the process has no descriptors left.
constexpr Duration breath = milliseconds(100);

/// How many connections are closed at once to make room, as a part of the limit.
constexpr std::size_t shed_part = 20;

std::string address_text(const sockaddr_storage& address) {
    char host[NI_MAXHOST] = "";
    char port[NI_MAXSERV] = "";
    getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host, sizeof host,
                port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    const bool six = address.ss_family == AF_INET6;
    return (six ? "[" + std::string(host) + "]" : std::string(host)) + ":" + port;
}

[[noreturn]] void cannot_listen(const std::string& where, int error, const std::string& flag) {
    const std::string instead = "choose another one with " + flag + " ADDRESS:PORT";
    if (error == EADDRINUSE)
        throw Error(Reason::conflict, "cannot listen on " + where +
                                          ": the port is in use by another program; " + instead);
    if (error == EACCES)
        throw Error(Reason::forbidden, "cannot listen on " + where +
                                           ": ports below 1024 need more rights; " + instead);
    throw Error(Reason::invalid, "cannot listen on " + where + ": " + std::strerror(error));
}

/// Negative: errno says why.
int try_listen(const addrinfo& at) {
    const int fd = socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return fd;
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, at.ai_addr, at.ai_addrlen) == 0 && listen(fd, 1024) == 0) return fd;
    const int error = errno;
    ::close(fd);
    errno = error;
    return -1;
}

/// One thread of the server and the connections it owns.
struct Crew {
    AsioLoop loop;
    std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>(loop);
    std::shared_ptr<const Rules> rules;
    std::unordered_map<std::uint64_t, std::unique_ptr<Wire>> wires;
    std::uint64_t next_wire = 1;
    bool leaving = false;

    void tick();
    void shed_anonymous(std::size_t count);
    void shed_largest(std::size_t count);
};

ServerSession& session_on(Wire& wire) {
    return static_cast<ServerSession&>(wire.session());
}

const Standing& standing_of(const Wire& wire) {
    return *wire.peer().standing;
}

void Crew::tick() {
    for (auto& [id, wire] : wires) {
        wire->tick();  // Closing only posts; nothing leaves the map here.
        if (standing_of(*wire).is_too_many()) session_on(*wire).go_away();
    }
    loop.after(tick_every, [this] { tick(); });
}

/// Closes those that nobody has said anything on who was believed: the idle ones first, and of
/// those the oldest.
void Crew::shed_anonymous(std::size_t count) {
    std::vector<std::pair<std::pair<bool, std::uint64_t>, Wire*>> anonymous;
    for (auto& [id, wire] : wires) {
        if (standing_of(*wire).is_known()) continue;
        anonymous.push_back({{!session_on(*wire).is_idle(), id}, wire.get()});
    }
    count = std::min(count, anonymous.size());
    std::partial_sort(anonymous.begin(), anonymous.begin() + static_cast<std::ptrdiff_t>(count),
                      anonymous.end());
    for (std::size_t i = 0; i < count; ++i)
        anonymous[i].second->close("others need the connection");
}

/// Closes idle connections of the client that has most of them, the oldest first.
void Crew::shed_largest(std::size_t count) {
    std::map<std::string, std::vector<std::pair<std::uint64_t, Wire*>>> idle;
    for (auto& [id, wire] : wires) {
        if (session_on(*wire).is_idle())
            idle[standing_of(*wire).account()->name()].push_back({id, wire.get()});
    }
    const auto most = std::max_element(idle.begin(), idle.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
    });
    if (most == idle.end()) return;
    auto& those = most->second;
    std::sort(those.begin(), those.end());
    for (std::size_t i = 0; i < std::min(count, those.size()); ++i)
        those[i].second->close("others need the connection");
}

}  // namespace

int open_listener(const std::string& address, int port, const std::string& flag) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV;
    const std::string service = std::to_string(port);
    int fd = -1;
    // A socket of IPv6 takes those of IPv4 too, where there is IPv6 at all.
    const std::vector<std::string> tries =
        address.empty() ? std::vector<std::string>{"::", "0.0.0.0"} : std::vector{address};
    for (const std::string& each : tries) {
        addrinfo* found = nullptr;
        if (getaddrinfo(each.c_str(), service.c_str(), &hints, &found) != 0)
            throw Error(Reason::invalid, "cannot listen on \"" + address +
                                             "\": give an IP address such as 127.0.0.1 or 0.0.0.0");
        fd = try_listen(*found);
        const int error = errno;
        freeaddrinfo(found);
        errno = error;
        if (fd >= 0) return fd;
    }
    cannot_listen(address + ":" + service, errno, flag);
}

struct Server::State {
    ServerOptions options;
    std::shared_ptr<SSL_CTX> tls;  // Null: plain. On the first crew's thread.
    std::vector<std::unique_ptr<Crew>> crews;
    std::atomic<std::size_t> connections{0};
    std::size_t next_crew = 0;
    std::unordered_map<int, AsioLoop::WatchId> listeners;  // On the first crew's thread.
    int port = 0;
    bool stopped = false;
    bool making_room = false;  // On the first crew's thread.

    void watch_listener(int fd);
    void accept_some(int fd);
    void accepted(int fd, const sockaddr_storage& from);
    void open(Crew& crew, SSL_CTX* context, int fd, std::string address);
    enum class Want { connections, descriptors };
    void make_room(Want want);
    void leave(Crew& crew);
};

Server::Server(ServerOptions options, Loop& home, Handler handler)
    : state_(std::make_unique<State>()) {
    state_->options = std::move(options);
    const ServerOptions& given = state_->options;
    if (given.tls) state_->tls = server_context(*given.tls);
    if (!state_->options.ledger)
        state_->options.ledger = std::make_shared<Ledger>(Ledger::Limits{});
    const int fd =
        given.listening_fd >= 0 ? given.listening_fd : open_listener(given.address, given.port);
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    state_->port =
        ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                            : reinterpret_cast<sockaddr_in&>(address).sin_port);
    const auto shared_home =
        std::make_shared<const Home>(Home{home, std::move(handler), given.gate});
    for (int i = 0; i < given.threads; ++i) {
        auto crew = std::make_unique<Crew>();
        crew->rules = std::make_shared<const Rules>(Rules{
            shared_home, crew->mailbox, given.body_limit, given.header_limit, given.streams_at_once,
            given.streamed_body, given.request_timeout, given.idle_timeout});
        crew->loop.post([crew = crew.get()] { crew->tick(); });
        state_->crews.push_back(std::move(crew));
    }
    add_listener(fd);
    for (std::size_t i = 0; i < state_->crews.size(); ++i)
        state_->crews[i]->loop.start("net-" + std::to_string(i));
}

Server::~Server() {
    stop();
}

int Server::port() const {
    return state_->port;
}

void Server::add_listener(int fd) {
    state_->crews.front()->loop.post([state = state_.get(), fd] { state->watch_listener(fd); });
}

void Server::renew(const ServerTls& tls) {
    VERIFY(state_->options.tls.has_value());
    std::shared_ptr<SSL_CTX> context = server_context(tls);
    state_->crews.front()->loop.post(
        [state = state_.get(), context = std::move(context)]() mutable {
            state->tls = std::move(context);
        });
}

void Server::State::watch_listener(int fd) {
    listeners[fd] = crews.front()->loop.watch(fd, {.read = true, .write = false},
                                              [this, fd](AsioLoop::Interest) { accept_some(fd); });
}

void Server::State::accept_some(int fd) {
    for (int i = 0; i < 64; ++i) {
        sockaddr_storage from{};
        socklen_t size = sizeof from;
        const int connection =
            accept4(fd, reinterpret_cast<sockaddr*>(&from), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (connection >= 0) {
            accepted(connection, from);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            AsioLoop& loop = crews.front()->loop;
            log_warning(
                "net", "no more connections can be accepted: " + std::string(std::strerror(errno)));
            loop.change(listeners.at(fd), {});
            make_room(Want::descriptors);
            loop.after(breath, [this, fd, &loop] {
                const auto at = listeners.find(fd);
                if (at != listeners.end()) loop.change(at->second, {.read = true, .write = false});
            });
        }
        return;
    }
}

/// Nobody who has said who it is, or is about to, finds all connections taken by others.
void Server::State::make_room(Want want) {
    const std::size_t known = options.ledger->known_connections();
    const std::size_t all = connections;
    const std::size_t anonymous = all > known ? all - known : 0;
    const std::size_t count = 1 + options.anonymous_limit / shed_part / crews.size();
    if (anonymous >= options.anonymous_limit || (want == Want::descriptors && anonymous > 0) ||
        (all >= options.connection_limit && anonymous > options.anonymous_limit / 2)) {
        for (const auto& crew : crews)
            crew->loop.post([crew = crew.get(), count] { crew->shed_anonymous(count); });
    } else if (all >= options.connection_limit) {
        for (const auto& crew : crews)
            crew->loop.post([crew = crew.get(), count] { crew->shed_largest(count); });
    }
}

void Server::State::accepted(int fd, const sockaddr_storage& from) {
    if (!making_room &&
        (connections >= options.connection_limit ||
         connections - std::min<std::size_t>(connections, options.ledger->known_connections()) >=
             options.anonymous_limit)) {
        making_room = true;
        make_room(Want::connections);
        // Those that are closed leave on their own loops; until then they are not asked again.
        crews.front()->loop.after(milliseconds(10), [this] { making_room = false; });
    }
    // While room is being made, a few more are taken in.
    if (connections >= options.connection_limit + options.connection_limit / shed_part) {
        ::close(fd);
        return;
    }
    ++connections;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    Crew& crew = *crews[next_crew++ % crews.size()];
    std::string address = address_text(from);
    if (crews.size() == 1) return open(crew, tls.get(), fd, std::move(address));
    crew.loop.post([this, &crew, context = tls, fd, address = std::move(address)] {
        open(crew, context.get(), fd, address);
    });
}

void Server::State::open(Crew& crew, SSL_CTX* context, int fd, std::string address) {
    Peer peer;
    const std::string host = address.substr(0, address.rfind(':'));
    peer.address = std::move(address);
    peer.standing =
        std::make_shared<Standing>(options.ledger, options.ledger->account("address " + host));
    TlsPtr connection = context != nullptr ? accept_over(context, fd) : nullptr;
    const std::uint64_t id = crew.next_wire++;
    auto wire = std::make_unique<Wire>(crew.loop, fd, std::move(connection), std::move(peer),
                                       make_server_session(crew.rules), [this, &crew, id] {
                                           crew.wires.erase(id);
                                           --connections;
                                       });
    Wire& started = *wire;
    crew.wires.emplace(id, std::move(wire));
    started.start(handshake_timeout);
    if (crew.leaving) started.close("the server stops");
}

/// Asks the connections of one thread to come to an end.
void Server::State::leave(Crew& crew) {
    crew.leaving = true;
    if (&crew == crews.front().get()) {
        for (const auto& [fd, watch] : std::exchange(listeners, {})) {
            crew.loop.unwatch(watch);
            ::close(fd);
        }
    }
    for (auto& [id, wire] : crew.wires)
        session_on(*wire).go_away();
}

void Server::stop(Duration grace) {
    if (std::exchange(state_->stopped, true)) return;
    for (const auto& crew : state_->crews)
        crew->loop.post([this, crew = crew.get()] { state_->leave(*crew); });
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::nanoseconds(grace.nanoseconds);
    while (state_->connections > 0 && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (const auto& crew : state_->crews) {
        std::promise<void> done;
        crew->loop.post([crew = crew.get(), &done] {
            for (auto& [id, wire] : crew->wires)
                wire->close("the server stops");
            crew->wires.clear();
            done.set_value();
        });
        done.get_future().wait();
        crew->mailbox->close();
        crew->loop.stop();
    }
}

}  // namespace muster::net
