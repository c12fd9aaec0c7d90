// control/controller.cpp - the watch mappings that most controllers need, and the runner's own
// objects in the cache.
#include "control/controller.h"

#include <utility>

#include "api/guest_kinds.h"

namespace muster::control {
namespace {

void add_owner(std::vector<api::Key>& keys, const kube::Object* object,
               const api::GroupResource& owner) {
    if (object == nullptr) return;
    for (const api::Value& reference : object->value["metadata"]["ownerReferences"].items()) {
        if (!reference["controller"].boolean_or(false)) continue;
        const auto version = api::parse_group_version(reference["apiVersion"].text_or(""));
        if (version.group != owner.group) continue;
        const api::Kind* kind = api::find_known_kind(owner.group, owner.plural);
        if (kind != nullptr && reference["kind"].text_or("") != kind->kind) continue;
        const std::string ns =
            kind != nullptr && !kind->namespaced ? std::string() : object->key.ns.text();
        keys.push_back({owner, ns, reference["name"].text()});
    }
}

}  // namespace

const kube::Object* find_answer(const kube::Cache& seen, std::string_view call_id) {
    return seen.find({{"muster.internal", "calls"}, "", std::string(call_id)}).get();
}

const kube::Object* find_refusal(const kube::Cache& seen, std::string_view controller,
                                 const api::Key& key) {
    return seen
        .find({{"muster.internal", "refusals"}, "", std::string(controller) + " " + to_text(key)})
        .get();
}

void Planner::unchanged(const Write&) {}

void Planner::looked(const api::Key&, const kube::Object*) {}

Watch watch_self(api::GroupResource resource, std::string version) {
    Watch watch{std::move(resource), std::move(version), {}};
    watch.wakes = [](const kube::Cache&, const kube::Object* before, const kube::Object* after) {
        return std::vector<api::Key>{after != nullptr ? after->key : before->key};
    };
    return watch;
}

Watch watch_owned(api::GroupResource resource, std::string version, api::GroupResource owner) {
    Watch watch{std::move(resource), std::move(version), {}};
    watch.wakes = [owner = std::move(owner)](const kube::Cache&, const kube::Object* before,
                                             const kube::Object* after) {
        std::vector<api::Key> keys;
        add_owner(keys, before, owner);
        add_owner(keys, after, owner);
        return keys;
    };
    return watch;
}

}  // namespace muster::control
