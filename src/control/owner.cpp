// control/owner.cpp - owner references and derived names.
#include "control/owner.h"

#include <algorithm>
#include <cstdint>

#include "base/hash.h"

namespace muster::control {

api::Value owner_reference(const kube::Object& owner) {
    return api::Value::object({{"apiVersion", owner.value["apiVersion"]},
                               {"kind", owner.value["kind"]},
                               {"name", owner.key.name},
                               {"uid", owner.uid},
                               {"controller", true},
                               {"blockOwnerDeletion", true}});
}

bool is_owned_by(const kube::Object& object, std::string_view owner_uid) {
    const auto& owners = object.value["metadata"]["ownerReferences"].items();
    return std::any_of(owners.begin(), owners.end(), [&](const api::Value& owner) {
        return owner["uid"].text_or("") == owner_uid;
    });
}

std::string derived_suffix(std::string_view owner_uid, std::string_view what) {
    static constexpr std::string_view alphabet = "bcdfghjklmnpqrstvwxz2456789";
    std::uint64_t hash = stable_hash(what, stable_hash("/", stable_hash(owner_uid)));
    hash ^= hash >> 29;  // FNV's low bits follow the last character too closely.
    std::string suffix;
    for (int i = 0; i < 5; ++i) {
        suffix += alphabet[hash % alphabet.size()];
        hash /= alphabet.size();
    }
    return suffix;
}

}  // namespace muster::control
