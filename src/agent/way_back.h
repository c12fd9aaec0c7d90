// agent/way_back.h - answers from the agent's loop to a responder that lives on another one.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/loop.h"
#include "net/http.h"

namespace muster::agent {

/// Hands over each call. Used on the agent's loop; made on the caller's.
class WayBack : public std::enable_shared_from_this<WayBack> {
public:
    WayBack(Loop& caller, std::shared_ptr<net::Responder> responder)
        : caller_(caller), responder_(std::move(responder)) {}

    void respond(net::Response response);
    /// A Status object with the words of Kubernetes.
    void refuse(Reason reason, const std::string& message);
    void begin(net::Response head);
    void write(std::string text);
    void finish();

    /// Accepts the WebSocket on the caller's loop; `ready` runs there, with null when the request
    /// asked for none.
    void upgrade(std::string protocol, std::function<void(std::shared_ptr<net::Channel>)> ready);

    /// Runs `handler` on the caller's loop when the client is gone. Call it there.
    void watch_client();
    Loop& caller() const { return caller_; }
    bool client_gone() const { return gone_; }
    /// Bytes handed over and not yet taken by the client, as far as it is known; asks anew.
    std::size_t buffered();

private:
    Loop& caller_;
    std::shared_ptr<net::Responder> responder_;
    std::atomic<bool> gone_ = false;
    std::atomic<std::size_t> posted_ = 0;
    std::atomic<std::size_t> waiting_ = 0;
    std::atomic<bool> asking_ = false;
};

/// The same for an upgraded connection.
class ChannelBack : public std::enable_shared_from_this<ChannelBack> {
public:
    ChannelBack(Loop& caller, std::shared_ptr<net::Channel> channel)
        : caller_(caller), channel_(std::move(channel)) {}

    void send(std::string message);
    void close();
    std::size_t buffered();

    /// So much of what arrived has been passed on, or is of no use. The client is read no further
    /// while much has not.
    void taken(std::size_t bytes) { *untaken_ -= bytes; }

    /// On the caller's loop: what arrives is handed to `agent`'s, where all of it must be `taken`
    /// in the end.
    void listen(Loop& agent, std::function<void(std::string)> on_message,
                std::function<void()> on_closed);

private:
    Loop& caller_;
    std::shared_ptr<net::Channel> channel_;
    std::shared_ptr<std::atomic<std::size_t>> untaken_ =
        std::make_shared<std::atomic<std::size_t>>(0);
    std::atomic<std::size_t> posted_ = 0;
    std::atomic<std::size_t> waiting_ = 0;
    std::atomic<bool> asking_ = false;
};

}  // namespace muster::agent
