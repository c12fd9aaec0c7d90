// api/managed_fields.h - metadata.managedFields: who owns which fields of an object.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/field_set.h"
#include "api/value.h"

namespace muster::api {

/// One entry. It is told from others by all but its time and set; one that applied also without
/// regard to its version.
struct FieldOwner {
    enum class Operation { apply, update };
    std::string manager;
    Operation operation = Operation::update;
    std::string api_version;
    std::string subresource;
    std::string time;  // Empty: unknown.
    FieldSet set;
};

bool same_owner(const FieldOwner& a, const FieldOwner& b);

/// Absent when an entry is malformed.
std::optional<std::vector<FieldOwner>> parse_managed_fields(const Value& managed_fields);

/// Sorted as the API server does: who applied first, then by time, then by name. Null when empty.
Value to_managed_fields(std::vector<FieldOwner> owners);

/// Folds the oldest updaters into one until there are at most ten.
void limit_updaters(std::vector<FieldOwner>& owners);

}  // namespace muster::api
