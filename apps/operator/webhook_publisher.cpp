// apps/operator/webhook_publisher.cpp - rounds of looking at the configurations and correcting
// them.
#include "apps/operator/webhook_publisher.h"

#include <utility>

#include "base/log.h"
#include "kube/while_alive.h"

namespace muster::on_cluster {
namespace {

using api::Value;
using control::webhooks::Phase;

constexpr Duration round = seconds(10);
constexpr Duration soon = seconds(1);
constexpr const char* group = "admissionregistration.k8s.io";
const kube::Target crds{{"apiextensions.k8s.io", "customresourcedefinitions"}, "v1"};
const kube::Target cluster_roles{{"rbac.authorization.k8s.io", "clusterroles"}, "v1"};

/// Of an object only what tells whether it has changed: a CRD may be a megabyte.
net::Request without_content(net::Request request) {
    request.headers.set("Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    return request;
}

std::string version_of(const Value& object) {
    return object["metadata"]["resourceVersion"].text();
}

}  // namespace

WebhookPublisher::WebhookPublisher(kube::Transport& transport, Loop& loop,
                                   control::webhooks::Address address,
                                   const std::vector<control::webhooks::Webhook>& webhooks,
                                   const control::queue::JobRules& rules, std::string owner)
    : transport_(transport),
      loop_(loop),
      address_(std::move(address)),
      webhooks_(webhooks),
      rules_(rules),
      owner_(std::move(owner)) {
    for (const api::GroupResource& resource : control::webhooks::converted_kinds())
        add_conversion(resource);
    add_configuration(Phase::mutating, "mutatingwebhookconfigurations");
    add_configuration(Phase::validating, "validatingwebhookconfigurations");
}

void WebhookPublisher::add_configuration(Phase phase, const char* plural) {
    Item item;
    item.target = {{group, plural}, "v1"};
    const kube::Target target = item.target;
    const bool mutating = phase == Phase::mutating;
    const std::string name(mutating ? control::webhooks::mutating_name
                                    : control::webhooks::validating_name);
    item.name = name;
    item.correct = [this, phase, target, name](const Value& present) {
        Value wanted =
            control::webhooks::configuration(phase, webhooks_, rules_, address_, authorities_);
        if (!owner_.empty()) wanted = control::webhooks::owned(wanted, owner_, owner_uid_);
        if (present.is_null()) return send(kube::create(target, "", name, "", wanted));
        const auto corrected = control::webhooks::corrected(present, wanted);
        if (!corrected) return is_good(present);
        send(kube::update(target, {target.resource, "", name}, "", *corrected));
    };
    items_.push_back(std::move(item));
}

void WebhookPublisher::add_conversion(const api::GroupResource& resource) {
    Item item;
    item.target = crds;
    item.name = resource.plural + "." + resource.group;
    item.correct = [this, name = item.name](const Value& present) {
        if (present.is_null()) return next();  // It may come later.
        const auto plan = control::webhooks::plan_conversion(present, address_, authorities_);
        if (plan.kept == control::webhooks::ConversionPlan::Kept::somebody_elses) {
            complain(name, "the conversion of " + name + " is left to the service " + plan.asked +
                               ", which its CustomResourceDefinition names");
        }
        if (!plan.patch) return is_good(present);
        send(kube::patch(crds, {crds.resource, "", name}, "", "application/merge-patch+json",
                         *plan.patch));
    };
    items_.push_back(std::move(item));
}

void WebhookPublisher::publish(const std::string& authorities) {
    authorities_ = authorities;
    for (Item& item : items_)
        item.good_at.clear();
    changed_ = true;
    if (std::exchange(started_, true)) return;
    begin_round();
}

void WebhookPublisher::begin_round() {
    at_ = 0;
    round_good_ = true;
    changed_ = false;
    if (owner_.empty()) return look_at_next();
    look_at_owner();
}

void WebhookPublisher::look_at_owner() {
    transport_.send(
        without_content(kube::get(cluster_roles, "", owner_)),
        kube::while_alive(alive_, [this](const net::Response& response) { take_owner(response); }));
}

void WebhookPublisher::take_owner(const net::Response& response) {
    const std::string uid =
        response.status == 200 ? kube::body_of(response)["metadata"]["uid"].text() : "";
    if (uid.empty()) {
        // It may be on its way out: what nobody would take away again is not made.
        complain(owner_, "the ClusterRole " + owner_ + ", which the webhooks are to go with, " +
                             "cannot be read: " + std::to_string(response.status));
        return begin_after(soon);
    }
    if (uid != owner_uid_) {
        for (Item& item : items_)
            item.good_at.clear();
    }
    owner_uid_ = uid;
    told_.erase(owner_);
    look_at_next();
}

void WebhookPublisher::look_at_next() {
    const Item& item = items_[at_];
    if (item.good_at.empty()) return look_whole();
    transport_.send(without_content(kube::get(item.target, "", item.name)),
                    kube::while_alive(alive_, [this](const net::Response& response) {
                        const bool same =
                            response.status == 200 &&
                            version_of(kube::body_of(response)) == items_[at_].good_at;
                        if (same) return next();
                        look_whole();
                    }));
}

void WebhookPublisher::look_whole() {
    const Item& item = items_[at_];
    transport_.send(
        kube::get(item.target, "", item.name),
        kube::while_alive(alive_, [this](const net::Response& response) { take(response); }));
}

void WebhookPublisher::take(const net::Response& response) {
    Item& item = items_[at_];
    item.good_at.clear();
    if (response.status == 200) return item.correct(kube::body_of(response));
    if (response.status == 404) return item.correct({});
    complain(item.name, item.target.resource.plural + " " + item.name +
                            " cannot be read: " + std::to_string(response.status) +
                            (response.body ? " " + *response.body : ""));
    round_good_ = false;
    next();
}

void WebhookPublisher::is_good(const Value& present) {
    if (!changed_) items_[at_].good_at = version_of(present);
    next();
}

void WebhookPublisher::send(net::Request request) {
    transport_.send(
        std::move(request), kube::while_alive(alive_, [this](const net::Response& response) {
            const Item& item = items_[at_];
            if (response.status == 200 || response.status == 201) {
                log_info("webhooks", item.target.resource.plural + " " + item.name + " written");
                return is_good(kube::body_of(response));
            }
            round_good_ = false;
            // After a conflict or a race it is looked at again.
            if (response.status != 409) {
                complain(item.name, item.target.resource.plural + " " + item.name +
                                        " cannot be written: " + std::to_string(response.status) +
                                        (response.body ? " " + *response.body : ""));
            }
            next();
        }));
}

void WebhookPublisher::next() {
    if (++at_ < items_.size()) return look_at_next();
    if (round_good_ && !changed_) published_ = true;
    bool all_there = round_good_ && !changed_;
    for (const Item& item : items_)
        all_there = all_there && !item.good_at.empty();
    begin_after(all_there ? round : soon);
}

void WebhookPublisher::begin_after(Duration pause) {
    loop_.after(pause, [this, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) begin_round();
    });
}

void WebhookPublisher::complain(const std::string& name, const std::string& text) {
    std::string& told = told_[name];
    if (told != text) log_warning("webhooks", text);
    told = text;
}

}  // namespace muster::on_cluster
