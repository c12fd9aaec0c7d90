// apps/operator/webhooks.h - the webhooks of a running operator: an HTTPS server that every replica
// has, its certificates, and, for the leader, what tells the cluster of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/operator/webhook_keys.h"
#include "apps/operator/webhook_publisher.h"
#include "apps/up/listen.h"
#include "control/seen.h"
#include "control/webhooks/review.h"
#include "net/asio_loop.h"
#include "net/server.h"

namespace muster::on_cluster {

/// What the command line says of the webhooks.
struct WebhookOptions {
    enum class Wish { as_fits, on, off };
    Wish wish = Wish::as_fits;  // As fits: in a pod, or when there is a URL.
    std::string listen = "0.0.0.0:9443";
    std::string service = "muster-system/muster-webhook-service";  // NAMESPACE/NAME
    std::string url;                                               // Instead of the service.
    std::string secret = "muster-webhook-server-cert";             // In the service's namespace.
    std::string owner;  // A ClusterRole with which their configurations go; empty: they stay.
};

/// They are wanted where an API server can reach them. In a pod: `in_cluster`.
bool wants_webhooks(const WebhookOptions& options, bool in_cluster);

/// Serves reviews and conversions from the moment there are certificates. Reviews wait until
/// namespaces and LocalQueues are seen. Lives on the operator's loop.
class Webhooks {
public:
    /// What the cluster is told goes over `leaders`, for who leads no more must not tell it what an
    /// older version wanted. Throws Error in words for the user when an option cannot be used.
    Webhooks(kube::Transport& transport, kube::Transport& leaders, net::AsioLoop& loop,
             const WebhookOptions& options, const control::queue::JobRules& rules,
             net::TlsLimits limits);

    void start();
    /// This one is the leader: it tells the cluster.
    void lead();

    /// Why it does not answer reviews; empty: it does.
    std::string problem() const;
    /// Of what it has to know nothing is heard now, and why: it answers by what it has seen.
    std::vector<control::Trouble> troubles() const { return seen_.troubles(); }
    /// It has told the cluster all that it must hear.
    bool is_published() const { return publisher_.is_published(); }

private:
    /// A review under way.
    struct Pending {
        const control::webhooks::Webhook* webhook = nullptr;
        Bytes body;
        std::shared_ptr<net::Responder> responder;
        control::webhooks::Answers answers{};
        std::size_t unanswered = 0;
        int rounds = 0;
        std::string failure{};  // Of a question.
    };

    void use(const WebhookKeys::Keys& keys);
    void take(const net::Request& request, std::shared_ptr<net::Responder> responder);
    void answer(const std::shared_ptr<Pending>& pending);
    void ask(const std::shared_ptr<Pending>& pending, const control::webhooks::Reviewed& reviewed);
    void answer_waiting();

    kube::Transport& transport_;
    net::AsioLoop& loop_;
    up::Listen listen_;
    net::TlsLimits limits_;
    control::webhooks::Address address_;
    control::webhooks::Reviewer reviewer_;
    control::Seen seen_;
    WebhookKeys keys_;
    WebhookPublisher publisher_;
    std::unique_ptr<net::Server> server_;
    std::vector<std::shared_ptr<Pending>> waiting_;  // For what must be seen first.
    bool leading_ = false;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::on_cluster
