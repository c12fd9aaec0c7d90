// control/cluster/gc.cpp - the graph of owners and dependents, kept by differences.
#include "control/cluster/gc.h"

#include <algorithm>
#include <string_view>

#include "control/cluster/resources.h"

namespace muster::control::cluster {
namespace {

constexpr std::size_t gone_max = 10'000;
constexpr std::string_view foreground_finalizer = "foregroundDeletion";
constexpr std::string_view orphan_finalizer = "orphan";
const api::GroupResource definitions{"apiextensions.k8s.io", "customresourcedefinitions"};

bool is_collected(const api::Kind& kind) {
    return kind.plural != events.plural && kind.stored_as.empty();
}

/// Owners of a namespace own nothing outside it, whoever names them.
bool reaches(const api::Key& owner, const api::Key& dependent) {
    return owner.ns.empty() || owner.ns == dependent.ns;
}

bool has_finalizer(const kube::Object& object, std::string_view name) {
    const api::Value::Array& finalizers = object.value["metadata"]["finalizers"].items();
    return std::any_of(finalizers.begin(), finalizers.end(),
                       [&](const api::Value& finalizer) { return finalizer.text_or("") == name; });
}

/// Nothing that the collector looks at has changed.
bool is_same_to_us(const kube::Object& before, const kube::Object& after) {
    const api::Value& old = before.value["metadata"];
    const api::Value& now = after.value["metadata"];
    return before.uid == after.uid &&
           old.has("deletionTimestamp") == now.has("deletionTimestamp") &&
           old["ownerReferences"] == now["ownerReferences"] &&
           old["finalizers"] == now["finalizers"];
}

/// A patch of the object's metadata that holds only if it is still as seen.
Write patch_metadata(const kube::Object& object, std::string_view field, api::Value value) {
    Write write;
    write.verb = Write::Verb::merge_patch;
    write.key = object.key;
    write.uid = object.uid;  // Not demanded of a patch; `failed` knows by it what to look at again.
    write.version = object.version;
    write.body.at("metadata").set(field, std::move(value));
    return write;
}

Write without_finalizer(const kube::Object& object, std::string_view name) {
    api::Value rest;
    for (const api::Value& finalizer : object.value["metadata"]["finalizers"].items()) {
        if (finalizer.text_or("") != name) rest.push(finalizer);
    }
    return patch_metadata(object, "finalizers", std::move(rest));
}

Write without_owners(const kube::Object& object, const std::set<std::string>& uids) {
    api::Value rest;
    for (const api::Value& owner : object.value["metadata"]["ownerReferences"].items()) {
        if (!uids.contains(owner["uid"].text())) rest.push(owner);
    }
    return patch_metadata(object, "ownerReferences", std::move(rest));
}

}  // namespace

std::vector<std::pair<api::GroupResource, std::string>> GarbageCollector::watches() const {
    std::vector<std::pair<api::GroupResource, std::string>> watches;
    for (const api::Kind& kind : api::all_kinds()) {
        if (is_collected(kind)) watches.emplace_back(kind.resource(), "");
    }
    return watches;
}

GarbageCollector::Item GarbageCollector::item_of(const kube::Object& object) {
    Item item;
    item.key = object.key;
    for (const api::Value& reference : object.value["metadata"]["ownerReferences"].items()) {
        Owner owner;
        owner.uid = reference["uid"].text();
        owner.blocks = reference["blockOwnerDeletion"].boolean_or(false);
        owner.group = api::parse_group_version(reference["apiVersion"].text_or("")).group;
        owner.kind = reference["kind"].text();
        owner.name = reference["name"].text();
        item.owners.push_back(std::move(owner));
    }
    if (object.is_terminating()) {
        item.ending = has_finalizer(object, orphan_finalizer)       ? Ending::orphan
                      : has_finalizer(object, foreground_finalizer) ? Ending::foreground
                                                                    : Ending::plain;
    }
    return item;
}

/// Which objects the owners are: their kinds may have come after the dependent.
void GarbageCollector::find_owners(const std::string& uid, Item& item, const api::Kinds& kinds) {
    bool all = true;
    for (Owner& owner : item.owners) {
        if (owner.known_kind) continue;
        const api::Kind* kind = kinds.find_named(owner.group, owner.kind);
        owner.known_kind = kind != nullptr && is_collected(*kind);
        all = all && owner.known_kind;
        if (!owner.known_kind) continue;
        owner.key = {kind->resource(), kind->namespaced ? item.key.ns : "", owner.name};
        owner.misplaced = kind->namespaced && item.key.ns.empty();
    }
    if (!all) unclear_.insert(uid);
}

void GarbageCollector::observe(const kube::Object* before, const kube::Object* after) {
    // A definition may be that of owners that nothing was known of.
    if ((after != nullptr ? after : before)->key.resource == definitions)
        dirty_.merge(std::exchange(unclear_, {}));
    if (before != nullptr && after != nullptr && is_same_to_us(*before, *after)) return;
    if (before != nullptr) {
        mark_around(before->uid);
        forget(before->uid);
        if (after == nullptr || after->uid != before->uid) mark_gone(before->uid);
    }
    if (after == nullptr) return;
    Item& item = items_[after->uid] = item_of(*after);
    for (const Owner& owner : item.owners)
        dependents_[owner.uid].insert(after->uid);
    dirty_.insert(after->uid);
    mark_around(after->uid);
}

void GarbageCollector::forget(const std::string& uid) {
    const auto item = items_.find(uid);
    if (item == items_.end()) return;
    for (const Owner& owner : item->second.owners) {
        const auto others = dependents_.find(owner.uid);
        if (others == dependents_.end()) continue;
        others->second.erase(uid);
        if (others->second.empty()) dependents_.erase(others);
    }
    items_.erase(item);
    deleting_.erase(uid);
    unclear_.erase(uid);
}

/// Whoever may have to act because this object changed: its dependents, and owners that wait for
/// it.
void GarbageCollector::mark_around(const std::string& uid) {
    const auto dependents = dependents_.find(uid);
    if (dependents != dependents_.end())
        dirty_.insert(dependents->second.begin(), dependents->second.end());
    const auto item = items_.find(uid);
    if (item == items_.end()) return;
    for (const Owner& owner : item->second.owners) {
        const auto held = items_.find(owner.uid);
        if (held != items_.end() && held->second.ending != Ending::none) dirty_.insert(owner.uid);
    }
}

void GarbageCollector::mark_gone(const std::string& uid) {
    if (uid.empty() || !gone_.insert(uid).second) return;
    gone_in_order_.push_back(uid);
    if (gone_in_order_.size() <= gone_max) return;
    gone_.erase(gone_in_order_.front());
    gone_in_order_.pop_front();
}

void GarbageCollector::failed(const Write& write) {
    deleting_.erase(write.uid);
    dirty_.insert(write.uid);
}

void GarbageCollector::looked(const api::Key& key, const kube::Object* found) {
    const auto look = looks_.extract(key);
    if (look.empty()) return;
    for (const std::string& uid : look.mapped()) {
        if (found == nullptr || found->uid != uid) mark_gone(uid);
        const auto dependents = dependents_.find(uid);
        if (dependents != dependents_.end())
            dirty_.insert(dependents->second.begin(), dependents->second.end());
    }
}

GarbageCollector::State GarbageCollector::state_of(const Item& dependent,
                                                   const Owner& owner) const {
    const auto held = items_.find(owner.uid);
    if (held != items_.end()) {
        if (!reaches(held->second.key, dependent.key)) return State::gone;
        return held->second.ending == Ending::foreground ? State::leaving : State::there;
    }
    if (gone_.contains(owner.uid) || owner.misplaced) return State::gone;
    // Of a kind that is not served nothing can be known: such an owner keeps what it has.
    return owner.known_kind ? State::unclear : State::there;
}

void GarbageCollector::look_for(const Owner& owner, Reconciled& result) {
    std::set<std::string>& uids = looks_[owner.key];
    if (uids.empty()) result.looks.push_back(owner.key);
    uids.insert(owner.uid);
}

Reconciled GarbageCollector::plan(const kube::Cache& seen, Time) {
    Reconciled result;
    if (!seen.synced()) return result;
    for (const std::string& uid : std::exchange(dirty_, {}))
        judge(uid, seen, result);
    return result;
}

void GarbageCollector::judge(const std::string& uid, const kube::Cache& seen, Reconciled& result) {
    const auto item = items_.find(uid);
    if (item == items_.end() || deleting_.contains(uid)) return;
    const kube::ObjectPtr object = seen.find(item->second.key);
    if (object == nullptr || object->uid != uid) return;
    switch (item->second.ending) {
        case Ending::none:
            find_owners(uid, item->second, seen.kinds());
            judge_dependent(uid, item->second, *object, result);
            return;
        case Ending::plain:
            return;
        case Ending::foreground:
            finish_foreground(uid, *object, result);
            return;
        case Ending::orphan:
            free_dependents(uid, *object, seen, result);
            return;
    }
}

void GarbageCollector::judge_dependent(const std::string& uid, const Item& item,
                                       const kube::Object& object, Reconciled& result) {
    if (item.owners.empty()) return;
    bool kept = false;
    bool unclear = false;
    std::set<std::string> to_drop;
    bool owner_leaves = false;
    for (const Owner& owner : item.owners) {
        const State state = state_of(item, owner);
        if (state == State::unclear) {
            look_for(owner, result);
            unclear = true;
        } else if (state == State::there) {
            kept = true;
        } else {
            to_drop.insert(owner.uid);
            owner_leaves = owner_leaves || state == State::leaving;
        }
    }
    if (unclear || to_drop.empty()) return;
    if (kept) {
        result.writes.push_back(without_owners(object, to_drop));
        return;
    }
    Write write;
    write.verb = Write::Verb::remove;
    write.key = object.key;
    write.uid = uid;
    write.propagation = "Background";
    if (has_finalizer(object, orphan_finalizer)) {
        write.propagation = "Orphan";
    } else if (has_finalizer(object, foreground_finalizer) ||
               (owner_leaves && dependents_.contains(uid))) {
        write.propagation = "Foreground";
    }
    result.writes.push_back(std::move(write));
    deleting_.insert(uid);
}

std::vector<std::string> GarbageCollector::dependents_of(const std::string& uid,
                                                         const api::Key& key) const {
    const auto found = dependents_.find(uid);
    if (found == dependents_.end()) return {};
    std::vector<std::string> reached;
    for (const std::string& dependent : found->second) {
        if (reaches(key, items_.at(dependent).key)) reached.push_back(dependent);
    }
    return reached;
}

void GarbageCollector::free_dependents(const std::string& uid, const kube::Object& object,
                                       const kube::Cache& seen, Reconciled& result) {
    const std::vector<std::string> dependents = dependents_of(uid, object.key);
    if (dependents.empty()) {
        result.writes.push_back(without_finalizer(object, orphan_finalizer));
        return;
    }
    for (const std::string& dependent : dependents) {
        const kube::ObjectPtr held = seen.find(items_.at(dependent).key);
        if (held != nullptr && held->uid == dependent)
            result.writes.push_back(without_owners(*held, {uid}));
    }
}

void GarbageCollector::finish_foreground(const std::string& uid, const kube::Object& object,
                                         Reconciled& result) {
    for (const std::string& dependent : dependents_of(uid, object.key)) {
        for (const Owner& owner : items_.at(dependent).owners) {
            // It is being deleted; its removal brings this owner back here.
            if (owner.uid == uid && owner.blocks) return;
        }
    }
    result.writes.push_back(without_finalizer(object, foreground_finalizer));
}

}  // namespace muster::control::cluster
