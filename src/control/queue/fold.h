// control/queue/fold.h - the objects of the queues become the plain values that `decide` knows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/value.h"
#include "control/queue/settings.h"
#include "decide/workload.h"
#include "kube/cache.h"

namespace muster::control::queue {

decide::Flavor fold_flavor(const kube::Object& flavor);

/// Active when its condition says so.
decide::AdmissionCheck fold_check(const kube::Object& check);

/// One that is being deleted admits nothing more.
decide::ClusterQueue fold_cluster_queue(const kube::Object& queue);
decide::Cohort fold_cohort(const kube::Object& cohort);
decide::LocalQueue fold_local_queue(const kube::Object& queue);

/// What the planner adds to what the object says.
struct Identity {
    std::string id;
    Time queued;
    Time not_before;
};

/// A Workload. One of an AppWrapper must fit the nodes too, as must what has no queue.
decide::Workload fold_workload(const kube::Object& workload, const Identity& identity,
                               const kube::Cache& seen, const Settings& settings = {});

/// status.resourceRequests of one that waits: what each of its pod sets counts as, in all.
api::Value resource_requests(const decide::Workload& workload);

/// An AppWrapper without a queue: only nodes bind it.
decide::Workload fold_wrapper(const kube::Object& wrapper, const Identity& identity,
                              const kube::Cache& seen);

/// status.admission of a Workload.
decide::Assignment fold_admission(const api::Value& admission);

/// What a workload without queue holds: its pods.
decide::Assignment assignment_without_queue(const decide::Workload& workload);

/// An amount in the form in which the resource is usually written.
std::string quantity_text(std::string_view resource, Amount amount);

}  // namespace muster::control::queue
