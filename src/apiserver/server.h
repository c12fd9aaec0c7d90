// apiserver/server.h - the Kubernetes REST surface over the store: a request value in, an answer
// out.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/admission.h"
#include "api/builtin/pod_security_config.h"
#include "apiserver/event_bounds.h"
#include "apiserver/object_bounds.h"
#include "base/loop.h"
#include "base/metrics.h"
#include "base/random.h"
#include "net/client.h"
#include "net/http.h"
#include "store/store.h"

namespace muster::apiserver {

class WebhookCaller;

/// What the server asks of a node: logs, exec, port-forward and connections to pods. The agent is
/// behind it.
class Node {
public:
    virtual ~Node() = default;
    /// GET .../pods/NAME/log, with its query (container, follow, tailLines, previous, timestamps,
    /// sinceSeconds, limitBytes).
    virtual void logs(const net::Request& request, const std::string& ns, const std::string& pod,
                      std::shared_ptr<net::Responder> responder) = 0;
    /// .../exec, .../attach and .../portforward; the responder is upgraded by the node.
    virtual void stream(const net::Request& request, const std::string& verb, const std::string& ns,
                        const std::string& pod, std::shared_ptr<net::Responder> responder) = 0;
    /// Sends an HTTP request, upgrades included, to an address inside the pods' network (pod and
    /// service proxies). Responds with status 0 and the reason when nothing answers there.
    virtual void proxy(net::Request request, net::Target target,
                       std::shared_ptr<net::Responder> responder) = 0;
};

/// A bearer token that is known from the start, and whose it is.
struct StaticToken {
    std::string token;
    std::string user;                 // "system:admin"
    std::vector<std::string> groups;  // {"system:masters"}; system:authenticated is added.
};

/// What the server is made with.
struct Options {
    Random random{0};                       // Seeded by the caller; uids, generated names.
    std::string service_account_key_pem;    // Private EC key that signs service account tokens.
    std::string certificate_authority_pem;  // Goes into the Secrets of service accounts.
    std::string issuer = "https://kubernetes.default.svc.cluster.local";
    std::vector<StaticToken> static_tokens;
    std::string service_cidr = "10.96.0.0/12";   // Where ClusterIPs come from; .1 is `kubernetes`.
    int secure_port = 6443;                      // The port behind the service `kubernetes`.
    std::string advertise_address;               // Where pods reach the server; empty: not said.
    api::PodSecurityConfiguration pod_security;  // Of namespaces without labels; who is exempt.
    std::shared_ptr<Metrics> metrics;            // What /metrics tells; null: the server's own.
    std::size_t watch_buffer_limit = 8 << 20;    // A watcher that lags by more bytes is ended.
    /// What all watchers together have not taken, of events that differ; then the slowest are
    /// ended.
    std::size_t watch_backlog_limit = 64 << 20;
    EventBounds event_bounds;
    ObjectBounds object_bounds;
};

/// The server. Lives on one loop; requests, timers and store callbacks all arrive there.
class Server {
public:
    Server(store::Store& store, Loop& loop, Options options);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Answers a request, now or when its write is durable.
    void handle(net::Request request, std::shared_ptr<net::Responder> responder);

    /// Decides by a request's head whether its body is to be read: who asks, and whether it may.
    void admit(net::Request head, const std::function<void(net::Verdict)>& decided);

    /// Where logs, exec and proxies go; without it they answer 503. The node must outlive the
    /// server.
    void set_node(Node* node);

    /// The way to the webhooks that users configure; without it none can be called. It must outlive
    /// the server.
    void set_webhook_caller(WebhookCaller* caller);

    /// Adds an admission function; they run in the order added, mutations of one are seen by the
    /// next.
    void add_admission(api::AdmissionHook hook);

    /// Adds a check of who may act inside pods (exec, attach), beside their rights to that. It
    /// gives why not, or an empty text.
    using ConnectionCheck = std::function<std::string(const std::vector<std::string>& groups)>;
    void add_connection_check(ConnectionCheck check);

    /// Answers GET .../NAME/SUBRESOURCE of a kind with a function's value (for example
    /// workloads/why), with the caller's rights on that subresource.
    /// It responds on the server's loop, now or later.
    using Answer = std::function<void(const net::Request& request, const api::Key& key,
                                      std::shared_ptr<net::Responder> responder)>;
    void add_answer(api::GroupResource resource, std::string subresource, Answer answer);

    /// What is only looked at: GET .../NAME/SUBRESOURCE in a group of its own, of which nothing is
    /// kept. Clients find it in discovery, and need the right to `get` RESOURCE/SUBRESOURCE.
    struct View {
        api::GroupResource resource;
        std::vector<std::string> versions;  // The preferred first.
        enum class Scope { cluster, namespaced };
        Scope scope = Scope::cluster;
        std::string singular;
        std::string kind;  // Of the resource itself.
        std::string subresource;
        std::string answer_kind;
        Answer answer;
    };
    void add_view(View view);

    /// Creates what every cluster has: system namespaces, default roles and bindings, priority
    /// classes, the kubernetes service. Repeatable. `done` when durable.
    void bootstrap(std::function<void()> done);

    /// Ends all watches and streams.
    void stop();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace muster::apiserver
