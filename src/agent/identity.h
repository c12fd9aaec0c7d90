// agent/identity.h - whom a container's processes run as.
#pragma once

#include <cstdint>
#include <vector>

#include "api/value.h"

namespace muster::agent {

/// User, group and further groups. Without root there is only Muster's own user: a process that
/// asks for another number sees that number in a user namespace of its own.
struct Identity {
    std::int64_t user = 0;
    std::int64_t group = 0;
    std::vector<std::int64_t> groups;
    bool nested = false;  // By a user namespace.
    friend bool operator==(const Identity&, const Identity&) = default;

    bool is_root() const { return user == 0 && group == 0 && groups.empty(); }
};

/// What securityContext of container and pod ask for. `rootless`: Muster is not root outside.
Identity identity_for(const api::Value& pod, const api::Value& container, bool rootless);

api::Value to_value(const Identity& identity);
Identity identity_of(const api::Value& value);

/// Makes the calling process that user, without any capability, for good and for all descendants.
/// Throws Error.
void become(const Identity& identity);

}  // namespace muster::agent
