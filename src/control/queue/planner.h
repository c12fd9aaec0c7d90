// control/queue/planner.h - the queues as one planner: what is seen is folded into decide's state,
// what is decided is written to Workloads, AppWrappers and queues.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/controller.h"
#include "control/queue/queue_metrics.h"
#include "control/queue/settings.h"
#include "control/queue/status_pace.h"
#include "control/queue/telling_pace.h"
#include "control/queue/workload_status.h"
#include "decide/cycle.h"

namespace muster::control::queue {

/// What ends together is written one after the other: so long the planner waits for more to come
/// back before it gives it out. Kueue waits a second.
constexpr Duration quota_back_pause = milliseconds(40);

/// What the planner has of the world outside.
struct PlannerRim {
    std::function<bool()> may_decide = nullptr;     // While it says no, nothing is decided.
    std::shared_ptr<Metrics> metrics = nullptr;     // Null: nothing is counted.
    std::function<Duration()> stopwatch = nullptr;  // Null: durations are not measured.
    /// Whether another operator decided before, of which something may come late. Null: none did.
    std::function<bool()> had_predecessor = nullptr;
};

/// The planner of the queues. It is the only writer of admissions and of queues' status.
///
/// Invariant: `state_` is what the objects say, plus what was decided and is being written. A
/// decision whose write failed is taken back and made anew.
class QueuePlanner : public Planner {
public:
    explicit QueuePlanner(const Settings& settings = {}, PlannerRim rim = {});

    std::string name() const override { return "kueue-admission"; }
    std::vector<std::pair<api::GroupResource, std::string>> watches() const override;
    void observe(const kube::Object* before, const kube::Object* after) override;
    void failed(const Write& write) override;
    void unchanged(const Write& write) override;
    Reconciled plan(const kube::Cache& seen, Time now) override;

    /// The state as of the last plan.
    const decide::State& state() const { return state_; }
    /// The name under which `decide` knows a Workload or an AppWrapper. Absent: it does not.
    std::optional<std::string> id_of(const api::Key& key) const;
    /// The other way; null when there is none of that name.
    const api::Key* key_of(const std::string& id) const;

private:
    /// A Workload or an AppWrapper.
    struct Entry {
        std::string id;  // Empty: nothing that waits or runs (an AppWrapper with a queue).
        std::string uid;
        api::Key local_queue;  // Empty name: none.
        Time queued;
        bool active = false;          // Its object has said so.
        bool holds = false;           // The objects have said so.
        bool ending = false;          // The objects have said so, and it still holds.
        Queues queues = Queues::ran;  // When it was last told why it waits.
        bool over = false;            // Its object is being removed; of an AppWrapper: finished.
        std::int64_t written_at = 0;  // The version that the last write was made from.
        bool looked_at = false;       // There was more to write while that write was on its way.
    };

    struct BoundPod {
        std::string uid;
        std::string workload;  // Its id; empty: none.
    };

    /// Whether any process may still live.
    enum class Quiet { no, yes };

    // planner_fold.cpp, planner_pods.cpp: objects into the state.
    void fold(const kube::Cache& seen);
    void fold_structure(const kube::Cache& seen, const api::Key& key, const kube::Object* object);
    void fold_local_queue_object(const api::Key& key, const kube::Object* object);
    void fold_workload_object(const kube::Cache& seen, const api::Key& key,
                              const kube::Object* object);
    void fold_wrapper_object(const kube::Cache& seen, const api::Key& key,
                             const kube::Object* object);
    void fold_pod_object(const kube::Cache& seen, const api::Key& key, const kube::Object* object);
    bool unbind(const std::string& name);  // False: no such pod is bound.
    void count_new(const kube::Cache& seen, const kube::Object& workload);
    void fold_successor(const kube::Cache& seen, const api::Key& replaced);
    Entry& entry_of(const kube::Object& object, const std::string& wanted_id);
    void forget(const api::Key& key);
    void finish(Entry& entry);
    void finish_workload(const api::Key& key);
    void release(Entry& entry);
    void end_wrapper(Entry& entry, const api::Key& key, Quiet quiet);
    // planner_doubles.cpp
    void note_stranger(const api::Key& key, const Entry& entry, const decide::Assignment& held);
    void evict_doubles();
    std::string workload_of_pod(const kube::Cache& seen, const kube::Object& pod) const;
    void mark_queues(const Entry& entry);
    void mark_wrapper_of(const kube::Object& workload);
    void mark_if_moved(Entry& entry, const kube::Object& workload);
    void mark_ending_parts(const kube::Cache& seen);

