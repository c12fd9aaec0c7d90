// agent/node_service.h - what the API server asks of the node, served on the agent's loop.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "agent/agent_state.h"
#include "agent/log_query.h"
#include "agent/way_back.h"
#include "net/client.h"

namespace muster::agent {

/// Which container a request means, and where its logs are.
struct Chosen {
    std::string ns;
    std::string uid;
    std::string container;
    std::string directory;  // The pod's.
    int attempt = -1;
    bool running = false;
    bool has_input = false;     // stdin
    bool input_once = false;    // stdinOnce
    bool has_terminal = false;  // tty
};

/// Finds the container that a request names. Throws Error with the kubelet's words.
Chosen choose_container(Agent::State& state, const std::string& ns, const std::string& pod,
                        const std::string& container);

/// Takes `count` descriptors of the namespace's share for a stream to one of its pods. Throws Error
/// when it has its share already.
std::shared_ptr<void> take_stream(Agent::State& state, const std::string& ns, std::size_t count);

/// Sends a log, and what comes while it is followed. On the agent's loop.
void send_log(std::shared_ptr<Agent::State> state, const LogQuery& query, const Chosen& chosen,
              std::shared_ptr<WayBack> back);

/// Runs a command in a container over a WebSocket. On the agent's loop.
void run_exec(std::shared_ptr<Agent::State> state, const net::Request& request,
              const Chosen& chosen, const std::shared_ptr<WayBack>& back);

/// Sends what a container writes from now on. On the agent's loop.
void run_attach(std::shared_ptr<Agent::State> state, const net::Request& request,
                const Chosen& chosen, const std::shared_ptr<WayBack>& back);

/// Carries connections to ports of a pod over a WebSocket. On the agent's loop.
void run_port_forward(std::shared_ptr<Agent::State> state, const net::Request& request,
                      const std::string& ns, const std::string& ip,
                      const std::shared_ptr<WayBack>& back);

/// The first of the client's subprotocols that is known here; empty when there is none.
std::string choose_protocol(const net::Request& request,
                            std::initializer_list<std::string_view> known);

}  // namespace muster::agent
