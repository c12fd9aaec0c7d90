// decide/world.h - the inside of the state: everything by id, with the books that keep it quick.
// Only decide/ includes this.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/persistent_map.h"
#include "base/persistent_vector.h"
#include "decide/cycle.h"
#include "decide/fit/flavors.h"
#include "decide/fit/shape.h"
#include "decide/id_set.h"
#include "decide/ids.h"
#include "decide/lineup.h"
#include "decide/place/groups.h"
#include "decide/place/ledger.h"
#include "decide/place/topology_book.h"
#include "decide/queue/consumption.h"
#include "decide/queue/pending.h"
#include "decide/quota/tree.h"

namespace muster::decide {

/// Where a holder stands among those of its queue that may be preempted: leaving ones first, then
/// lower priorities, newer ones, and by name.
struct HolderTurn {
    enum class Stage : std::uint8_t { leaving, staying };
    Stage stage = Stage::staying;
    WorkloadId workload{};
    std::int64_t priority = 0;
    Time reserved;
    RankedName name;

    friend bool operator<(const HolderTurn& a, const HolderTurn& b) {
        if (a.stage != b.stage) return a.stage < b.stage;
        if (a.priority != b.priority) return a.priority < b.priority;
        if (a.reserved != b.reserved) return b.reserved < a.reserved;
        return a.name < b.name;
    }
};

/// The queue of what has no queue: only nodes bind there. It is always first and always ready.
constexpr QueueId no_queue{};

struct QueueEntry {
    std::optional<ClusterQueue> spec;  // Absent: named by a local queue, but does not exist.
    QueuePlan plan;
    QueueReport::Active active = QueueReport::Active::ready;
    bool has_topologies = false;
    std::vector<PlaceGroup> places;  // Of its flavors, sorted.
    bool is_plain = false;           // It preempts nobody and has no topologies.
    // What was free when the reasons of those that do not fit were last made; absent: unknown.
    std::optional<std::vector<Amount>> told_free;
    std::string detail;  // The names of what is missing.
    std::set<LocalQueueId> local_queues;
    PersistentSet<HolderTurn> holders;  // In the order of preemption.
    std::set<WorkloadId> reserved;      // Of the holders, those that wait for admission checks.
    Pending pending;
    std::optional<WorkloadId> told_head;  // StrictFIFO: who was told to be the head.
};

struct CohortEntry {
    std::optional<Cohort> spec;  // Absent: implicit.
    QuotaNode node{};
};

struct LocalQueueEntry {
    std::string ns;
    std::string name;
    std::optional<LocalQueue> spec;     // Absent: named by a workload, but does not exist.
    QueueId queue{};                    // Of an existing one.
    PersistentSet<WorkloadId> members;  // Every workload that names it.
};

/// What a workload has been given.
struct Held {
    QueueId queue = no_queue;
    std::shared_ptr<const std::vector<std::string>> names;  // Of the pod sets.
    std::vector<PodSetFit> pod_sets;                        // As admitted.
    std::vector<std::int64_t> live;  // Of each pod set's count, those not reclaimable since.
    Time reserved;                   // Since when.
    HolderTurn listed = {};          // As it stands among the queue's holders.
};

struct WorkloadEntry {
    enum class Phase : std::uint8_t { unknown, waiting, holding, evicting, finished };
    /// Whether the objects show it already.
    enum class Seen : std::uint8_t { decided, observed };
    enum class Object : std::uint8_t { exists, removed };

    Phase phase = Phase::unknown;
    Seen seen = Seen::observed;
    Object object = Object::exists;
    Workload::Activity activity = Workload::Activity::active;
    Workload::PreemptionGate gate = Workload::PreemptionGate::open;
    Workload::Barrier barrier = Workload::Barrier::none;
    Workload::Stage stage = Workload::Stage::admitted;
    Workload::PodsReady pods_ready = Workload::PodsReady::yes;
    std::optional<LocalQueueId> local_queue;
    ShapeId shape{};
    std::int64_t priority = 0;
    std::int64_t slope_millionths = 0;
    Time created;
    Time queued;
    Time not_before;
    std::optional<QueueId> enqueued;         // In whose `pending` it is.
    std::unique_ptr<Held> held;              // While holding or evicting.
    std::shared_ptr<const WaitReason> told;  // The reason last given out.

