// decide/preempt/victims.h - whom a workload that does not fit may preempt, and whom it must: as
// few as needed.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "base/time.h"
#include "decide/decision.h"
#include "decide/fit/flavors.h"
#include "decide/ids.h"
#include "decide/quota/tree.h"

namespace muster::decide {

struct World;

/// Who wants room, and for what.
struct Preemptor {
    WorkloadId workload{};
    QueueId queue{};
    std::int64_t priority = 0;
    Time queued;
    std::vector<Share> needs;               // One per flavor and resource, no zeros.
    std::vector<FlavorResource> contested;  // Of them, what is not free now.
};

struct Victim {
    WorkloadId workload{};
    PreemptionCause cause = PreemptionCause::in_cluster_queue;
};

/// What holds quota and what is where. `tree` is changed while victims are sought and then as it
/// was; it may hold more than `world` says (room that is kept for others).
struct Scene {
    const World& world;
    QuotaTree& tree;
    const std::set<WorkloadId>& gone;  // Holders that are taken out of `tree` already.
};

/// What must hold besides quota once these have gone; empty: nothing.
using Suits = std::function<bool(const std::vector<Victim>&)>;

/// The workloads that must go so that the preemptor fits, and why they may be preempted; empty when
/// no choice of them is enough. None can be left out. Those that are being evicted already come
/// first; then Kueue's order, classical or by fair sharing.
std::vector<Victim> find_victims(const Scene& scene, const Preemptor& preemptor,
                                 const Suits& suits);

/// What preemption could do for one resource of one flavor alone, given the victims found for it.
PreemptionOutlook preemption_outlook(const Scene& scene, const Preemptor& preemptor,
                                     const std::vector<Victim>& victims);

/// Takes what the victims use out of the tree for as long as it lives.
class Removal {
public:
    Removal(const Scene& scene, const std::vector<Victim>& victims);
    Removal(const Removal&) = delete;
    Removal& operator=(const Removal&) = delete;
    ~Removal();

private:
    QuotaTree& tree_;
    std::vector<std::pair<QuotaNode, Share>> removed_;
};

}  // namespace muster::decide
