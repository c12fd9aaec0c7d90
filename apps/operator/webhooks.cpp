// apps/operator/webhooks.cpp - requests in, reviews out.
#include "apps/operator/webhooks.h"

#include <utility>

#include "api/json.h"
#include "api/status.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "control/queue/names.h"
#include "control/webhooks/conversion.h"
#include "net/client.h"

namespace muster::on_cluster {
namespace {

namespace webhooks = control::webhooks;

/// An update of an object of 1.5 MB comes with the object as it was; a list that is read in its
/// other version comes whole.
constexpr std::size_t body_limit = 64 << 20;
constexpr std::size_t connection_limit = 256;
/// Each answers what the last one asked; a chain of owners is ten long at most.
constexpr int rounds_max = 16;
constexpr std::size_t waiting_max = 1000;

webhooks::Address address_of(const WebhookOptions& options) {
    const auto service = split_first(options.service, '/');
    if (!service || service->before.empty() || service->after.empty()) {
        throw Error(Reason::bad_request,
                    "error: --webhook-service is NAMESPACE/NAME, not " + quoted(options.service));
    }
    webhooks::Address address{std::string(service->before), std::string(service->after),
                              options.url};
    while (address.url.ends_with('/'))
        address.url.pop_back();
    const auto url = net::parse_url(address.url);
    if (!address.url.empty() && (!url || url->target.scheme != net::Target::Scheme::https)) {
        throw Error(Reason::bad_request,
                    "error: --webhook-url is https://HOST:PORT, not " + quoted(options.url));
    }
    return address;
}

up::Listen place_of(const std::string& text) {
    const auto listen = up::parse_listen(text);
    if (!listen || listen->port == 0 || text.find(':') == std::string::npos) {
        throw Error(Reason::bad_request,
                    "error: --webhook-listen is ADDRESS:PORT, not " + quoted(text));
    }
    return *listen;
}

void respond(net::Responder& responder, int status, const api::Value& body) {
    net::Response response;
    response.status = status;
    response.headers.set("Content-Type", "application/json");
    response.body = make_bytes(api::to_json(body));
    responder.respond(std::move(response));
}

void refuse(net::Responder& responder, Reason reason, const std::string& text) {
    respond(responder, reason_code(reason), api::failure_status(reason, text));
}

}  // namespace

bool wants_webhooks(const WebhookOptions& options, bool in_cluster) {
    if (options.wish != WebhookOptions::Wish::as_fits)
        return options.wish == WebhookOptions::Wish::on;
    return in_cluster || !options.url.empty();
}

Webhooks::Webhooks(kube::Transport& transport, kube::Transport& leaders, net::AsioLoop& loop,
                   const WebhookOptions& options, const control::queue::JobRules& rules,
                   net::TlsLimits limits)
    : transport_(transport),
      loop_(loop),
      listen_(place_of(options.listen)),
      limits_(std::move(limits)),
      address_(address_of(options)),
      reviewer_(rules),
      seen_(
          transport, loop, [](const kube::Object*, const kube::Object*) {},
          [this] { answer_waiting(); }),
      keys_(transport, loop, address_, options.secret,
            [this](const WebhookKeys::Keys& keys) { use(keys); }),
      publisher_(leaders, loop, address_, reviewer_.webhooks(), rules, options.owner) {
    seen_.watch(control::queue::namespaces, "v1");
    seen_.watch(control::queue::local_queues, std::string(control::queue::kueue_version));
}

void Webhooks::start() {
    keys_.start();
    seen_.start();
}

void Webhooks::lead() {
    leading_ = true;
    if (keys_.held()) publisher_.publish(keys_.held()->authorities);
}

std::string Webhooks::problem() const {
    if (server_ == nullptr) return "there are no certificates yet";
    return seen_.cache().synced() ? "" : "namespaces and LocalQueues have not been seen yet";
}

void Webhooks::use(const WebhookKeys::Keys& keys) {
    net::ServerTls tls{keys.serving.certificate_pem, keys.serving.key_pem, "", limits_};
    if (server_ != nullptr) {
        server_->renew(tls);
        log_info("webhooks", "new connections get the new certificate");
    } else {
        net::ServerOptions options;
        options.address = listen_.address;
        options.port = listen_.port;
        options.tls = std::move(tls);
        options.body_limit = body_limit;
        options.connection_limit = connection_limit;
        server_ = std::make_unique<net::Server>(
            std::move(options), loop_,
            [this](const net::Request& request, std::shared_ptr<net::Responder> responder) {
                take(request, std::move(responder));
            });
        log_info("webhooks", "served on " + listen_.address + ":" + std::to_string(listen_.port));
    }
    if (leading_) publisher_.publish(keys.authorities);
}

void Webhooks::take(const net::Request& request, std::shared_ptr<net::Responder> responder) {
    const bool converts = request.path == webhooks::conversion_path;
    const webhooks::Webhook* webhook = converts ? nullptr : reviewer_.find(request.path);
    if (!converts && webhook == nullptr) {
        return refuse(*responder, Reason::not_found, "there is no webhook at " + request.path);
    }
    if (request.method != "POST") {
        return refuse(*responder, Reason::method_not_allowed, "webhooks are asked by POST");
    }
    if (converts) {
        // Needs nothing that is seen: the controllers may have to read converted objects first.
        const webhooks::Converted converted = webhooks::convert(*request.body);
        return respond(*responder, converted.status, converted.body);
    }
    auto pending = std::make_shared<Pending>();
    pending->webhook = webhook;
    pending->body = request.body;
    pending->responder = std::move(responder);
    if (seen_.cache().synced()) return answer(pending);
    if (waiting_.size() < waiting_max) {
        waiting_.push_back(std::move(pending));
    } else {
        refuse(*pending->responder, Reason::service_unavailable, "the operator is still starting");
    }
}

void Webhooks::answer_waiting() {
    for (const auto& pending : std::exchange(waiting_, {}))
        answer(pending);
}

void Webhooks::answer(const std::shared_ptr<Pending>& pending) {
    const webhooks::Reviewed reviewed = reviewer_.review(
        *pending->webhook, *pending->body, seen_.cache(), pending->answers, loop_.now());
    if (reviewed.questions.empty())
        return respond(*pending->responder, reviewed.status, reviewed.body);
    if (++pending->rounds > rounds_max) {
        return refuse(*pending->responder, Reason::internal_error,
                      "too many other objects would have to be read");
    }
    ask(pending, reviewed);
}

void Webhooks::ask(const std::shared_ptr<Pending>& pending, const webhooks::Reviewed& reviewed) {
    pending->unanswered = reviewed.questions.size();
    for (const webhooks::Question& question : reviewed.questions) {
        transport_.send(webhooks::request_for(question, reviewed.asker),
                        [this, pending, question,
                         alive = std::weak_ptr<int>(alive_)](const net::Response& response) {
                            if (alive.expired()) return;
                            auto known = webhooks::answer_in(question, response);
                            if (known) {
                                pending->answers[question] = std::move(*known);
                            } else {
                                pending->failure =
                                    "the server does not say what must be known of " +
                                    to_text(question.key) + ": " + std::to_string(response.status);
                            }
                            if (--pending->unanswered > 0) return;
                            if (pending->failure.empty()) return answer(pending);
                            log_warning("webhooks", pending->failure);
                            refuse(*pending->responder, Reason::internal_error, pending->failure);
                        });
    }
}

}  // namespace muster::on_cluster
