// agent/agent.h - the node's side: runs the pods of the declared nodes as processes of this
// machine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/host_path.h"
#include "agent/network.h"
#include "base/loop.h"
#include "kube/transport.h"
#include "net/asio_loop.h"
#include "net/client.h"
#include "net/http.h"

namespace muster::agent {

/// One node as the administrator declares it: `--node NAME:cpu=8,memory=8Gi,pods=110`.
struct NodeDeclaration {
    std::string name;
    std::vector<std::pair<std::string, std::string>> capacity;  // Resource name, quantity.
    std::vector<std::pair<std::string, std::string>> labels;    // Beside the usual ones.
};

/// Reads "NAME:cpu=8,memory=8Gi,label.zone=a". Throws Error (bad_request) that names what is wrong.
/// Without pods=, 110 pods.
NodeDeclaration parse_node_declaration(const std::string& text);

/// Which images stand for which environment of this machine. Images are never pulled.
struct ImageMapping {
    std::string pattern;      // Image name without registry defaults; * matches any characters.
    std::string environment;  // A folder whose bin/ comes first in PATH; empty: the machine as it
                              // is.
    std::vector<std::pair<std::string, std::string>> variables;  // Set before the pod's own.
    std::vector<std::string> command = {};  // The image's entry point: before the pod's args.
    std::vector<std::string> args = {};     // Used when the pod names neither command nor args.
};

/// Plain base images (busybox, alpine, debian, ubuntu, python, ...) run on the machine as it is.
std::vector<ImageMapping> usual_images();

/// The images that contain Ray, mapped to a Python environment that has the matching Ray.
std::vector<ImageMapping> ray_images(const std::string& environment);

struct Options {
    std::string data_directory;  // Absolute. The agent's part is below "agent/".
    std::vector<NodeDeclaration> nodes;
    std::vector<ImageMapping> images = usual_images();  // The first that matches counts.
    std::vector<HostPath> host_paths;                   // No other can be mounted.
    std::int64_t pids_limit = 4096;                     // Of a pod, threads included.
    std::string certificate_authority_pem;              // What pods find as ca.crt.
    std::string version = "v1.36.0";                    // kubeletVersion in the Node objects.
    /// The pods' network had to be made anew: what listened in it must listen again.
    std::function<void()> network_renewed = [] {};
};

/// What the API server asks of a node, with the methods of apiserver::Node (apps/ adapts it: the
/// agent may not use apiserver/). Called on `caller`, the loop whose thread owns the responders.
class NodeService {
public:
    virtual ~NodeService() = default;
    virtual void logs(const net::Request& request, const std::string& ns, const std::string& pod,
                      std::shared_ptr<net::Responder> responder) = 0;
    virtual void stream(const net::Request& request, const std::string& verb, const std::string& ns,
                        const std::string& pod, std::shared_ptr<net::Responder> responder) = 0;
    virtual void proxy(net::Request request, net::Target target,
                       std::shared_ptr<net::Responder> responder) = 0;
};

/// The agent. Lives on `loop`; construct, start and stop it there or before the loop runs. The
/// order in `muster up`: run_hidden_verb first in main; Network::open before anything else of
/// `up`; then the server, with `network.listen(api_service_address, 443)` as a further listener;
/// then the agent.
class Agent {
public:
    Agent(Options options, Network& network, net::AsioLoop& loop, kube::Transport& transport);
    ~Agent();
    Agent(const Agent&) = delete;
    Agent& operator=(const Agent&) = delete;

    /// Adopts what still runs, declares the nodes, then follows the API.
    void start();

    /// Lets go of the pods without ending them: a later start with the same data adopts them, else
    /// they end by themselves after ten minutes.
    void stop();

    /// Ends every pod (a clean stop of `muster up`): preStop hooks run, and each has its grace
    /// period, but `most` at most. `done` runs on the loop when no process is left.
    void end_all(Duration most, std::function<void()> done);

    /// The service for the API server, whose responders live on `caller`.
    std::unique_ptr<NodeService> make_service(Loop& caller);

    struct State;  // The agent's own parts; see agent_state.h.

private:
    std::shared_ptr<State> state_;
};

}  // namespace muster::agent
