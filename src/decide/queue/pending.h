// decide/queue/pending.h - the waiting workloads of one queue in their order, and which of them
// have been found not to fit.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/persistent_map.h"
#include "base/time.h"
#include "decide/decision.h"
#include "decide/fit/flavor_plan.h"
#include "decide/fit/shape.h"
#include "decide/ids.h"
#include "decide/quota/fraction.h"

namespace muster::decide {

__extension__ typedef __int128 Rank;

/// A workload's place in the order: higher rank first, then who queued earlier, then by name.
struct Turn {
    Rank rank = 0;
    Time queued;
    RankedName name;
    WorkloadId workload{};

    friend bool operator<(const Turn& a, const Turn& b) {
        if (a.rank != b.rank) return a.rank > b.rank;
        if (a.queued != b.queued) return a.queued < b.queued;
        return a.name < b.name;
    }
};

/// What makes waiting workloads interchangeable: if the first of a class does not fit, none does,
/// until something is given back. Priorities of a class grow at one rate, so its order is fixed.
struct ClassKey {
    Workload::Binds binds = Workload::Binds::quota;  // First, so that those bound to nodes adjoin.
    std::int64_t slope_millionths = 0;
    std::int64_t priority = 0;  // Where it makes a difference; else 0.
    ShapeId shape{};
    LocalQueueId local_queue{};  // Where they are ordered by use; else always the same.
    Workload::PreemptionGate gate = Workload::PreemptionGate::open;  // Closed: may not preempt yet.
    friend auto operator<=>(const ClassKey&, const ClassKey&) = default;
};

/// The rank of a workload that gains `slope` per 1,000,000 s: comparable within one slope as it is,
/// between slopes with `rank_at`.
Rank rank_of(std::int64_t priority, std::int64_t slope_millionths, Time created);
Rank rank_at(Rank rank, std::int64_t slope_millionths, Time now);

/// The waiting workloads of a queue, by class. A class is open (to be tried) or blocked (tried,
/// with the reason). Every member is in exactly one class, and every class has members.
class Pending {
public:
    using Reason = std::shared_ptr<const WaitReason>;
    struct Candidate {
        ClassKey key;
        Turn turn;
    };

    void set_strategy(ClusterQueue::Strategy strategy);
    /// What local queues have used of late: those go first that have used less. Empty: use does not
    /// count. True when the order may be another one now.
    bool set_uses(std::map<LocalQueueId, Fraction> uses);
    void insert(ClassKey key, const Turn& turn);
    void erase(ClassKey key, const Turn& turn);

    /// Who is to be tried next: the leader, else the first of all open classes; with StrictFIFO
    /// always the first of all, though it was found not to fit.
    std::optional<Candidate> next(Time now) const;

    /// The first of all.
    std::optional<Candidate> head(Time now) const;

    /// What is new about a reason: nothing, its numbers, or all of it.
    enum class News { none, numbers, all };
    /// The class does not fit. The reason was found with plans of this version.
    News block(ClassKey key, WaitReason reason, std::uint64_t version);
    /// To be tried, alone of its queue.
    void open(ClassKey key) { set_blocked(key, classes_.at(key), false); }
    /// The same, and nobody wants the reason.
    void shut(ClassKey key) { set_blocked(key, classes_.at(key), true); }
    /// The first of the class was tried in vain, but the class stays open.
    News note(ClassKey key, WaitReason reason, std::uint64_t version = 0);
    /// It was found to need more than was free, with plans of this version.
    bool lacks_quota(ClassKey key, std::uint64_t version) const;

    /// A workload that waits for its victims to end goes before all others until it is gone or
    /// stops leading. Not with StrictFIFO.
    void lead(ClassKey key, const Turn& turn, WaitReason reason);
    void stop_leading() { leader_.reset(); }
    bool leads(WorkloadId workload) const { return leader_ && leader_->turn.workload == workload; }
    const std::optional<Candidate>& leader() const { return leader_; }
    Reason leaders_reason() const { return leaders_reason_; }

    /// Opens all blocked classes; they keep their last reason until they are tried.
    void wake();
    /// Opens those for which nodes count; false when there are none.
    bool wake_bound_to_nodes();

    bool has(ClassKey key) const { return classes_.contains(key); }
    /// What is known of the class for good, as long as the version is the same; else null.
    const FlavorPlan* plan_of(ClassKey key, std::uint64_t version) const;
    void know_plan(ClassKey key, FlavorPlan plan, std::uint64_t version);
    /// The last reason of a class; null when it was never tried.
    Reason reason_of(ClassKey key) const;
    bool is_blocked(ClassKey key) const;
    const PersistentSet<Turn>& members_of(ClassKey key) const;
    std::vector<ClassKey> classes() const;
    /// Whether `holds(key, plan)` for a class, with its plan of this version or null.
    template <class Predicate>
    bool any_class(std::uint64_t version, const Predicate& holds) const {
        return std::any_of(classes_.begin(), classes_.end(), [&](const auto& known) {
            const Class& which = known.second;
            return holds(known.first, which.plan_version == version ? which.plan.get() : nullptr);
        });
    }
    /// Calls `visit(key, first)` for each class with the first of its members.
    template <class Visit>
    void visit_classes(const Visit& visit) const {
        for (const auto& [key, which] : classes_)
            visit(key, *which.members.begin());
    }
    std::vector<Turn> in_order(Time now) const;
    std::int64_t size() const { return size_; }
    /// Members of blocked classes, and how many classes those are.
    std::int64_t blocked_size() const { return blocked_size_; }
    std::int64_t blocked_classes() const { return blocked_classes_; }
    std::int64_t class_count() const { return static_cast<std::int64_t>(classes_.size()); }
    bool is_strict() const { return strategy_ == ClusterQueue::Strategy::strict_fifo; }

private:
    struct Class {
        PersistentSet<Turn> members;
        bool blocked = false;
        Reason reason;
        std::uint64_t reason_version = 0;  // Of the plans; 0: said beside the trying.
        std::shared_ptr<const FlavorPlan> plan;
        std::uint64_t plan_version = 0;
    };
    // First members of classes, by slope and local queue: the order within them does not change
    // with time. A group may be empty as long as it has classes.
    using Group = std::pair<std::int64_t, LocalQueueId>;
    using Heads = std::map<Group, std::map<Turn, ClassKey>>;
    using Head = std::map<Turn, ClassKey>::node_type;

    static Group group_of(const ClassKey& key) { return {key.slope_millionths, key.local_queue}; }
    std::optional<Candidate> first(const Heads& heads, Time now) const;
    bool before(const Candidate& a, const Candidate& b, Time now) const;
    std::strong_ordering compare_uses(const ClassKey& a, const ClassKey& b) const;
    Heads& heads_of(const Class& which) { return which.blocked ? blocked_ : open_; }
    void add_head(ClassKey key, const Class& which);
    Head take_head(ClassKey key, const Class& which);
    void put_head(ClassKey key, const Class& which, Head head);
    void set_blocked(ClassKey key, Class& which, bool blocked);

    ClusterQueue::Strategy strategy_ = ClusterQueue::Strategy::best_effort_fifo;
    std::map<ClassKey, Class> classes_;
    Heads open_;
    Heads blocked_;
    std::optional<Candidate> leader_;
    Reason leaders_reason_;
    std::map<LocalQueueId, Fraction> uses_;
    std::int64_t size_ = 0;
    std::int64_t blocked_size_ = 0;
    std::int64_t blocked_classes_ = 0;
};

}  // namespace muster::decide