    // planner.cpp: decisions into writes.
    void take(const kube::Cache& seen, const decide::Decision& decision);
    void write_workload(const kube::Cache& seen, const api::Key& key, Time now, Reconciled& result);
    void write_wrapper(const kube::Cache& seen, const api::Key& key, Time now, Reconciled& result);
    void end_unbegun(Entry& entry, std::map<api::Key, Eviction>::iterator eviction,
                     Reconciled& result);
    void take_back_workload(const kube::Object& wrapper, const kube::Object& workload);
    void speak_again();
    void add_shares(const kube::Cache& seen, std::set<api::Key>& keys) const;
    void write_queues(const kube::Cache& seen, Time now, Reconciled& result);
    void write_cluster_queue(const kube::Object& queue, Time now, Reconciled& result);
    void write_local_queue(const kube::Cache& seen, const kube::Object& queue, Time now,
                           Reconciled& result);
    void write_cohort(const kube::Object& cohort, Reconciled& result);
    /// Whether a ClusterQueue names something.
    using Names = bool (*)(const kube::Object& queue, const std::string& name);
    /// What ClusterQueues name stays until none does.
    void write_finalizer(const kube::Cache& seen, const kube::Object& object, Names names,
                         Reconciled& result);
    void send(Entry& entry, const kube::Object& object, const api::Value& status,
              Reconciled& result);

    decide::Decision decide_now(Time now);

    Settings settings_;
    PlannerRim rim_;
    std::unique_ptr<QueueMetrics> metrics_;  // Null: nothing is counted.
    decide::State state_;
    std::set<api::Key> unfolded_;  // Seen to change since the last plan.
    std::unordered_map<api::Key, Entry, api::KeyHash> entries_;
    std::unordered_map<std::string, api::Key> key_of_;  // By id.
    std::map<std::string, BoundPod> bound_pods_;        // By "ns/name": what was told to `state_`.
    std::map<std::string, std::size_t> pods_of_;        // How many of these a workload has, by id.
    std::set<api::Key> to_write_;                       // Workloads and AppWrappers to look at.
    std::map<api::Key, api::Key> successors_;           // Of slices that are to be replaced.
    std::set<api::Key> ending_wrappers_;      // Their quota goes back when their pods are gone.
    std::map<api::Key, Eviction> evictions_;  // Of Workloads, decided and not yet seen.
    std::set<api::Key> strangers_;  // Workloads seen to wait that somebody else admitted since.
    std::optional<std::string> last_double_;  // The workload of these that was evicted last.
    std::set<api::Key> queues_to_write_;  // ClusterQueues and what they name, LocalQueues, Cohorts.
    std::set<api::Key> moved_in_;         // LocalQueues whose workloads have moved, or that went.
    std::set<api::Key> gave_back_;        // ClusterQueues of which something was held that moved.
    std::map<api::Key, std::string> led_to_;  // LocalQueues to the names of their ClusterQueues.
    std::map<std::string, std::set<api::Key>> silent_;  // Who is spoken for, by the speaker's id.
    std::set<std::string> moved_;                       // Ids that may speak for nobody any more.
    TellingPace pace_;                                  // Of reasons for which Workloads wait.
    StatusPace status_pace_;                            // Of the counts of queues.
    bool namespaces_moved_ = false;  // One has come, gone or got other labels since the last fold.
    bool tree_changed_ = false;      // Cohorts or quotas, since metrics were told.
    bool shares_fairly_ = false;     // Shares are written, and change with every admission.
};

/// The queue of an AppWrapper, "" without; those with one are Workloads to the state.
std::string_view queue_of_wrapper(const kube::Object& wrapper);

/// The Workload that an AppWrapper has; null when none yet.
kube::ObjectPtr workload_of_wrapper(const kube::Cache& seen, const kube::Object& wrapper);

/// Its pods could not run, and it was put back: its status says so and nothing newer.
bool was_taken_back(const kube::Object& wrapper);

}  // namespace muster::control::queue
