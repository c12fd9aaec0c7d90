// decide/preempt/candidates.h - holders of contested quota whom the policies let a workload
// preempt, and taking them out of the tree by way of trial.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decide/preempt/victims.h"
#include "decide/world.h"

namespace muster::decide {

/// A holder that may be preempted.
struct Candidate {
    WorkloadId workload{};
    QueueId queue{};
    QuotaNode node{};      // Of the queue.
    bool leaving = false;  // Being evicted already.
    bool own = false;      // Of the preemptor's queue.
    std::int64_t priority = 0;
    Time reserved;
    Fraction use;  // Of its local queue, when it is of the preemptor's queue and goes by that.
    RankedName name;
    std::vector<Share> usage;
    PreemptionCause cause = PreemptionCause::in_cluster_queue;
    bool unless_borrowing = false;   // Not while the preemptor borrows.
    std::optional<QuotaNode> under;  // The lowest cohort above it and the preemptor.
};

/// Leaving ones first, then those of other queues, lower priorities, newer ones, and by name.
bool preempted_before(const Candidate& a, const Candidate& b);

/// Those of one queue that the policies give up, in their order: the preemptor's own queue by its
/// policy, another by the one for the cohort. Holders are looked at only as far as they are asked
/// for. They stay where they are as long as the line lives.
class CandidateLine {
public:
    /// What else is to be said of each of them.
    using Dress = std::function<void(Candidate&)>;
    CandidateLine(const Scene& scene, const Preemptor& preemptor, QueueId queue, Dress dress = {});

    /// Null when there are no more.
    const Candidate* peek();
    /// Requires: one was seen.
    void pop() { ++at_; }
    void rewind() { at_ = 0; }
    QueueId queue() const { return queue_; }
    /// From here on those are passed over who use at least as much of all that this one uses;
    /// null: nobody.
    void leave_out(const Candidate* refused) { refused_ = refused; }

private:
    void begin();
    void find_next();
    bool gives_up(const WorkloadEntry& holder) const;
    bool ends_before(const HolderTurn& holder) const;

    const Scene& scene_;
    const Preemptor& preemptor_;
    QueueId queue_;
    Dress dress_;
    std::vector<std::unique_ptr<Candidate>> found_;
    std::size_t at_ = 0;
    bool has_begun_ = false;
    const Candidate* refused_ = nullptr;
    PersistentSet<HolderTurn>::Iterator next_;
    PersistentSet<HolderTurn>::Iterator end_;
};

/// Lines as one, in the order of candidates.
class MergedLines {
public:
    explicit MergedLines(std::deque<CandidateLine>& lines);
    const Candidate* peek() const { return heap_.empty() ? nullptr : heap_.front().first; }
    void pop();

private:
    using Front = std::pair<const Candidate*, CandidateLine*>;
    static bool is_later(const Front& a, const Front& b) {
        return preempted_before(*b.first, *a.first);
    }
    std::vector<Front> heap_;
};

/// The node stays within its own quota in everything that is contested.
bool within_nominal(const QuotaTree& tree, QuotaNode node, const Preemptor& preemptor);

enum class Borrowing { allowed, forbidden };

/// The search for victims as far as it has come: those chosen are out of the tree until the end.
class Trial {
public:
    Trial(const Scene& scene, const Preemptor& preemptor, const Suits& suits)
        : scene_(scene), preemptor_(preemptor), suits_(suits) {}
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;
    ~Trial() { put_all_back(); }

    void choose(const Candidate& candidate, PreemptionCause cause);
    void put_all_back();

    /// The preemptor fits now. With `while_counted` its needs are part of the usage at the moment.
    bool fits(Borrowing borrowing);
    enum class Counted { no, yes };
    void count_preemptor(Counted counted);

    /// Gives back, last first, whom it fits without; the rest are the victims.
    std::vector<Victim> give_back(Borrowing borrowing);

private:
    void take_out(const Candidate& candidate);
    void put_back(const Candidate& candidate);
    std::vector<Victim> victims() const;

    const Scene& scene_;
    const Preemptor& preemptor_;
    const Suits& suits_;
    Counted counted_ = Counted::no;
    std::vector<std::pair<const Candidate*, PreemptionCause>> chosen_;
};

/// The two ways to choose; see victims.h.
std::vector<Victim> classical_victims(const Scene& scene, const Preemptor& preemptor,
                                      const Suits& suits);
std::vector<Victim> fair_victims(const Scene& scene, const Preemptor& preemptor,
                                 const Suits& suits);

}  // namespace muster::decide
