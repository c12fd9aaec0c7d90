// agent/port_forward.cpp - connections to ports of a pod, carried over a WebSocket: kubectl's way
// (SPDY frames) and the older one of other clients (two channels a port).
#include <map>
#include <vector>

#include "agent/node_service.h"
#include "agent/spdy.h"
#include "agent/tunnel.h"
#include "base/text.h"

namespace muster::agent {

namespace {

constexpr const char* kSpdyProtocol = "SPDY/3.1+portforward.k8s.io";
constexpr std::size_t kBufferLimit = 1 << 20;
constexpr std::size_t kPiece = 16 << 10;
/// Connections of one port-forward at once; each takes a descriptor of the server.
constexpr std::size_t kTunnelsMax = 500;
constexpr std::size_t kRequestIdMax = 64;  // kubectl counts from 0.

std::string failure_text(int port, const std::string& problem) {
    return "error forwarding port " + std::to_string(port) + ": " + problem;
}

/// One kubectl port-forward: many connections, each an error stream and a data stream.
class SpdyForward : public std::enable_shared_from_this<SpdyForward> {
public:
    SpdyForward(std::shared_ptr<Agent::State> state, std::shared_ptr<ChannelBack> channel,
                std::string ns, std::string ip)
        : state_(std::move(state)),
          channel_(std::move(channel)),
          ns_(std::move(ns)),
          ip_(std::move(ip)) {}

    void take(const std::string& message) {
        const std::size_t before = spdy_.held();
        std::size_t passed_on = 0;
        try {
            // In pieces: each frame takes a multiple of its few bytes.
            for (std::size_t at = 0; at < message.size(); at += kPiece)
                for (const SpdyEvent& event :
                     spdy_.take(std::string_view(message).substr(at, kPiece)))
                    passed_on += take(event);
        } catch (const Error&) {
            end();
            channel_->close();
        }
        // What tunnels have got they tell themselves.
        channel_->taken(before + message.size() - spdy_.held() - passed_on);
    }

    void end() {
        for (auto& [stream, tunnel] : tunnels_)
            tunnel->close();
        tunnels_.clear();
    }

private:
    /// How many bytes a tunnel has got.
    std::size_t take(const SpdyEvent& event) {
        switch (event.kind) {
            case SpdyEvent::Kind::opened:
                open(event);
                return 0;
            case SpdyEvent::Kind::ping:
                channel_->send(Spdy::ping(event.stream));
                return 0;
            case SpdyEvent::Kind::going_away:
                return 0;
            case SpdyEvent::Kind::reset:
                if (const auto tunnel = tunnels_.extract(event.stream)) tunnel.mapped()->close();
                return 0;
            case SpdyEvent::Kind::data:
                break;
        }
        const auto at = tunnels_.find(event.stream);
        if (at == tunnels_.end()) return 0;
        const std::shared_ptr<Tunnel> tunnel = at->second;
        if (!event.data.empty()) tunnel->write(event.data);
        if (event.last) tunnel->end_input();
        return event.data.size();
    }

    void open(const SpdyEvent& event) {
        const auto header = [&event](const char* name) {
            const auto found = event.headers.find(name);
            return found == event.headers.end() ? std::string() : found->second;
        };
        const std::string request = header("requestid");
        if (tunnels_.size() >= kTunnelsMax || error_streams_.size() >= 2 * kTunnelsMax ||
            request.size() > kRequestIdMax || tunnels_.contains(event.stream))
            return channel_->send(Spdy::reset(event.stream));
        channel_->send(spdy_.reply(event.stream));
        if (header("streamtype") == "error") {
            error_streams_[request] = event.stream;
            return;
        }
        const int port = static_cast<int>(parse_integer(header("port")).value_or(0));
        const std::uint32_t stream = event.stream;
        TunnelEvents told;
        told.bytes = [this, stream](std::string_view bytes) {
            channel_->send(Spdy::data(stream, bytes, Spdy::Last::no));
        };
        told.may_read = [this] { return channel_->buffered() < kBufferLimit; };
        told.taken = [channel = channel_](std::size_t bytes) { channel->taken(bytes); };
        told.ended = [weak = weak_from_this(), stream, request, port](const std::string& problem) {
            if (const auto self = weak.lock()) self->close_streams(stream, request, port, problem);
        };
        auto tunnel = std::make_shared<Tunnel>(state_->loop, std::move(told));
        try {
            tunnel->hold(take_stream(*state_, ns_, 1));
        } catch (const Error& error) {
            return close_streams(stream, request, port, error.what());
        }
        tunnels_[stream] = tunnel;
        tunnel->open(state_->network, ip_, port);
    }

    void close_streams(std::uint32_t stream, const std::string& request, int port,
                       const std::string& problem) {
        // The tunnel is telling this itself: it goes when it has returned.
        state_->loop.post([self = shared_from_this(), stream] { self->tunnels_.erase(stream); });
        const auto error = error_streams_.extract(request);
        if (!error.empty())
            channel_->send(Spdy::data(error.mapped(),
                                      problem.empty() ? "" : failure_text(port, problem),
                                      Spdy::Last::yes));
        channel_->send(Spdy::data(stream, "", Spdy::Last::yes));
    }

