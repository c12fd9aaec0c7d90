// apps/operator/webhook_keys.cpp - rounds of reading and writing the Secret.
#include "apps/operator/webhook_keys.h"

#include <utility>

#include "base/log.h"
#include "kube/request.h"
#include "kube/while_alive.h"

namespace muster::on_cluster {
namespace {

using control::webhooks::Keys;

const kube::Target secrets{{"", "secrets"}, "v1"};
constexpr Duration round = seconds(10);
constexpr Duration soon = seconds(1);

}  // namespace

WebhookKeys::WebhookKeys(kube::Transport& transport, Loop& loop,
                         const control::webhooks::Address& address, std::string secret,
                         OnKeys on_keys)
    : transport_(transport),
      loop_(loop),
      ns_(address.service_namespace),
      secret_(std::move(secret)),
      subject_(control::webhooks::subject_of(address)),
      on_keys_(std::move(on_keys)) {}

void WebhookKeys::ask() {
    transport_.send(
        kube::get(secrets, ns_, secret_),
        kube::while_alive(alive_, [this](const net::Response& response) { take(response); }));
}

void WebhookKeys::take(const net::Response& response) {
    if (response.status != 200 && response.status != 404) {
        complain("cannot be read", response);
        return again(soon);
    }
    const api::Value present = response.status == 200 ? kube::body_of(response) : api::Value();
    const Keys seen = control::webhooks::keys_in(present);
    const auto better = control::webhooks::renewed(seen, held_, subject_, loop_.now());
    if (better) return write(*better, present);
    adopt(seen);
    again(round);
}

void WebhookKeys::write(const Keys& keys, const api::Value& present) {
    const api::Value secret = control::webhooks::secret_with(keys, present, ns_, secret_);
    const api::Key key{secrets.resource, ns_, secret_};
    net::Request request = present.is_null() ? kube::create(secrets, ns_, secret_, "", secret)
                                             : kube::update(secrets, key, "", secret);
    transport_.send(
        std::move(request), kube::while_alive(alive_, [this, keys](const net::Response& response) {
            const bool written = response.status == 200 || response.status == 201;
            if (written) {
                log_info("webhooks", "certificates written to the Secret " + ns_ + "/" + secret_);
                adopt(keys);
            } else if (response.status != 409) {
                complain("cannot be written", response);
            }
            // After a conflict: somebody else was quicker.
            again(written ? round : soon);
        }));
}

void WebhookKeys::adopt(const Keys& keys) {
    told_.clear();
    const bool same = held_ && held_->authorities == keys.authorities &&
                      held_->serving.certificate_pem == keys.serving.certificate_pem;
    held_ = keys;
    if (!same) on_keys_(keys);
}

void WebhookKeys::again(Duration wait) {
    loop_.after(wait, [this, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) ask();
    });
}

void WebhookKeys::complain(const std::string& what, const net::Response& response) {
    const std::string text = "the Secret " + ns_ + "/" + secret_ + " with the certificates " +
                             what + ": " + std::to_string(response.status) +
                             (response.body ? " " + *response.body : "");
    if (text != told_) log_warning("webhooks", text);
    told_ = text;
}

}  // namespace muster::on_cluster
