// agent/port_forward.cpp - connections to ports of a pod, carried over a WebSocket.
#include "agent/node_service.h"

namespace muster::agent {

void run_port_forward(std::shared_ptr<Agent::State>, const net::Request&, const std::string&,
                      const std::shared_ptr<WayBack>&) {
    throw Error(Reason::service_unavailable,
                "port-forward is not available yet; use the service "
                "proxy (kubectl proxy) instead");
}

}  // namespace muster::agent
