// agent/identity.h - whom a container's processes run as, and what they may do.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/capabilities.h"
#include "agent/descriptor.h"
#include "api/value.h"

namespace muster::agent {

/// User, group and further groups, as the pod sees them.
struct Identity {
    std::int64_t user = 0;
    std::int64_t group = 0;
    std::vector<std::int64_t> groups{};
    Capabilities capabilities = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// Whether pods have users of their own.
enum class PodUsers {
    own,     // A range of the machine's ids for each namespace.
    shared,  // All are Muster's own user, whatever number they see. There are no further groups.
};

/// What securityContext of container and pod ask for.
Identity identity_for(const api::Value& pod, const api::Value& container, PodUsers users);

api::Value to_value(const Identity& identity);
Identity identity_of(const api::Value& value);

/// Makes the calling process that user, with its capabilities and no others, for good and for all
/// descendants. `users` is the pod's user namespace; empty: one is made in which the user is this
/// process's own. Throws Error.
void become(const Identity& identity, const Descriptor& users);

}  // namespace muster::agent
