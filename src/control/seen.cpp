// control/seen.cpp - watch events, answers to own writes and relists become one view.
#include "control/seen.h"

#include <algorithm>
#include <utility>

#include "api/apiextensions/added_kind.h"
#include "api/guest_kinds.h"
#include "base/verify.h"

namespace muster::control {
namespace {

/// How many removed objects are remembered.
constexpr std::size_t gone_max = 8192;

/// What is kept of an object whose content nobody watches.
kube::ObjectPtr metadata_of(const kube::Object& object) {
    api::Value value = api::Value::object({{"apiVersion", object.value["apiVersion"]},
                                           {"kind", object.value["kind"]},
                                           {"metadata", object.value["metadata"]}});
    value.at("metadata").erase("annotations");
    return kube::make_object(object.key.resource, std::move(value));
}

const api::GroupResource definitions{"apiextensions.k8s.io", "customresourcedefinitions"};

const std::string& stored_version(const api::GroupResource& resource) {
    const api::Kind* kind = api::find_known_kind(resource.group, resource.plural);
    VERIFY(kind != nullptr);
    return kind->storage;
}

}  // namespace

void Seen::watch(const api::GroupResource& resource, const std::string& version) {
    std::string& held = versions_[resource];
    // One cache holds one form of an object.
    VERIFY(held.empty() || version.empty() || held == version);
    if (!version.empty()) held = version;
    if (api::find_kind(resource.group, resource.plural) != nullptr) return;
    if (api::find_known_kind(resource.group, resource.plural) != nullptr) guests_.insert(resource);
}

std::string Seen::version_of(const api::GroupResource& resource) const {
    const auto found = versions_.find(resource);
    return found == versions_.end() ? std::string() : found->second;
}

std::vector<kube::Target> Seen::targets() const {
    std::vector<kube::Target> targets;
    for (const auto& [resource, version] : versions_)
        targets.push_back({resource, version.empty() ? stored_version(resource) : version});
    return targets;
}

std::vector<Trouble> Seen::troubles() const {
    std::vector<Trouble> found;
    for (const auto& [resource, watcher] : watchers_) {
        if (!watcher->trouble().empty()) found.push_back({resource, watcher->trouble()});
    }
    return found;
}

void Seen::watch_added() {
    if (std::exchange(follows_added_, true)) return;
    watch(definitions, "v1");
}

void Seen::start() {
    unsynced_ = versions_.size();
    // Who does not follow definitions cannot know better.
    for (const api::GroupResource& guest : guests_) {
        if (!follows_added_) cache_.add_kind(*api::find_known_kind(guest.group, guest.plural));
    }
    for (auto& [resource, version] : versions_) {
        const bool whole = !version.empty();
        if (!whole) version = stored_version(resource);
        watchers_[resource] = std::make_unique<kube::Watcher>(
            transport_, loop_, kube::Target{resource, version}, events_of(resource, whole));
    }
    for (auto& [resource, watcher] : watchers_)
        watcher->start();
}

kube::WatchEvents Seen::events_of(const api::GroupResource& resource, bool whole) {
    const auto advance = [&newest = told_[resource]](std::int64_t version) {
        newest = std::max(newest, version);
    };
    kube::WatchEvents events;
    events.applied = [this, advance, whole](const kube::ObjectPtr& object) {
        advance(object->version);
        see(whole ? object : metadata_of(*object));
    };
    events.is_news = [this](const api::Key& key, std::int64_t version) {
        const kube::ObjectPtr held = cache_.find(key);
        return held == nullptr || held->version < version;
    };
    events.passed = advance;
    events.removed = [this, advance](const api::Key& key, std::int64_t version) {
        advance(version);
        see_removal(key, version);
    };
    events.listed = [this, advance, resource](std::int64_t version,
                                              const std::function<bool(const api::Key&)>& has) {
        advance(version);
        see_list(resource, version, has);
    };
    events.rewound = [this, &newest = told_[resource], resource] {
        newest = 0;
        see_rewound(resource);
    };
    events.synced = [this] {
        VERIFY(unsynced_ > 0);
        if (--unsynced_ > 0) return;
        cache_.set_synced();
        on_synced_();
    };
    return events;
}

/// What a change of a definition means for the watches comes first: whoever is told finds the kind.
void Seen::tell(const kube::Object* before, const kube::Object* after) {
    const kube::Object& any = after != nullptr ? *after : *before;
    const bool definition = follows_added_ && any.key.resource == definitions;
    if (definition && after != nullptr) follow(after->value);
    on_change_(before, after);
    if (definition && after == nullptr) leave(api::resource_of_crd(before->value));
}

void Seen::follow(const api::Value& definition) {
    const api::GroupResource resource = api::resource_of_crd(definition);
    if (api::find_kind(resource.group, resource.plural) != nullptr) return;
    api::Kind kind = api::names_of_added(definition);
    if (!api::is_established(definition) || kind.versions.empty()) {
        leave(resource);
        return;
    }
    // What is stored, no webhook has to make.
    const bool stored = kind.by_webhook && kind.find_version(kind.storage) != nullptr;
    const std::string version = stored ? kind.storage : kind.versions.front().name;
    cache_.add_kind(std::move(kind));
    if (guests_.contains(resource)) return;  // They are watched, whether there or not.
    if (added_.contains(resource) && versions_[resource] == version) return;
    added_.insert(resource);
    versions_[resource] = version;
    kube::WatchEvents events = events_of(resource, false);
    events.synced = [] {};  // Nobody waits for it: what decides over absence asks the server.
    auto& watcher = watchers_[resource];
    watcher = std::make_unique<kube::Watcher>(transport_, loop_, kube::Target{resource, version},
                                              std::move(events));
    watcher->start();
}

void Seen::leave(const api::GroupResource& resource) {
    if (guests_.contains(resource)) cache_.remove_kind(resource);
    if (!added_.contains(resource)) return;
    watchers_.erase(resource);
    for (const kube::ObjectPtr& object : cache_.list(resource))
        see_removal(object->key, object->version);
    added_.erase(resource);
    versions_.erase(resource);
    told_.erase(resource);
    cache_.remove_kind(resource);
}

void Seen::see(kube::ObjectPtr object) {
    if (gone_.contains(object->uid)) return;
    const kube::ObjectPtr before = cache_.find(object->key);
    if (before != nullptr && before->version >= object->version) return;
    if (before != nullptr && before->uid != object->uid) {
        // Removed and made anew between two looks: whoever follows the old one must hear that it is
        // gone.
        see_removal(object->key, object->version);
        cache_.put(object);
        tell(nullptr, object.get());
        return;
    }
    cache_.put(object);
    tell(before.get(), object.get());
}

void Seen::see_removal(const api::Key& key, std::int64_t version) {
    const kube::ObjectPtr before = cache_.find(key);
    if (before == nullptr || before->version > version) return;
    mark_gone(before->uid);
    cache_.remove(key);
    tell(before.get(), nullptr);
}

void Seen::mark_gone(const std::string& uid) {
    if (uid.empty() || !gone_.insert(uid).second) return;
    gone_in_order_.push_back(uid);
    if (gone_in_order_.size() <= gone_max) return;
    gone_.erase(gone_in_order_.front());
    gone_in_order_.pop_front();
}

/// After a watch had to start anew: what only our own writes had shown may be gone meanwhile.
void Seen::see_list(const api::GroupResource& resource, std::int64_t version,
                    const std::function<bool(const api::Key&)>& has) {
    for (const kube::ObjectPtr& object : cache_.list(resource)) {
        if (!has(object->key)) see_removal(object->key, version);
    }
}

/// The server has an older state than before. What is held counts as older than anything that it
/// tells now, and what was gone may be there again.
void Seen::see_rewound(const api::GroupResource& resource) {
    gone_.clear();
    gone_in_order_.clear();
    for (const kube::ObjectPtr& object : cache_.list(resource)) {
        auto outdated = std::make_shared<kube::Object>(*object);
        outdated->version = 0;
        cache_.put(std::move(outdated));
    }
}

void Seen::take_answer(kube::ObjectPtr object) {
    const auto newest = told_.find(object->key.resource);
    if (newest == told_.end()) return;  // Not watched.
    // What the watch has passed already and the cache does not hold is gone, also if the watch
    // never showed it: without this, an answer that comes late would bring it back for good.
    if (object->version <= newest->second && cache_.find(object->key) == nullptr) return;
    see(std::move(object));
}

void Seen::take_removal(const api::Key& key, const std::string& uid) {
    const kube::ObjectPtr before = cache_.find(key);
    // Another one of that name may have come meanwhile.
    if (before == nullptr || before->uid != uid) return;
    mark_gone(uid);
    cache_.remove(key);
    tell(before.get(), nullptr);
}

void Seen::put_local(const std::string& plural, const std::string& name, api::Value value) {
    auto object = std::make_shared<kube::Object>();
    object->key = {{"muster.internal", plural}, "", name};
    object->value = std::move(value);
    object->version = ++local_version_;
    cache_.put(std::move(object));
}

void Seen::remove_local(const std::string& plural, const std::string& name) {
    cache_.remove({{"muster.internal", plural}, "", name});
}

}  // namespace muster::control
