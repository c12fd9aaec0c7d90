// decide/deciding.h - one decision in the making: what its steps share. Only the files of its steps
// include this.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "decide/turns.h"
#include "decide/world.h"

namespace muster::decide {

/// Where Kueue would wait without end, for as long as this it is done as there.
constexpr Duration patience_limit = seconds(60);

/// Its steps run in the order in which they stand here.
struct Deciding {
    /// Where the search for flavors goes on for one workload, and how often it has done so.
    struct Progress {
        FlavorMemory memory;
        std::vector<FlavorMemory> seen;  // Since anything moved, in their order.
        Try::Preempting preempting = Try::Preempting::considered;

        /// It goes on from there; false when it has come by there before, or has no end.
        bool goes_on(FlavorMemory next);
        /// Of those that it comes by in turns the first in their order, wherever it began.
        const FlavorMemory& turning_point() const;
    };

    World& world;
    Time now;
    Duration gathering;
    Decision decision{};
    IdSet<WorkloadId> admitted{};  // By this decision.
    IdSet<QueueId> visited{};
    // Tried and not fitting, with the number of admissions near them before.
    std::map<std::pair<QueueId, ClassKey>, std::size_t> blocked{};
    std::map<WorkloadId, Progress> progress{};
    // By root: have tried all flavors since anything moved near them.
    std::map<QuotaNode, std::set<WorkloadId>> searched{};
    std::map<QuotaNode, std::size_t> admissions_in{};   // By root.
    std::map<PlaceGroup, std::size_t> admissions_to{};  // By queues that have such places.
    std::map<QuotaNode, std::size_t> idle{};  // By root: rounds without effect, one after another.
    std::set<std::pair<QueueId, ClassKey>> overtaken{};  // Would have fitted but for others.
    IdSet<QuotaNode> gathering_trees{};  // By root: what comes back there is given out later.
    std::optional<Time> gathered_at{};   // When the first of them is due.
    IdSet<QueueId> later{};              // Of them: to be tried then.
    /// A workload of a lined-up tree that starts in the round at hand.
    struct Starting {
        QuotaNode root{};
        QueueId queue{};
        Pending::Candidate candidate;
    };
    std::map<QuotaNode, Lineup*> lined_up{};  // By root: trees that were woken and are not at rest.
    std::vector<Starting> starting{};
    // Of one round; here, so that their memory serves the next one.
    std::vector<Nominee> nominees{};
    std::vector<Nominee*> hopeful{};

    void settle();
    std::optional<Time> add_up_uses();
    void evict();
    void end_patience();
    void find_places();
    void open_what_heard_nothing(WorkloadId id, QueueId queue);
    void rest();
    void refresh_reasons();
    void tell();

    void add_up_use(LocalQueueId local);
    void settle_queue(QueueId id);
    /// The reports of the queue and of its local queues may be others.
    void tell_changed(QueueId id);
    std::optional<Evict> must_go(WorkloadId id) const;
    void mark_evicting(WorkloadId id);
    void gather();
    void gather_neighbours(const std::set<PlaceGroup>& places);
    bool is_gathering(QueueId id) const;
    void put_gathering_aside();
    bool has_someone_to_try();
    void wake_freed_trees();
    void wake_for_topologies();
    void repair();
    bool repair(WorkloadId id, const std::string& node);
    bool wake_gangs();
    IdSet<QueueId> queues_of_round() const;
    IdSet<QueueId> with_keepers(IdSet<QueueId> queues) const;
    /// In this queue: searches near it that had come to nothing may come to something.
    void moved(QueueId id);
    void count_admission(QueueId id);
    /// By this decision, of those that the queue may meet.
    std::size_t admissions_near(QueueId id) const;
    /// It may still hold up its queue as Kueue would let it.
    bool is_patient(WorkloadId id) const;
    void be_patient(WorkloadId id);
    void tell_overtaken();
    void block(QueueId id, ClassKey key, WaitReason reason);
    void tell_class(QueueId id, ClassKey key, Pending::News news);
    std::vector<Amount> free_in(QueueId id) const;

    // wake.cpp: whom it is worth trying.

    /// Has the class's plan of flavors ready.
    const FlavorPlan& know_plan(QueueId id, ClassKey key);
    /// The plan of a class that quota alone decides about; null for any other.
    const FlavorPlan* measure(QueueId id, ClassKey key);
    bool may_start(QueueId id, ClassKey key, Headroom& free);
    /// Searches that were turning in their queue begin anew with what its workloads gave back, but
    /// for that of a head: it is tried all the time.
    void forget_searches(QueueId id);
    /// How the candidate is tried next.
    Try next_try(QueueId id, const Pending::Candidate& candidate);
    const FlavorMemory* preempted_for(QuotaNode root, WorkloadId id) const;
    /// Tries it as the state is now.
    Attempt attempt(QuotaNode root, QueueId id, const Pending::Candidate& candidate);
    bool anyone_may_start(QueueId id);
    /// Nobody wants a reason again with other numbers.
    bool keeps_its_numbers(QueueId id, ClassKey key);
    bool is_in_large_tree(QueueId id) const;
    bool is_large_tree(QuotaNode root) const;
    /// All who wait there are blocked, for reasons that stay as long as nobody may start.
    bool is_told(QueueId id);
    /// Those of one tree who hear first of what was given back.
    enum class Heads { hear, wait };
    IdSet<QueueId> take_gathered(IdSet<QueueId>& queues) const;
    void try_in_front(const std::vector<QueueId>& queues, const IdSet<QueueId>& awake, Heads heads);
    void wake_all_in(const std::vector<QueueId>& queues);
    /// Nobody of the queue may start: all are blocked, with reasons of now.
    void pass_over_all(QueueId id);
    /// It does not fit for certain: it is blocked as if it had been tried.
    void pass_over(QueueId id, const Pending::Candidate& candidate);
    /// Whether somebody in these queues of one tree may start or preempt. Puts aside, one of each
    /// queue at a time, those that would be tried in vain before.
    bool has_hope(QuotaNode root, std::span<const QueueId> queues);
    enum class Trying { everybody, where_there_is_hope };
    /// The queues with their roots, by root; without trees in which nobody can start: as far as
    /// this round is concerned, they are at rest.
    std::vector<std::pair<QuotaNode, QueueId>> with_hope(const IdSet<QueueId>& queues,
                                                         Trying trying);
    /// The lineup of a tree where it may stand for waking everybody, else null.
    Lineup* lineup_of(QuotaNode root);
    /// Of each lined-up tree those who start next: their classes are open while this round lasts.
    const std::vector<Starting>& take_from_lineups();
    void close_lineups();
    /// One round: of each of the queues that has someone, the first is tried against the state as
    /// it is; then all of them come to their turn. Queues at rest leave `to_try`.
    void round(const IdSet<QueueId>& queues, Trying trying);
};

}  // namespace muster::decide
