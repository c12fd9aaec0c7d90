// kube/cache.cpp - the seen objects and their index by owner.
#include "kube/cache.h"

#include <algorithm>
#include <charconv>

#include "api/owner.h"
#include "api/shared_parts.h"
#include "base/verify.h"

namespace muster::kube {
namespace {

std::string controller_uid(const api::Value& value) {
    return api::controller_of(value)["uid"].text();
}

}  // namespace

std::string_view Object::label(std::string_view name) const {
    return value["metadata"]["labels"][name].text_or("");
}

std::string_view Object::annotation(std::string_view name) const {
    return value["metadata"]["annotations"][name].text_or("");
}

bool Object::is_terminating() const {
    return value["metadata"].has("deletionTimestamp");
}

ObjectPtr make_object(const api::GroupResource& resource, api::Value value) {
    auto object = std::make_shared<Object>();
    // A third of a Workload, and nobody who looks at objects asks who wrote which field.
    if (api::Value* own = value.find("metadata")) own->erase("managedFields");
    const api::Value& metadata = value["metadata"];
    object->key = {resource, metadata["namespace"].text(), metadata["name"].text()};
    object->uid = metadata["uid"].text();
    const std::string version = metadata["resourceVersion"].text();
    std::from_chars(version.data(), version.data() + version.size(), object->version);
    api::share_parts(value);
    object->value = std::move(value);
    return object;
}

ObjectPtr Cache::find(const api::Key& key) const {
    const auto kind = objects_.find(key.resource);
    if (kind == objects_.end()) return nullptr;
    const auto found = kind->second.find(Place{key.ns, key.name});
    return found == kind->second.end() ? nullptr : *found;
}

std::vector<ObjectPtr> Cache::list(const api::GroupResource& resource, std::string_view ns) const {
    std::vector<ObjectPtr> found;
    const auto kind = objects_.find(resource);
    if (kind == objects_.end()) return found;
    for (auto at = kind->second.lower_bound(Place{ns, ""}); at != kind->second.end(); ++at) {
        if (!ns.empty() && (*at)->key.ns != ns) break;
        found.push_back(*at);
    }
    return found;
}

std::vector<ObjectPtr> Cache::owned_by(const api::GroupResource& resource,
                                       std::string_view owner_uid) const {
    const auto owned = by_owner_.find({resource, std::string(owner_uid)});
    if (owned == by_owner_.end()) return {};
    return {owned->second.begin(), owned->second.end()};
}

void Cache::put(ObjectPtr object) {
    VERIFY(object != nullptr);
    remove(object->key);
    const std::string owner = controller_uid(object->value);
    if (!owner.empty()) by_owner_[{object->key.resource, owner}].insert(object);
    objects_[object->key.resource].insert(std::move(object));
}

void Cache::remove(const api::Key& key) {
    const auto kind = objects_.find(key.resource);
    if (kind == objects_.end()) return;
    const auto found = kind->second.find(Place{key.ns, key.name});
    if (found == kind->second.end()) return;
    const ObjectPtr gone = *found;  // Both tables stand by its names, and `key` may be its own.
    kind->second.erase(found);
    const auto owned = by_owner_.find({gone->key.resource, controller_uid(gone->value)});
    if (owned == by_owner_.end()) return;
    owned->second.erase(gone);
    if (owned->second.empty()) by_owner_.erase(owned);
}

}  // namespace muster::kube
