// agent/subordinate_ids.h - the ids that /etc/subuid and /etc/subgid give to a user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster::agent {

struct SubordinateRange {
    std::int64_t first = 0;
    std::int64_t count = 0;
    friend bool operator==(const SubordinateRange&, const SubordinateRange&) = default;
};

/// The longest range of the user, who is named or numbered, in the text of such a file; a line that
/// cannot be read counts for nothing.
std::optional<SubordinateRange> subordinate_range(std::string_view text, std::string_view name,
                                                  std::int64_t id);

/// The user namespace of a Muster that is not root.
struct OwnNamespace {
    std::int64_t count = 0;  // Subordinate ids in it, from 1 on; 0: there are none.
    std::string problem;     // Why there are none, and what to do.
};

/// Moves the calling process, which has one thread, into a user namespace in which it is root, with
/// its user's subordinate ids where newuidmap gives them. Throws Error where the machine allows no
/// user namespaces.
OwnNamespace enter_own_user_namespace();

}  // namespace muster::agent
