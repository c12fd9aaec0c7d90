// control/queue/integration.h - what the queues must know of each kind of job, one table per kind;
// a further kind is a further table.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/admission.h"
#include "api/kind.h"
#include "api/value.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// Pods of a job that start together, and where their template stands in the job.
struct PodSet {
    std::string name;
    std::int64_t count = 1;
    api::Value pod_template;
    std::string list;  // Path of the list that the template's item is in; empty: none.
    std::size_t index = 0;
    std::string place;  // Path from the object or the item; ".": the object itself is the
                        // template; empty: it does not stand in the job.
    std::optional<std::int64_t> min_count = {};       // As few of them as this may start.
    std::vector<std::string_view> count_places = {};  // Paths of a count that admission may lower.
};

/// Where the count and the template of pods stand in a kind of job.
struct PodSetRule {
    std::string_view name;  // Of the pod set; with `list` the member of the item that has it.
    std::string_view list;  // Path of a list with a pod set for each item; empty: one pod set.
    std::string_view pod_template;         // Path from the object or item; empty: none.
    std::vector<std::string_view> counts;  // Paths; the least of those present; none: 1.
    std::string_view times = {};           // Path of a factor; absent: 1.
    bool (*applies)(const api::Value& object) = nullptr;  // Null: always.
    /// The template as its controller completes it.
    api::Value (*made)(const api::Value& object) = nullptr;
    std::string_view present_at = {};  // Path that must be there; empty: none.
    /// Annotation of the object: as few pods as this may start. Then the first of `counts` is set
    /// to what was admitted,
    std::string_view min_annotation = {};
    /// and with this annotation "true" all of them are.
    std::string_view equal_annotation = {};
};

/// How a job shows that it is over.
struct EndRule {
    enum class Sign { condition, field };
    enum class Success { no, yes };
    Sign sign = Sign::condition;
    std::string_view where;  // Condition type, or path.
    std::string_view value;  // Of the field.
    Success success = Success::yes;
    std::string_view message;  // Path of a text; conditions have their own.
};

/// Pods of a set that are done for good and will not be replaced.
struct ReclaimablePods {
    std::string pod_set;
    std::int64_t count = 0;
};

/// One kind of job.
struct JobKind {
    /// What makes its pods start.
    enum class Start {
        unsuspended,  // The field `suspend`.
        told,         // Its own status (AppWrapper).
        ungated,      // Nothing but a gate in the pods themselves: pod_groups.h.
        by_pods,      // Its pods queue by themselves (Deployment, StatefulSet): serving.h.
    };
    enum class Support { no, yes };
    /// Whether the rules of the kind, and those of changes, are for objects without a queue too.
    enum class Unqueued { judged, free };

