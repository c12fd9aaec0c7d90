// control/owner.cpp - owner references and derived names.
#include "control/owner.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "api/kind.h"
#include "api/owner.h"
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

std::vector<kube::ObjectPtr> ancestors_of(const kube::Cache& seen, const kube::Object& object) {
    constexpr std::size_t ancestors_max = 16;  // Owners in a circle end by being found already.
    std::vector<kube::ObjectPtr> found;
    const auto add_owners = [&](const kube::Object& owned) {
        for (const api::Value& owner : owned.value["metadata"]["ownerReferences"].items()) {
            const auto version = api::parse_group_version(owner["apiVersion"].text_or(""));
            const api::Kind* kind =
                seen.kinds().find_named(version.group, owner["kind"].text_or(""));
            if (kind == nullptr) continue;
            const std::string ns = kind->namespaced ? owned.key.ns.text() : std::string();
            kube::ObjectPtr made_it = seen.find({kind->resource(), ns, owner["name"].text()});
            if (made_it == nullptr || made_it->uid != owner["uid"].text_or("")) continue;
            const bool known = std::any_of(found.begin(), found.end(), [&](const auto& other) {
                return other->uid == made_it->uid;
            });
            if (!known && found.size() < ancestors_max) found.push_back(std::move(made_it));
        }
    };
    add_owners(object);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const kube::ObjectPtr next = found[i];  // The vector grows meanwhile.
        add_owners(*next);
    }
    return found;
}

bool descends_from(const kube::Cache& seen, const kube::Object& object, std::string_view uid) {
    if (api::is_owned_by(object.value, uid)) return true;
    const auto ancestors = ancestors_of(seen, object);
    return std::any_of(ancestors.begin(), ancestors.end(), [&](const kube::ObjectPtr& ancestor) {
        return api::is_owned_by(ancestor->value, uid);
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
