// decide/why.h - the complete answer to "why does it wait, and what would help".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/amount.h"
#include "base/time.h"
#include "decide/cycle.h"
#include "decide/decision.h"

namespace muster::decide {

/// One thing that is short, in numbers.
struct Constraint {
    enum class Place { quota, nodes, empty_nodes };
    Place place = Place::quota;
    std::string queue;    // For quota.
    std::string flavor;   // For quota.
    std::string node;     // For nodes (empty ones: nobody holds), one or, without, all together.
    std::string pod_set;  // Empty: the whole workload.
    std::string resource;
    Amount needed;
    Amount free;
    Amount capacity;  // The quota, or what is allocatable.
    Amount short_by;
    std::vector<Holder> holders;  // Most first; at most five.
    std::int64_t more_holders = 0;
};

/// The smallest single change that would let it start now.
struct Remedy {
    enum class Kind {
        none,                   // No single change found.
        raise_quota,            // `queue`, `flavor`, `resource` by `amount`.
        raise_borrowing_limit,  // The same.
        cover_resource,         // The same, of a resource that `queue` had no quota of.
        end_workload,           // `workload`.
        raise_priority,         // Of itself, `workload`, to `priority`.
        resume_queue,           // `queue`.
        activate,               // Set active to true.
        create_queue,           // `queue` (a local or cluster queue).
        create_flavor,          // `flavor`.
        create_topology,        // `missing`, that a flavor of `queue` names.
        create_check,           // `missing`, an admission check of `queue`.
        label_namespace,        // `label` ("team=a"), that the selector of `queue` demands.
        tolerate_taint,         // `flavor` gets a toleration of `taint`.
        open_gate,              // The admission gate or the preemption gate of `workload`.
        fit_flavor,             // Pods of `pod_set` of `workload` select nodes as `flavor` has.
        fewer_pods,             // `pod_set` of `workload` by `amount` pods.
        ask_less,               // Each pod of `pod_set` of `workload` by `amount` of `resource`.
        add_capacity,           // Node capacity: `resource` by `amount`, on `node` if named.
        add_node,               // One like `node` with room for `amount` pods of `workload`.
    };
    Kind kind = Kind::none;
    std::string queue;
    std::string flavor;
    std::string resource;
    std::string node;
    std::string workload;
    std::string taint;    // The key of one.
    std::string ns;       // For label_namespace.
    std::string label;    // The same.
    std::string pod_set;  // Of `workload`.
    std::string missing;  // The name of what does not exist.
    Amount amount;
    std::int64_t priority = 0;
    /// Tried on a copy of the state: it starts then. Else it is what must come first.
    bool starts_it = true;
};

struct Explanation {
    /// `reserved`: it has its quota and waits for its admission checks.
    enum class Verdict {
        unknown,
        finished,
        runs,
        reserved,
        starts_by_itself,
        needs_someone,
        never
    };
    std::string workload;
    Verdict verdict = Verdict::unknown;
    std::optional<WaitReason> reason;  // Absent when it does not wait.
    std::int64_t position = 0;         // In its queue; 1 is next. 0 when it does not wait.
    std::int64_t waiting = 0;          // How many wait there.
    std::vector<Constraint> constraints;
    std::optional<Time> starts_at;  // When known: the end of a backoff.
    Remedy remedy;
    std::int64_t changes_tried = 0;  // On copies of the state, in search of the remedy.
};

/// Explains one workload from the state as it is.
Explanation why(const State& state, std::string_view workload, Time now);

/// What a remedy comes to; nothing where it is not a change of what is known (a new queue, capacity
/// of no node in particular).
std::vector<Change> changes_of(const State& state, const Remedy& remedy);

/// The next smaller one of the same kind, which does not let the workload start. Absent: there is
/// none.
std::optional<Remedy> less_of(const Remedy& remedy);

}  // namespace muster::decide