    api::GroupResource resource;
    std::string_view version;  // In which the cache holds it.
    std::string_view kind;
    std::string_view webhook;  // Of Kueue, without its first letter and domain: "job".
    Start start = Start::unsuspended;
    std::string_view suspend = {};                    // Path of the field.
    bool (*is_waiting)(const api::Value&) = nullptr;  // In place of `suspend`.
    std::vector<PodSetRule> pod_sets = {};
    std::vector<PodSet> (*find_pod_sets)(const api::Value& object) = nullptr;  // In its place.
    /// In its place too, where objects of other kinds say more: `runs_by`. None while they are not
    /// seen.
    std::vector<PodSet> (*find_pod_sets_by)(const kube::Cache& seen,
                                            const api::Value& object) = nullptr;
    std::vector<api::GroupResource> runs_by = {};
    std::vector<std::string_view> (*names_of_runs_by)(const api::Value& object) = nullptr;
    /// Where templates do not stand in the job: puts what a start has made of one into it, and
    /// takes that out again; `original` is the template in the Workload.
    void (*put)(api::Value& job, const PodSet& pod_set, const api::Value& pod_template) = nullptr;
    void (*take_back)(api::Value& job, std::string_view pod_set,
                      const api::Value& original) = nullptr;
    std::string_view priority_class = {};  // Path of a class's name, which goes before the pods'.
    std::vector<EndRule> ends = {};
    std::string_view ready_field = {};  // Ready when this has `ready_value`, ...
    std::string_view ready_value = {};
    std::string_view ready_condition = {};            // ... when this condition is true, ...
    bool (*are_ready)(const api::Value&) = nullptr;   // ... when this says so, ...
    std::vector<std::string_view> ready_counts = {};  // ... or when these together reach all pods.
    std::string_view active = {};                     // Path of its own count of living pods.
    std::vector<ReclaimablePods> (*find_reclaimable)(const api::Value& object,
                                                     const std::vector<PodSet>& sets) = nullptr;
    Support prebuilt = Support::no;  // Its Workload may be made by somebody else beforehand.
    Support elastic = Support::no;   // May be scaled while it runs: see slices.h.
    /// Objects that queues leave alone although they name one.
    bool (*is_left_alone)(const api::Value& object) = nullptr;
    Unqueued unqueued = Unqueued::judged;
    /// What queues cannot manage.
    std::vector<api::FieldError> (*check)(const api::Value& object) = nullptr;
    /// What may not change.
    std::vector<api::FieldError> (*check_change)(const api::Value& old,
                                                 const api::Value& object) = nullptr;
    /// What may not change of an object that is queued itself and not being deleted.
    std::vector<api::FieldError> (*check_queued_change)(const api::AdmissionRequest& request) =
        nullptr;
};

/// All kinds that queues manage.
const std::vector<JobKind>& job_kinds();

/// A kind of that name in Kueue ("batch/job") is one of them.
bool has_framework(std::string_view framework);

/// Null when the kind is not one of them.
const JobKind* find_job_kind(const api::GroupResource& resource);
const JobKind* find_job_kind_named(std::string_view api_version, std::string_view kind);

/// How a job ended.
struct JobEnd {
    EndRule::Success success = EndRule::Success::yes;
    std::string message;
};

/// As far as the object itself says.
std::vector<PodSet> pod_sets_of(const JobKind& kind, const api::Value& object);
std::vector<PodSet> pod_sets_of(const kube::Cache& seen, const JobKind& kind,
                                const api::Value& object);
bool is_suspended(const JobKind& kind, const api::Value& object);
std::optional<JobEnd> end_of(const JobKind& kind, const api::Value& object);

/// All its pods are ready or done, as far as the job says.
bool are_pods_ready(const JobKind& kind, const api::Value& object);

/// The template of a pod set inside a (copied) job. Null when it does not stand there.
api::Value* find_template(api::Value& object, const PodSet& pod_set);

/// The pods that belong to an owner through any number of jobs and clusters and whose processes may
/// still live.
std::vector<kube::ObjectPtr> living_pods(const kube::Cache& seen, std::string_view owner_uid);

/// The Workloads that a pod may have been started for: the one that it names, and all slices after
/// that one. Needs the index `first_slice_of` of Workloads.
std::vector<kube::ObjectPtr> workloads_of_pod(const kube::Cache& seen, const kube::Object& pod);

/// The other way round, of pods whose processes may still live. Needs the index
/// `workload_named_by`.
bool is_named_by_living_pods(const kube::Cache& seen, const kube::Object& workload);

/// Some process that was started for the Workload may still live. What made the pods may be gone
/// before them: then only their annotation tells.
bool has_living_pods(const kube::Cache& seen, const kube::Object& workload);

/// A job or cluster that the owner made may still make pods: it is there and not being removed.
bool owns_jobs(const kube::Cache& seen, std::string_view owner_uid);

/// A truth value in one of Go's spellings.
std::optional<bool> parse_boolean(std::string_view text);

/// The value at a dotted path, made on the way.
api::Value& at_path(api::Value& object, std::string_view dotted);

}  // namespace muster::control::queue
