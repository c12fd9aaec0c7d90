// apps/operator/webhook_keys.h - keeps the certificates of the webhooks in their Secret: makes
// them, renews them, and tells of those that another replica has made.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/loop.h"
#include "control/webhooks/keys.h"
#include "kube/transport.h"

namespace muster::on_cluster {

/// Every replica keeps the Secret, whoever comes first, also one that does not lead: a follower
/// serves webhooks too. A write names the version that it was decided of, so a late one fails; a
/// conflict is read again. Lives on one loop.
class WebhookKeys {
public:
    using Keys = control::webhooks::Keys;
    using OnKeys = std::function<void(const Keys& keys)>;

    /// `on_keys` is told the first keys and each that follow, later.
    WebhookKeys(kube::Transport& transport, Loop& loop, const control::webhooks::Address& address,
                std::string secret, OnKeys on_keys);

    void start() { ask(); }
    /// Those in use; absent until there are some.
    const std::optional<Keys>& held() const { return held_; }

private:
    void ask();
    void take(const net::Response& response);
    void write(const Keys& keys, const api::Value& present);
    void adopt(const Keys& keys);
    void again(Duration wait);
    void complain(const std::string& what, const net::Response& response);

    kube::Transport& transport_;
    Loop& loop_;
    std::string ns_;
    std::string secret_;
    net::Subject subject_;
    OnKeys on_keys_;
    std::optional<Keys> held_;
    std::string told_;  // The complaint that was logged last.
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::on_cluster
