// decide/cycle.h - the entry: what happened goes into the state, what to change comes out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/change.h"
#include "decide/decision.h"

namespace muster::decide {

struct World;

/// The whole world of queues as one value, changed only by `apply` and `decide`. Usage always
/// equals the sum of what holds it.
class State {
public:
    State();
    State(const State& other);
    State(State&& other) noexcept;
    State& operator=(const State& other);
    State& operator=(State&& other) noexcept;
    ~State();

    const World& world() const { return *world_; }
    World& world() { return *world_; }

private:
    std::unique_ptr<World> world_;
};

/// Takes in one thing that happened. Decides nothing. A change about something unknown is kept
/// where it may come true later (a pod on a node not yet seen) and is otherwise without effect.
void apply(State& state, const Change& change);

/// Runs cycles until nothing moves any more and returns all that changed. What it decides holds in
/// the state at once: called again without a change it returns nothing.
///
/// Deterministic: the same changes and times give the same decisions; the order in which objects
/// were set does not matter. A gang is admitted whole or not at all. No admission exceeds a quota.
///
/// What comes back to a tree of queues (quota, room on nodes) is given out when `gathering` has
/// passed since the first of it was seen, all of it at once: to whoever is first among all that it
/// is enough for. Until then that tree waits, with those that may share nodes with it and to which
/// something came back as well; no other.
Decision decide(State& state, Time now, Duration gathering = {});

/// What the status of a queue shows.
struct QueueReport {
    struct Use {
        Amount used;  // By all that holds quota.
        Amount borrowed;
        Amount nominal;
        Amount reserved = {};  // Of `used`, by those that still wait for admission checks.
    };
    enum class Active {
        ready,
        stopped,
        flavor_not_found,
        cohort_cycle,
        topology_not_found,
        check_not_found,
        check_inactive,
        cluster_queue_not_found,  // Local queues only, as is the next.
        cluster_queue_inactive,
    };
    Active active = Active::ready;
    std::string detail;  // The names of what is missing or inactive.
    std::int64_t pending = 0;
    std::int64_t inadmissible = 0;  // Of `pending`: tried in vain, or nobody may be tried.
    std::int64_t admitted = 0;      // Everything that holds quota.
    std::int64_t reserved = 0;      // Of `admitted`, those that still wait for admission checks.
    /// Kinds of waiting workloads (equal ones are one): those to be tried, and tried in vain.
    std::int64_t open_classes = 0;
    std::int64_t blocked_classes = 0;
    std::vector<std::string> cohorts = {};                      // From the root to its own.
    std::map<std::string, std::map<std::string, Use>> flavors;  // Flavor -> resource.
    /// With fair sharing: the dominant share of what is borrowed, in thousandths of what can be
    /// lent and divided by the weight, rounded up; the largest int64 with weight 0 and anything
    /// borrowed.
    std::optional<std::int64_t> weighted_share;
    /// Of a local queue, with sharing by use: what it has used of late.
    struct PastUse {
        std::map<std::string, std::int64_t> thousandths;  // Of amounts, by resource.
        std::int64_t weighted = 0;  // By which queues are compared, in thousandths of units.
        Time updated;
    };
    std::optional<PastUse> use = {};
};

/// Absent when there is no such queue.
std::optional<QueueReport> report_queue(const State& state, std::string_view name);
std::optional<QueueReport> report_local_queue(const State& state, std::string_view ns,
                                              std::string_view name);

/// What a queue's waiting workloads ask for, all together; not those of stopped local queues.
Resources pending_resources(const State& state, std::string_view queue);

/// A cohort, with an object or without.
struct CohortReport {
    std::vector<std::string> cohorts;                          // From the root to its parent.
    std::map<std::string, std::map<std::string, Amount>> own;  // Its subtree's, by flavor.
};
std::optional<CohortReport> report_cohort(const State& state, std::string_view name);
/// Those that exist or have members, by name.
std::vector<std::string> cohorts_in_use(const State& state);

/// The weighted share of a cohort, as in QueueReport. Absent without fair sharing or such a cohort.
std::optional<std::int64_t> weighted_share_of_cohort(const State& state, std::string_view name);

/// The workloads that wait in a cluster queue (empty name: those without a queue), first first.
std::vector<std::string> waiting_in(const State& state, std::string_view cluster_queue, Time now);

/// Everybody who is pending in a cluster queue: first those in its order, then those who must wait
/// for something else before they are in it (a backoff, a stopped queue).
std::vector<std::string> pending_in(const State& state, std::string_view cluster_queue, Time now);

/// The reason for which it waits, as last decided. Absent when it does not wait or is unknown.
std::optional<WaitReason> wait_reason(const State& state, std::string_view workload);

/// Of waiting workloads of one queue that need the same at one priority only the first is tried,
/// and what is found holds for the others. Who was tried in place of this one; absent when it
/// stands for itself.
std::optional<std::string> tried_in_place_of(const State& state, std::string_view workload);

/// What it holds. Absent when it holds nothing or is unknown.
std::optional<Assignment> assignment_of(const State& state, std::string_view workload);
/// The ClusterQueue that gives what it holds. Empty: none does.
std::string queue_that_gives(const State& state, std::string_view workload);

/// Words for each invariant that does not hold; empty when all do. For tests and the simulator.
std::vector<std::string> broken_invariants(const State& state);

}  // namespace muster::decide
