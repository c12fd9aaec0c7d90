// decide/deciding.h - one decision in the making: what its steps share. Only cycle.cpp and
// round.cpp include this.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "decide/evaluate.h"
#include "decide/world.h"

namespace muster::decide {

/// Its steps run in the order in which they stand here.
struct Deciding {
    /// Where the search for flavors goes on for one workload, and how often it has done so.
    struct Progress {
        FlavorMemory memory;
        std::set<FlavorMemory> seen;  // Since anything moved.
    };

    World& world;
    Time now;
    Decision decision{};
    std::set<WorkloadId> admitted{};  // By this decision.
    std::set<QueueId> visited{};
    // Tried and not fitting, with the number of admissions before.
    std::map<std::pair<QueueId, ClassKey>, std::size_t> blocked{};
    std::map<WorkloadId, Progress> progress{};
    std::set<WorkloadId> searched{};          // Have tried all flavors since anything moved.
    std::map<QuotaNode, std::size_t> idle{};  // By root: rounds without effect, one after another.
    std::set<std::pair<QueueId, ClassKey>> overtaken{};  // Would have fitted but for others.

    void settle();
    std::optional<Time> add_up_uses();
    void evict();
    void end_patience();
    void find_places();
    void rest();
    void refresh_reasons();
    void tell();

    void add_up_use(LocalQueueId local);
    void settle_queue(QueueId id);
    std::optional<Evict> must_go(WorkloadId id) const;
    void mark_evicting(WorkloadId id);
    void wake_freed_trees();
    void wake_for_topologies();
    void repair();
    bool repair(WorkloadId id, const std::string& node);
    bool wake_gangs();
    std::set<QueueId> queues_of_round() const;
    std::set<QueueId> with_keepers(std::set<QueueId> queues) const;
    /// Searches that had come to nothing may come to something.
    void moved();
    /// It may still hold up its queue as Kueue would let it.
    bool is_patient(WorkloadId id) const;
    void be_patient(WorkloadId id);
    void tell_overtaken();
    void block(QueueId id, ClassKey key, WaitReason reason);
    /// One round: of each of the queues that has someone, the first is tried against the state as
    /// it is; then all of them come to their turn. Queues at rest leave `to_try`.
    void round(const std::set<QueueId>& queues);
};

}  // namespace muster::decide
