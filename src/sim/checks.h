// sim/checks.h - what must hold after every change of every object.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/value.h"
#include "base/amount.h"
#include "base/hash.h"
#include "store/store.h"

namespace muster::sim {

/// Follows the store and checks the invariants after each change:
/// - pods bound to a node never ask for more than it has;
/// - admitted workloads never use more than their queue's quota, flavor by flavor;
/// - an AppWrapper that was never dispatched owns nothing;
/// - a cluster has one living head at most.
class Checks {
public:
    /// Takes in a change. A sentence when something is broken.
    std::optional<std::string> take(const store::Change& change);

    /// Starts over from the store's content (after a crash): known objects are replaced.
    void reset() { objects_.clear(); }

    std::uint64_t trace() const { return trace_; }
    std::int64_t changes() const { return changes_; }
    /// All objects under a store prefix ("/core/pods/").
    std::map<std::string, api::Value> under(std::string_view prefix) const;

private:
    std::optional<std::string> check_nodes() const;
    std::optional<std::string> check_quota() const;
    std::optional<std::string> check_wrappers() const;
    std::optional<std::string> check_heads() const;

    std::map<std::string, api::Value, std::less<>> objects_;
    std::uint64_t trace_ = stable_hash("");
    std::int64_t changes_ = 0;
};

}  // namespace muster::sim