    WorkloadEntry() = default;
    WorkloadEntry(const WorkloadEntry& other);
    WorkloadEntry(WorkloadEntry&&) noexcept = default;
    WorkloadEntry& operator=(const WorkloadEntry& other) { return *this = WorkloadEntry(other); }
    WorkloadEntry& operator=(WorkloadEntry&&) noexcept = default;
    ~WorkloadEntry() = default;
};

/// Calls `visit(what, amount)` for what is really used of one pod set: as admitted, less what was
/// reclaimed since.
template <class Visit>
void visit_live_shares(const Held& held, std::size_t pod_set, const Visit& visit) {
    const PodSetFit& given = held.pod_sets[pod_set];
    const bool is_whole = held.live[pod_set] == given.count || given.count == 0;
    for (const Share& share : given.shares) {
        visit(share.what, is_whole ? share.amount
                                   : Amount{share.amount.value / given.count} * held.live[pod_set]);
    }
}

/// How often quota was given back, and by workloads of which local queues: of those that are
/// stopped or gone when it is given out nobody has heard.
struct Gifts {
    std::optional<Time> since;  // When the first of it was seen; see decide.
    std::int64_t times = 0;
    std::vector<LocalQueueId> from;
};

/// How often somebody was preempted by the same one, and where the last search began that chose
/// it: not empty when it went on at a later flavor.
struct Repeats {
    std::int64_t times = 0;
    FlavorMemory began;
};

/// Who has preempted whom, by name.
using Preemptions = std::map<std::pair<std::string, std::string>, Repeats>;

struct World {
    Options options;
    FlavorBook book;
    QuotaTree tree;
    Shapes shapes;
    Ledger ledger;
    TopologyBook topologies;
    std::vector<std::optional<PlaceGroup>> place_groups;  // By FlavorId, as last settled.
    std::map<std::string, Labels, std::less<>> namespaces;
    std::map<std::string, AdmissionCheck::State, std::less<>> checks;
    std::map<WorkloadId, std::string> barred_by;  // Of those with a barrier that has words.
    std::set<WorkloadId> unready;  // Holders that block admissions; see Options::Blocking.

    Names<QueueId> queue_names;
    PersistentVector<QueueEntry> queues;  // By QueueId.
    std::map<QuotaNode, std::vector<QueueId>> queues_by_root;
    std::vector<QueueId> queue_of_node;  // By QuotaNode; `no_queue` for cohorts, but for its own.
    std::map<QuotaNode, CohortId> cohort_of_node;
    Names<CohortId> cohort_names;
    std::vector<CohortEntry> cohorts;       // By CohortId.
    Names<LocalQueueId> local_queue_names;  // "ns/name"
    PersistentVector<LocalQueueEntry> local_queues;
    Names<WorkloadId> workload_names;
    PersistentVector<WorkloadEntry> workloads;

    // What has happened since the last decision and is not worked in yet.
    bool structure_changed = false;     // Quotas, flavors, cohorts: see settle in cycle.cpp.
    std::set<QuotaNode> trees_changed;  // A node of each tree that this concerns.
    std::set<QueueId> queues_changed;   // Their activity must be found again.
    IdSet<QueueId> to_try;              // Queues that may have someone to admit.
    std::map<QueueId, Gifts> to_wake;   // Where in its tree quota was given back.
    IdSet<QueueId> requeued;            // Where someone waits again after an eviction.
    IdSet<QueueId> resumed;             // Were stopped.
    /// With topologies, and nodes or pods of theirs changed: who waits for places is tried again.
    std::set<FlavorId> places_changed;
    std::set<WorkloadId> to_repair;  // Holders with places on nodes that may have failed.
    std::uint64_t gangs_tried = 0;   // The ledger's version when gangs were last tried.
    IdSet<QueueId> node_bound;       // At least all queues where someone waits for nodes.
    ToDo<WorkloadId> to_place;       // Waiting ones whose place in a queue may have changed.
    ToDo<WorkloadId> to_check;       // Holding ones that may have to go.
    ToDo<WorkloadId> to_tell;        // Waiting ones whose reason may have changed.
    std::map<std::pair<QueueId, ClassKey>, Pending::News> classes_to_tell;
    std::set<std::pair<Time, WorkloadId>> backoffs;
    /// Until when a workload holds up its queue with a search for flavors that ends nowhere, or
    /// for a flavor that it prefers and that is not free. Kueue knows no end of that.
    std::map<WorkloadId, Time> patience;
    /// Where the searches for flavors go on of those who come by the same ones again and again.
    std::map<WorkloadId, FlavorMemory> turning;
    /// When the trees of queues are woken where quota came back unheard; Kueue forgets it.
    std::map<QueueId, Time> late_wakes;

    std::uint64_t plans_version = 0;  // Grows whenever a FlavorPlan may be another one.

    /// Whether those are tried who cannot start for certain; tests compare the two.
    enum class Hopeless { passed_over, tried };
    Hopeless hopeless = Hopeless::passed_over;
    std::uint64_t tries = 0;  // How often a workload was tried.
    /// In larger trees a reason that stays what it is keeps its numbers, which are news only while
    /// few have to be told; `why` finds them anew.
    std::size_t queues_with_fresh_numbers = 64;

    Lineups lineups;
    enum class LiningUp { where_possible, nowhere };
    LiningUp lining_up = LiningUp::where_possible;  // Tests compare the two.

