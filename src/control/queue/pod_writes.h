// control/queue/pod_writes.h - single changes of queued pods and their Workloads.
#pragma once

#include <optional>
#include <string>

#include "api/value.h"
#include "base/time.h"
#include "control/controller.h"
#include "control/queue/integration.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// The queues are done with it.
Write without_managed_finalizer(const kube::Object& pod);

/// The condition TerminationTarget, which says why it is deleted.
Write termination_of(const kube::Object& pod, const char* reason, const std::string& message,
                     Time now);
Write deletion_of(const kube::Object& pod);
Write deletion_of_workload(const kube::Object& workload);

struct Opening {
    std::optional<Write> write;  // Absent when a flavor of the admission is not seen.
    std::string conflict = {};   // Why it can never be opened; empty: it can.
};

/// Opens the gate and puts in what admission says.
Opening opening_of(const kube::Cache& seen, const JobKind& kind, const kube::Object& pod,
                   const kube::Object& workload);

/// A change of a Workload's metadata.
Write metadata_write(const kube::Object& workload, api::Value metadata);

/// An owner reference that does not control.
api::Value plain_owner(const kube::Object& pod);

}  // namespace muster::control::queue
