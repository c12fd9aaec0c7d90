// apiserver/webhook_rules.h - the webhooks that somebody configured, and which of them a request
// concerns.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cel.h"
#include "api/value.h"

namespace muster::apiserver {

enum class Phase { mutating, validating };

/// One webhook of a configuration.
struct Webhook {
    std::string id;   // Of one kind of configuration no two have the same.
    api::Value spec;  // As it stands in the configuration.
    std::vector<api::CelRule> conditions;

    std::string name() const { return spec["name"].text(); }
    bool ignores_failure() const { return spec["failurePolicy"].text_or("") == "Ignore"; }
};
using WebhookPtr = std::shared_ptr<const Webhook>;

/// All of them, in the order in which they are asked. Told of every write of a configuration.
class Webhooks {
public:
    const std::vector<WebhookPtr>& of(Phase phase) const { return all_[index(phase)]; }
    bool empty() const { return all_[0].empty() && all_[1].empty(); }
    /// A null configuration is gone.
    void put(Phase phase, const std::string& name, const api::Value& configuration);

private:
    static std::size_t index(Phase phase) { return phase == Phase::mutating ? 0 : 1; }
    std::map<std::string, std::vector<WebhookPtr>> by_configuration_[2];
    std::vector<WebhookPtr> all_[2];
};

/// A resource of a version, and the kind of its objects.
struct VersionedResource {
    std::string group;
    std::string version;
    std::string plural;
    std::string kind;
    std::string kind_group;  // Of a subresource's body these may be others: autoscaling/v1.
    std::string kind_version;
    friend bool operator==(const VersionedResource&, const VersionedResource&) = default;
};

/// What is looked at of a request.
struct WebhookQuestion {
    std::string operation;  // CREATE, UPDATE, DELETE, CONNECT
    VersionedResource resource;
    std::string subresource;
    std::string ns;                              // Of a namespace, its own name.
    std::vector<VersionedResource> equivalents;  // Other versions in which it could be had.
    const api::Value* labels = nullptr;          // Of the object; null: there is no object.
    const api::Value* old_labels = nullptr;
    const api::Value* namespace_labels = nullptr;  // Null: there is no such namespace.
};

/// What came of the look.
struct WebhookMatch {
    enum class Outcome { passed_over, asked, no_namespace };
    Outcome outcome = Outcome::passed_over;
    VersionedResource as;  // In which version it is asked about.
};

/// The selectors and rules of a webhook against a request; its conditions come later.
WebhookMatch match(const Webhook& webhook, const WebhookQuestion& question);

}  // namespace muster::apiserver
