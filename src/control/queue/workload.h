// control/queue/workload.h - making a Workload for a job, reading one, and changing its status.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/value.h"
#include "base/time.h"
#include "control/controller.h"
#include "control/queue/integration.h"
#include "kube/cache.h"

namespace muster::control::queue {

bool is_true(const api::Value& object, std::string_view condition);
bool is_admitted(const api::Value& workload);
bool is_finished(const api::Value& workload);
bool is_evicted(const api::Value& workload);
bool has_admission(const api::Value& workload);

/// Of any object: it is not removed while somebody uses it.
bool has_in_use_finalizer(const api::Value& object);

/// The priority that a job gets, and the class that it comes from.
struct Priority {
    std::int64_t value = 0;
    api::Value reference;  // priorityClassRef; null when no class gave it.
};
/// Why there is no priority: the named class is not there, in Kueue's words.
struct MissingClass {
    std::string text;
};
std::variant<Priority, MissingClass> priority_of(const kube::Cache& seen, const api::Value& job,
                                                 const std::vector<PodSet>& pod_sets);
/// Absent when a named class is not there: then `result` says so of the job and looks again.
std::optional<Priority> priority_or_tell(const kube::Cache& seen, const kube::Object& job,
                                         const std::vector<PodSet>& pod_sets, Reconciled& result);

/// The Workload of a job, as it is created.
api::Value new_workload(const JobKind& kind, const kube::Object& job,
                        const std::vector<PodSet>& pod_sets, const Priority& priority);

/// Those of the job's labels that its Workload is to have as well.
void copy_labels(const std::vector<std::string>& labels, const api::Value& job,
                 api::Value& workload);

/// The time limit that a job asks for, put into its Workload.
void follow_limit(const api::Value& job, api::Value& workload);

/// Of the gates of its Workload those stay that the job still names: gates are said when an object
/// is made, later they only go.
void follow_gates(const api::Value& job, api::Value& workload);

/// What a waiting Workload follows of its job or pod beside the templates: queue, gates, time limit
/// and priority. A priority class that is missing changes nothing.
void follow_metadata(const kube::Cache& seen, const api::Value& job,
                     const std::vector<PodSet>& pod_sets, api::Value& workload);

/// Why a Workload that was made beforehand is Finished with OutOfSync.
inline constexpr std::string_view out_of_sync_text =
    "The prebuilt workload is out of sync with its user job";

/// The podSets of a Workload's spec.
api::Value to_pod_sets(const std::vector<PodSet>& pod_sets);

/// How many pods of a set were admitted; absent without admission.
std::optional<std::int64_t> admitted_count(const api::Value& workload, std::string_view pod_set);

/// What the job asks for is still what its workload says. Of a started job only counts and
/// requests compare, because the queue has added to its templates; the counts may be those that
/// were admitted.
enum class Compare { everything, counts_and_requests };
bool agree(const api::Value& workload, const std::vector<PodSet>& pod_sets, Compare how);

/// A new Workload, as new_workload made it.
Write creation_of_workload(std::string_view ns, api::Value made);

/// A merge patch that counts only if nobody has written since `object` was seen.
Write patch_of(const kube::Object& object, std::string_view api_version, api::Value body,
               std::string_view subresource = "");

/// The change of a Workload's status from what was seen. Absent when there is none.
std::optional<Write> status_write(const kube::Object& workload, const api::Value& status);

/// Kept without quota on purpose, and not queued: a StatefulSet scaled to nothing.
bool is_on_hold(const api::Value& workload);

/// The condition PodsReady of one that is admitted. `status` is changed.
void set_pods_ready(api::Value& status, bool ready, Time now);

/// Gives the quota back: no admission, and the conditions that say so. `status` is changed.
void clear_admission(api::Value& status, Time now);

}  // namespace muster::control::queue
