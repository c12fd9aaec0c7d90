// api/kind.cpp - the registry: all families of kinds in discovery order, and look-ups in it.
#include "api/kind.h"

#include <unordered_map>
#include <utility>

#include "api/definition.h"
#include "api/kind_families.h"
#include "base/verify.h"

namespace muster::api {
namespace {

std::vector<Kind> make_all() {
    std::vector<Kind> all = builtin_kinds();
    for (auto family : {kueue_kinds, ray_kinds, appwrapper_kinds}) {
        for (Kind& kind : family())
            all.push_back(std::move(kind));
    }
    return all;
}

/// "group/name" of each kind, by plural and by kind; made once, as the registry is.
struct Lookup {
    std::unordered_map<std::string, const Kind*> by_plural;
    std::unordered_map<std::string, const Kind*> by_kind;
    Lookup() {
        for (const Kind& kind : all_kinds()) {
            by_plural.emplace(kind.group + "/" + kind.plural, &kind);
            by_kind.emplace(kind.group + "/" + kind.kind, &kind);
        }
    }
};

const Lookup& lookup() {
    static const Lookup made;
    return made;
}

const Kind* find_in(const std::unordered_map<std::string, const Kind*>& map, std::string_view group,
                    std::string_view name) {
    std::string key(group);
    key.append("/").append(name);
    const auto found = map.find(key);
    return found == map.end() ? nullptr : found->second;
}

/// Bodies that are neither kept nor reviews. Clients write DeleteOptions and Status in the group
/// that they talk to.
const Schema* find_body(std::string_view api_version, std::string_view kind) {
    struct Body {
        std::string_view api_version, kind, definition;
    };
    static const Body bodies[] = {
        {"", "DeleteOptions", "meta.v1.DeleteOptions"},
        {"", "Status", "meta.v1.Status"},
        {"autoscaling/v1", "Scale", "autoscaling.v1.Scale"},
        {"policy/v1", "Eviction", "policy.v1.Eviction"},
        {"authentication.k8s.io/v1", "TokenRequest", "authentication.v1.TokenRequest"},
    };
    for (const Body& body : bodies) {
        const bool same_group = body.api_version.empty() || body.api_version == api_version;
        if (same_group && body.kind == kind) return schema_of(body.definition).get();
    }
    return nullptr;
}

}  // namespace

GroupVersion parse_group_version(std::string_view api_version) {
    const std::size_t slash = api_version.find('/');
    if (slash == std::string_view::npos) return {"", std::string(api_version)};
    return {std::string(api_version.substr(0, slash)), std::string(api_version.substr(slash + 1))};
}

std::string to_api_version(const GroupVersion& group_version) {
    if (group_version.group.empty()) return group_version.version;
    return group_version.group + "/" + group_version.version;
}

std::string to_text(const Key& key) {
    std::string text = key.resource.plural;
    if (!key.resource.group.empty()) text += "." + key.resource.group;
    if (!key.ns.empty()) text += "/" + key.ns;
    return text + "/" + key.name;
}

const Version* Kind::find_version(std::string_view version) const {
    for (const Version& each : versions) {
        if (each.name == version) return &each;
    }
    return nullptr;
}

const Schema& Kind::storage_schema() const {
    if (stored_schema != nullptr) return *stored_schema;
    return *find_version(stored_as.empty() ? storage : versions[0].name)->schema;
}

const std::vector<Kind>& all_kinds() {
    static const std::vector<Kind> kinds = make_all();
    return kinds;
}

const std::vector<Kind>& review_kinds() {
    static const std::vector<Kind> kinds = builtin_review_kinds();
    return kinds;
}

const Kind* find_kind(std::string_view group, std::string_view plural) {
    return find_in(lookup().by_plural, group, plural);
}

const Kind* find_kind_named(std::string_view group, std::string_view kind) {
    return find_in(lookup().by_kind, group, kind);
}

const Kind* Kinds::find(std::string_view group, std::string_view plural) const {
    if (const Kind* kind = find_kind(group, plural)) return kind;
    if (added_.empty()) return nullptr;
    const auto found = added_.find({std::string(group), std::string(plural)});
    return found == added_.end() ? nullptr : found->second.get();
}

const Kind* Kinds::find_named(std::string_view group, std::string_view kind) const {
    if (const Kind* found = find_kind_named(group, kind)) return found;
    for (const auto& [resource, each] : added_) {
        if (each->group == group && each->kind == kind) return each.get();
    }
    return nullptr;
}

std::shared_ptr<const Kind> Kinds::find_shared(std::string_view group,
                                               std::string_view plural) const {
    // Those of the tables live as long as the program.
    if (const Kind* kind = find_kind(group, plural)) return {std::shared_ptr<const Kind>(), kind};
    const auto found = added_.find({std::string(group), std::string(plural)});
    return found == added_.end() ? nullptr : found->second;
}

std::vector<const Kind*> Kinds::all() const {
    std::vector<const Kind*> all;
    for (const Kind& kind : all_kinds())
        all.push_back(&kind);
    for (const auto& [resource, kind] : added_)
        all.push_back(kind.get());
    return all;
}

std::vector<std::shared_ptr<const Kind>> Kinds::added() const {
    std::vector<std::shared_ptr<const Kind>> kinds;
    for (const auto& [resource, kind] : added_)
        kinds.push_back(kind);
    return kinds;
}

void Kinds::add(Kind kind) {
    const GroupResource resource = kind.resource();
    VERIFY(find_kind(resource.group, resource.plural) == nullptr);
    added_[resource] = std::make_shared<const Kind>(std::move(kind));
}

void Kinds::remove(const GroupResource& resource) {
    added_.erase(resource);
}

const Schema* find_schema(std::string_view api_version, std::string_view kind) {
    const GroupVersion wanted = parse_group_version(api_version);
    if (const Kind* found = find_kind_named(wanted.group, kind)) {
        const Version* version = found->find_version(wanted.version);
        return version == nullptr ? nullptr : &*version->schema;
    }
    for (const Kind& review : review_kinds()) {
        if (review.group != wanted.group || review.kind != kind) continue;
        const Version* version = review.find_version(wanted.version);
        if (version != nullptr) return &*version->schema;
    }
    return find_body(api_version, kind);
}

}  // namespace muster::api
