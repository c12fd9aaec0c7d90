// api/scale_owners.cpp - see scale_owners.h.
#include "api/scale_owners.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace muster::api {
namespace {

using Owners = std::vector<FieldOwner>;

constexpr const char* scale_version = "autoscaling/v1";

/// The set of one path: ".spec.replicas".
FieldSet only(std::string_view path) {
    FieldSet set;
    if (path.starts_with('.')) path.remove_prefix(1);
    if (path.empty()) {
        set.member = true;
        return set;
    }
    const std::size_t dot = std::min(path.find('.'), path.size());
    set.at("f:" + std::string(path.substr(0, dot))) = only(path.substr(dot));
    return set;
}

bool is_known(const ReplicasPlace& place, const FieldOwner& owner) {
    return std::find(place.versions.begin(), place.versions.end(), owner.api_version) !=
           place.versions.end();
}

bool owns(const FieldOwner& owner, const FieldSet& field) {
    return field_intersection(owner.set, field) == field;
}

/// The same writer, whatever the version: a Scale has its own.
bool is_same_writer(const FieldOwner& a, const FieldOwner& b) {
    return a.manager == b.manager && a.operation == b.operation && a.subresource == b.subresource;
}

}  // namespace

Value owners_of_scale(const ReplicasPlace& place, const Value& managed_fields) {
    const FieldSet replicas = only(place.path);
    Owners owners;
    for (FieldOwner& owner : parse_managed_fields(managed_fields).value_or(Owners())) {
        if (!is_known(place, owner) || !owns(owner, replicas)) continue;
        owner.api_version = scale_version;
        owner.set = only(".spec.replicas");
        owners.push_back(std::move(owner));
    }
    return to_managed_fields(std::move(owners));
}

Value owners_with_scale(const ReplicasPlace& place, const Value& managed_fields, const Value& scale,
                        const std::string& api_version) {
    std::optional<Owners> owners = parse_managed_fields(managed_fields);
    if (!owners) return managed_fields;
    const FieldSet replicas = only(place.path);
    Owners scalers = parse_managed_fields(scale).value_or(Owners());
    std::erase_if(scalers,
                  [](const FieldOwner& owner) { return !owns(owner, only(".spec.replicas")); });
    std::erase_if(*owners, [&](const FieldOwner& owner) { return !is_known(place, owner); });
    for (FieldOwner& owner : *owners) {
        if (!owns(owner, replicas)) continue;
        const auto kept =
            std::find_if(scalers.begin(), scalers.end(),
                         [&](const FieldOwner& scaler) { return is_same_writer(scaler, owner); });
        if (kept == scalers.end()) {
            owner.set = field_difference(owner.set, replicas);
        } else {
            scalers.erase(kept);
        }
    }
    std::erase_if(*owners, [](const FieldOwner& owner) { return owner.set.empty(); });
    for (FieldOwner& scaler : scalers)
        owners->push_back(
            {scaler.manager, scaler.operation, api_version, scaler.subresource, "", replicas});
    return to_managed_fields(*std::move(owners));
}

}  // namespace muster::api
