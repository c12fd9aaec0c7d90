// apps/operator/webhook_publisher.h - keeps the cluster's configuration of the webhooks: what asks
// them, where they are, and whom to believe. For the leader.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/loop.h"
#include "control/webhooks/configuration.h"
#include "kube/request.h"
#include "kube/transport.h"

namespace muster::on_cluster {

/// Looks every few seconds whether the two configurations and the CRDs of the converted kinds say
/// what they must, and writes what does not. Reads whole objects only when they have changed. Lives
/// on one loop.
class WebhookPublisher {
public:
    WebhookPublisher(kube::Transport& transport, Loop& loop, control::webhooks::Address address,
                     const std::vector<control::webhooks::Webhook>& webhooks,
                     const control::queue::JobRules& rules, std::string owner);

    /// From now on these authorities are to be believed; the first time it starts.
    void publish(const std::string& authorities);

    /// The configurations have said what they must once; CRDs that are not there may come later.
    bool is_published() const { return published_; }

private:
    /// One object that has to say something.
    struct Item {
        kube::Target target;
        std::string name;
        std::function<void(const api::Value& present)> correct;  // Null: there is none.
        std::string good_at{};  // The resourceVersion at which it was as it must be.
    };

    void add_configuration(control::webhooks::Phase phase, const char* plural);
    void add_conversion(const api::GroupResource& resource);
    void begin_round();
    void begin_after(Duration pause);
    void look_at_owner();
    void take_owner(const net::Response& response);
    void look_at_next();
    void look_whole();
    void take(const net::Response& response);
    void is_good(const api::Value& present);
    void send(net::Request request);
    void next();
    void complain(const std::string& name, const std::string& text);

    kube::Transport& transport_;
    Loop& loop_;
    control::webhooks::Address address_;
    std::vector<control::webhooks::Webhook> webhooks_;
    control::queue::JobRules rules_;
    std::string owner_;      // A ClusterRole; empty: nobody owns the configurations.
    std::string owner_uid_;  // As last seen.
    std::string authorities_;
    std::vector<Item> items_;
    std::size_t at_ = 0;       // The item that is being looked at; beyond the last: none.
    bool round_good_ = false;  // So far.
    bool started_ = false;
    bool changed_ = false;  // The authorities, while a round was under way.
    bool published_ = false;
    std::map<std::string, std::string> told_;  // By name of the object: what is wrong with it.
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::on_cluster
