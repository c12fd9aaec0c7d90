// control/queue/slices.h - elastic jobs: one that is scaled while it runs. Growing it needs quota
// for what it grows by: a second Workload (a slice) that replaces the first when it is admitted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/admission.h"
#include "api/value.h"
#include "base/time.h"
#include "control/controller.h"
#include "control/queue/integration.h"
#include "decide/workload.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// Its kind can be scaled while it runs, and it asks for that.
bool is_elastic(const JobKind& kind, const api::Value& job);

/// A new elastic job's pods wait behind a gate until there is quota for them.
api::Admission gate_elastic_job(const api::AdmissionRequest& request);

/// The pod sets of a job as they are now: those of an elastic RayJob are scaled in the cluster that
/// it has made.
std::vector<PodSet> pod_sets_now(const kube::Cache& seen, const JobKind& kind,
                                 const kube::Object& job);

/// What to do about the slices of an elastic job next.
struct SliceStep {
    enum class Then {
        go_on,   // As any job does with `current`.
        create,  // Make a slice; it replaces `replaces` when that is not null.
        wait,    // For what was written, or for the admission of a new slice.
    };
    Then then = Then::wait;
    kube::ObjectPtr current = {};
    kube::ObjectPtr replaces = {};
    std::vector<Write> writes = {};
    std::vector<Event> events = {};
};
SliceStep next_step(const kube::Cache& seen, const kube::Object& job,
                    const std::vector<PodSet>& pod_sets, Time now);

/// The slices of a job that are not finished, the older first.
std::vector<kube::ObjectPtr> slices_of(const kube::Cache& seen, std::string_view job_uid);

/// A Workload as it was made becomes a slice.
void make_slice(const JobKind& kind, const kube::Object& job, const kube::Object* replaces,
                api::Value& workload);

/// The reclaimable pods of a slice whose job has shrunk, where its status says more of them than
/// `done`, which are those by now; absent when it does not. Only what shrank may say less.
std::optional<api::Value> lowered_reclaimable(const kube::Object& slice,
                                              const std::vector<ReclaimablePods>& done);

/// Opens the gates of as many pods of each pod set as were admitted.
std::vector<Write> open_gates(const kube::Cache& seen, const kube::Object& job,
                              const kube::Object& workload);

/// The slice that this one replaces, while it holds quota and keeps it; null otherwise.
kube::ObjectPtr replaced_slice(const kube::Cache& seen, const kube::Object& workload);

/// What a slice really holds: what was scaled down since is not of it.
decide::Assignment held_by(const kube::Object& slice);

/// Of one that was scaled down while it holds quota: what it needs no more is done with.
void give_back_what_shrank(const kube::Object& slice, decide::Workload& folded);

/// Only what it asks for beyond `held`, from the same flavors.
void keep_growth(const decide::Assignment& held, decide::Workload& folded);

/// The growth that was admitted, together with what was held.
decide::Assignment whole_of(const api::Value& pod_sets, const decide::Assignment& growth,
                            const decide::Assignment& held);

/// What the whole has beyond `held`.
decide::Assignment growth_of(decide::Assignment whole, const decide::Assignment& held);

}  // namespace muster::control::queue
