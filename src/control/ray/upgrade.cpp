// control/ray/upgrade.cpp - the hash of a cluster's spec.
#include "control/ray/upgrade.h"

#include <cstdint>
#include <map>
#include <utility>

#include "api/json.h"
#include "base/hash.h"

namespace muster::control::ray {
namespace {

using api::Value;

/// The same text for the same content, in whatever order it was written.
std::string canonical(const Value& value) {
    if (value.is_object()) {
        std::map<std::string_view, std::string> members;
        for (const auto& [name, member] : value.members())
            members[name] = canonical(member);
        std::string text = "{";
        for (const auto& [name, member] : members)
            text += api::to_json(Value(name)) + ":" + member + ",";
        return text + "}";
    }
    if (!value.is_array()) return api::to_json(value);
    std::string text = "[";
    for (const Value& item : value.items())
        text += canonical(item) + ",";
    return text + "]";
}

void strip_template(Value& group) {
    Value* pod = group.find("template");
    Value* spec = pod != nullptr ? pod->find("spec") : nullptr;
    if (spec == nullptr) return;
    spec->erase("tolerations");
    spec->erase("schedulingGates");
}

}  // namespace

bool wants_recreate(const Value& cluster_spec) {
    return cluster_spec["upgradeStrategy"]["type"].text_or("") == "Recreate";
}

std::string spec_hash(const Value& cluster_spec) {
    Value spec = cluster_spec;
    for (const char* field : {"upgradeStrategy", "suspend", "managedBy"})
        spec.erase(field);
    strip_template(spec.at("headGroupSpec"));
    if (spec.has("workerGroupSpecs")) {
        for (Value& group : spec.at("workerGroupSpecs").mutable_items()) {
            for (const char* field :
                 {"replicas", "minReplicas", "maxReplicas", "scaleStrategy", "suspend"})
                group.erase(field);
            strip_template(group);
        }
    }
    std::uint64_t hash = stable_hash(canonical(spec));
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < 16; ++i, hash >>= 4U)
        text += digits[hash & 15U];
    return text;
}

}  // namespace muster::control::ray
