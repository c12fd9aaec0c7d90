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
        none,           // No single change found.
        raise_quota,    // `queue`, `flavor`, `resource` by `amount`.
        end_workload,   // `workload`.
        resume_queue,   // `queue`.
        activate,       // Set active to true.
        create_queue,   // `queue` (a local or cluster queue).
        create_flavor,  // `flavor`.
        add_capacity,   // Node capacity: `resource` by `amount`.
    };
    Kind kind = Kind::none;
    std::string queue;
    std::string flavor;
    std::string resource;
    std::string node;  // For add_capacity, when one node must grow.
    std::string workload;
    Amount amount;
};

struct Explanation {
    enum class Verdict { unknown, finished, runs, starts_by_itself, needs_someone, never };
    std::string workload;
    Verdict verdict = Verdict::unknown;
    std::optional<WaitReason> reason;  // Absent when it does not wait.
    std::int64_t position = 0;         // In its queue; 1 is next. 0 when it does not wait.
    std::int64_t waiting = 0;          // How many wait there.
    std::vector<Constraint> constraints;
    std::optional<Time> starts_at;  // When known: the end of a backoff.
    Remedy remedy;
};

/// Explains one workload from the state as it is. A remedy of kind raise_quota or end_workload was
/// tried on a copy of the state and lets the workload start; the other kinds are what must come
/// first.
Explanation why(const State& state, std::string_view workload, Time now);

/// What a remedy of kind raise_quota or end_workload comes to; nothing for the others.
std::vector<Change> changes_of(const State& state, const Remedy& remedy);

}  // namespace muster::decide