    std::shared_ptr<Agent::State> state_;
    std::shared_ptr<ChannelBack> channel_;
    std::string ns_;
    std::string ip_;
    Spdy spdy_;
    std::map<std::string, std::uint32_t> error_streams_;
    std::map<std::uint32_t, std::shared_ptr<Tunnel>> tunnels_;
};

/// One connection for each port of the request; channel 2i carries data, 2i+1 errors.
class ChannelForward : public std::enable_shared_from_this<ChannelForward> {
public:
    ChannelForward(std::shared_ptr<Agent::State> state, std::shared_ptr<ChannelBack> channel)
        : state_(std::move(state)), channel_(std::move(channel)) {}

    void hold(std::shared_ptr<void> ticket) { ticket_ = std::move(ticket); }

    void start(const std::string& ip, const std::vector<int>& ports) {
        for (std::size_t i = 0; i < ports.size(); ++i) {
            const int port = ports[i];
            const auto data = static_cast<char>(2 * i);
            const auto error = static_cast<char>(2 * i + 1);
            const std::string number{static_cast<char>(port & 0xff), static_cast<char>(port >> 8)};
            channel_->send(data + number);
            channel_->send(error + number);
            TunnelEvents told;
            told.bytes = [this, data](std::string_view bytes) {
                channel_->send(data + std::string(bytes));
            };
            told.may_read = [this] { return channel_->buffered() < kBufferLimit; };
            told.taken = [channel = channel_](std::size_t bytes) { channel->taken(bytes); };
            told.ended = [weak = weak_from_this(), error, port](const std::string& problem) {
                const auto self = weak.lock();
                if (!self) return;
                if (!problem.empty()) self->channel_->send(error + failure_text(port, problem));
                if (--self->open_ == 0) self->channel_->close();
            };
            ++open_;
            tunnels_.push_back(std::make_shared<Tunnel>(state_->loop, std::move(told)));
        }
        const std::vector<std::shared_ptr<Tunnel>> opened = tunnels_;
        for (std::size_t i = 0; i < opened.size(); ++i)
            opened[i]->open(state_->network, ip, ports[i]);
    }

    void take(const std::string& message) {
        const std::size_t number = message.empty() ? 1 : static_cast<unsigned char>(message[0]);
        if (number % 2 != 0 || number / 2 >= tunnels_.size())
            return channel_->taken(message.size());
        channel_->taken(1);
        tunnels_[number / 2]->write(std::string_view(message).substr(1));
    }

    void end() {
        for (const auto& tunnel : tunnels_)
            tunnel->close();
        tunnels_.clear();
    }

private:
    std::shared_ptr<Agent::State> state_;
    std::shared_ptr<ChannelBack> channel_;
    std::vector<std::shared_ptr<Tunnel>> tunnels_;
    std::shared_ptr<void> ticket_;  // Of their descriptors.
    int open_ = 0;
};

std::vector<int> ports_of(const net::Request& request) {
    std::vector<int> ports;
    for (const auto& [name, value] : request.query) {
        if (name != "ports") continue;
        for (const std::string_view part : split(value, ',')) {
            const auto port = parse_integer(part);
            if (!port || *port < 1 || *port > 65535)
                throw Error(Reason::bad_request,
                            "ports: \"" + std::string(part) + "\" is no port (1 to 65535)");
            ports.push_back(static_cast<int>(*port));
        }
    }
    if (ports.empty() || ports.size() > 100)
        throw Error(Reason::bad_request, "name 1 to 100 ports in the query, as ?ports=8265");
    return ports;
}

/// Hands the session what arrives.
template <typename Session>
void join(const std::shared_ptr<Agent::State>& state, const std::shared_ptr<ChannelBack>& channel,
          const std::shared_ptr<Session>& session) {
    channel->listen(
        state->loop, [session](const std::string& message) { session->take(message); },
        [session] { session->end(); });
}

}  // namespace

void run_port_forward(std::shared_ptr<Agent::State> state, const net::Request& request,
                      const std::string& ns, const std::string& ip,
                      const std::shared_ptr<WayBack>& back) {
    const std::string protocol =
        choose_protocol(request, {kSpdyProtocol, "v4.channel.k8s.io", "portforward.k8s.io"});
    if (protocol.empty())
        throw Error(Reason::bad_request, "port-forward needs a WebSocket with subprotocol " +
                                             std::string(kSpdyProtocol) +
                                             " (kubectl 1.31 or newer)");
    const bool spdy = protocol == kSpdyProtocol;
    const std::vector<int> ports = spdy ? std::vector<int>{} : ports_of(request);
    const auto ticket = spdy ? nullptr : take_stream(*state, ns, ports.size());
    back->upgrade(protocol, [=](const std::shared_ptr<net::Channel>& raw) {
        if (!raw) return back->refuse(Reason::bad_request, "Upgrade request required");
        auto channel = std::make_shared<ChannelBack>(back->caller(), raw);
        if (spdy)
            return join(state, channel, std::make_shared<SpdyForward>(state, channel, ns, ip));
        auto session = std::make_shared<ChannelForward>(state, channel);
        session->hold(ticket);
        join(state, channel, session);
        state->loop.post([session, ip, ports] { session->start(ip, ports); });
    });
}

}  // namespace muster::agent