    /// Queues whose first has been tried in vain and is to be tried again with every change in
    /// their tree: heads of StrictFIFO, and those that wait for their victims or others' to end.
    IdSet<QueueId> standing;
    /// With options.admission_sharing: of local queues that have used anything.
    std::map<LocalQueueId, Consumption> consumptions;
    bool uses_changed = true;      // Some local queue may be due earlier than `uses_due`.
    std::optional<Time> uses_due;  // When the first one is; absent: none uses anything.

    /// By root, since anything but preemption last gave quota back there.
    std::map<QuotaNode, Preemptions> preemptions;

    World();

    QueueEntry& queue(QueueId id) {
        lineups.touch(id);
        return queues.edit(index(id));
    }
    const QueueEntry& queue(QueueId id) const { return queues[index(id)]; }
    LocalQueueEntry& local_queue(LocalQueueId id) { return local_queues.edit(index(id)); }
    const LocalQueueEntry& local_queue(LocalQueueId id) const { return local_queues[index(id)]; }
    WorkloadEntry& workload(WorkloadId id) { return workloads.edit(index(id)); }
    const WorkloadEntry& workload(WorkloadId id) const { return workloads[index(id)]; }
    const std::string& name_of(WorkloadId id) const { return workload_names.name_of(id); }

    QueueId queue_id(std::string_view name);
    CohortId cohort_id(std::string_view name);
    LocalQueueId local_queue_id(std::string_view ns, std::string_view name);
    WorkloadId workload_id(std::string_view name);

    std::optional<QueueId> queue_at(QuotaNode node) const;
    /// One of its flavors has a topology, as last settled.
    bool has_topologies(QueueId id) const { return queue(id).has_topologies; }
    /// What one of them takes may matter to the other: they share a tree, or may share nodes.
    bool may_meet(QueueId a, QueueId b) const;
    /// Of a queue or a cohort.
    const std::string& name_at(QuotaNode node) const;
    /// "/root/cohort/queue"
    std::string path_of(QueueId queue) const;

    /// Its place in the order of its class.
    Turn turn_of(WorkloadId id) const;
    ClassKey class_of(WorkloadId id, QueueId queue) const;
    void enqueue(WorkloadId id, QueueId queue);
    void dequeue(WorkloadId id);

    /// Gives a workload what it holds from now on, and takes it back.
    void hold(WorkloadId id, Held held);
    void give_back(WorkloadId id);
    /// Books a holder by its stage and readiness; one that holds nothing is taken out of the books.
    void book_stage(WorkloadId id);
    /// Whether what was found for it has admission checks to pass.
    bool has_checks(QueueId queue, const std::vector<PodSetFit>& found) const;
    bool blocks_admission(QueueId queue) const { return queue != no_queue && !unready.empty(); }
    /// Whoever may be preempted stands where it belongs: after any change of what decides that.
    void list_anew(WorkloadId id);
    /// Its places in topologies are what it holds now.
    void hold_places(WorkloadId id);
    /// What it really uses of one pod set: as admitted, less what was reclaimed since.
    std::vector<Share> live_shares(const Held& held, std::size_t pod_set) const;
    /// Pods of a holder that are done give back what they had.
    void reclaim(WorkloadId id);
    /// Promises the pods that a holder has or is still to get.
    void promise_pods(WorkloadId id);
    /// Its tree has room that preemption did not make: who preempted whom may be forgotten.
    void forget_preemptions(WorkloadId id);

    /// Its local queues go by what they have used.
    bool goes_by_use(QueueId queue) const;
    /// Tells the queue how much its local queues have used; true when that changes their order.
    bool refresh_uses(QueueId queue);
    Fraction last_use_of(LocalQueueId local) const;
    void begin_use(LocalQueueId local);
    /// What a local queue's workloads hold now.
    std::map<ResourceId, Amount> use_of(LocalQueueId local) const;
    /// A workload starts, or did not after all: its local queue is charged, or gets that back.
    void charge(WorkloadId id, Time now);
    void refund(WorkloadId id);

    /// Finds again which queues share a tree. Requires: the tree is settled.
    void find_roots();
    /// Everything in the queue's tree is to be tried again.
    void wake_tree(QueueId queue) { ++to_wake[queue].times; }
    void wake_all();
    void wake_bound_to_nodes();

    /// Why it cannot even wait in a queue's order. Absent: it can.
    std::optional<WaitReason> ineligible(WorkloadId id, Time now) const;
    /// The reason why a waiting workload waits, as last found; null before the first decision.
    std::shared_ptr<const WaitReason> reason_now(WorkloadId id, Time now) const;
    Assignment assignment(const Held& held) const;
};

/// It holds something, but not for long.
bool is_leaving(const WorkloadEntry& entry);

/// The same shape with other numbers of pods.
Shape with_counts(const Shape& shape, const std::vector<std::int64_t>& counts);

/// "ns/name"
std::string join(std::string_view ns, std::string_view name);

}  // namespace muster::decide
