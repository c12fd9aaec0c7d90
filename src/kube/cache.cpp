// kube/cache.cpp - the seen objects and their indexes.
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
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : (*found)->object;
}

std::vector<ObjectPtr> Cache::list(const api::GroupResource& resource, std::string_view ns) const {
    std::vector<ObjectPtr> found;
    const auto kind = objects_.find(resource);
    if (kind == objects_.end()) return found;
    for (auto at = kind->second.lower_bound(Place{ns, ""}); at != kind->second.end(); ++at) {
        if (!ns.empty() && at->object->key.ns != ns) break;
        found.push_back(at->object);
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
    const auto found = by_key_.find(object->key);
    if (found == by_key_.end()) {
        add_to_indexes(object);
        by_key_.insert(objects_[object->key.resource].insert({std::move(object)}).first);
        return;
    }
    const ObjectPtr& before = (*found)->object;
    remove_from_indexes(before);
    add_to_indexes(object);
    (*found)->object = std::move(object);
}

void Cache::remove(const api::Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    const Cells::const_iterator cell = *found;
    const ObjectPtr gone = cell->object;  // The tables stand by its key, and `key` may be its own.
    by_key_.erase(found);
    objects_.at(gone->key.resource).erase(cell);
    remove_from_indexes(gone);
}

void Cache::add_index(const Index& index) {
    VERIFY(!objects_.contains(index.resource));
    if (find_index(index.resource, index.word) != nullptr) return;
    indexes_[index.resource].push_back({index.word, {}});
}

const Cache::Indexed* Cache::find_index(const api::GroupResource& resource, IndexFunc word) const {
    const auto of_kind = indexes_.find(resource);
    if (of_kind == indexes_.end()) return nullptr;
    const auto found = std::find_if(of_kind->second.begin(), of_kind->second.end(),
                                    [&](const Indexed& each) { return each.word == word; });
    return found == of_kind->second.end() ? nullptr : &*found;
}

std::vector<ObjectPtr> Cache::by_index(const api::GroupResource& resource, std::string_view ns,
                                       IndexFunc word, std::string_view value) const {
    VERIFY(!value.empty());
    if (const Indexed* index = find_index(resource, word)) {
        const auto found = index->by_word.find(std::pair(std::string(ns), std::string(value)));
        if (found == index->by_word.end()) return {};
        return {found->second.begin(), found->second.end()};
    }
    std::vector<ObjectPtr> found = list(resource, ns);
    std::erase_if(found, [&](const ObjectPtr& object) { return word(*object) != value; });
    return found;
}

void Cache::add_to_indexes(const ObjectPtr& object) {
    const std::string owner = controller_uid(object->value);
    if (!owner.empty()) by_owner_[{object->key.resource, owner}].insert(object);
    const auto indexes = indexes_.find(object->key.resource);
    if (indexes == indexes_.end()) return;
    for (Indexed& index : indexes->second) {
        const std::string_view word = index.word(*object);
        if (!word.empty())
            index.by_word[{std::string(object->key.ns), std::string(word)}].insert(object);
    }
}

void Cache::remove_from_indexes(const ObjectPtr& object) {
    const auto remove = [&](auto& index, const auto& place) {
        const auto found = index.find(place);
        if (found == index.end()) return;
        found->second.erase(object);
        if (found->second.empty()) index.erase(found);
    };
    remove(by_owner_, std::pair(object->key.resource, controller_uid(object->value)));
    const auto indexes = indexes_.find(object->key.resource);
    if (indexes == indexes_.end()) return;
    for (Indexed& index : indexes->second)
        remove(index.by_word,
               std::pair(std::string(object->key.ns), std::string(index.word(*object))));
}

}  // namespace muster::kube
