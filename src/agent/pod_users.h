// agent/pod_users.h - gives pods their users: remembers what each namespace has, and keeps other
// Musters of this machine out of it.
#pragma once

#include <set>
#include <string>

#include "agent/descriptor.h"
#include "agent/uid_ranges.h"

namespace muster::agent {

/// The users that the pods of one data folder may have. Lives in the holder, for as long as pods
/// do: what it holds of the machine's ids no other Muster takes.
class PodUserTable {
public:
    /// `directory` is "<data>/agent". Root's ranges are locked in /run/muster. Throws Error.
    PodUserTable(std::string directory, IdSupply supply);

    /// The map for a pod of `ns`; `busy` are the namespaces that have pods. Empty when pods have no
    /// users of their own. Throws Error.
    IdMap map_for(const std::string& ns, const IdsWanted& wanted,
                  const std::set<std::string>& busy);

    /// In a child of the holder: only the holder itself holds the ranges.
    void forget_locks() { locks_.reset(); }

private:
    bool lock_range(std::int64_t range);

    std::string file_;
    IdTable table_;
    std::string written_;
    Descriptor locks_;             // One byte of it is locked for each range.
    std::set<std::int64_t> held_;  // Ranges that are locked by this.
};

}  // namespace muster::agent
