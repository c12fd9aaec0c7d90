// control/cluster/job_pass.h - one reconcile of one Job in the making: what is counted and what is
// to be written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/cluster/cluster.h"
#include "control/cluster/index_set.h"
#include "control/controller.h"

namespace muster::control::cluster {

inline constexpr std::string_view job_controller_name = "job-controller";

/// The words of a terminal condition.
struct Ending {
    std::string reason;
    std::string message;
};

/// Everything that a reconcile of a Job knows and decides. The functions below are its steps, in
/// order.
struct JobPass {
    JobPass(const kube::Cache& seen, const kube::Object& job, const ClusterOptions& options,
            Time now);

    const kube::Cache& seen;
    const kube::Object& job;
    const ClusterOptions& options;
    const Time now;

    // The Job's wishes.
    bool indexed = false;
    bool suspended = false;
    bool replaces_only_failed = false;  // podReplacementPolicy: Failed
    std::int64_t parallelism = 1;
    std::optional<std::int64_t> completions;  // Absent: until one succeeds.
    std::int64_t backoff_limit = 6;

    // What there is.
    std::vector<kube::ObjectPtr> pods;
    std::vector<kube::ObjectPtr> active;       // Neither finished nor terminating.
    std::vector<kube::ObjectPtr> terminating;  // Not finished yet.
    std::vector<kube::ObjectPtr> to_release;   // Counted by this pass: their finalizers go.
    IndexSet succeeded_indexes;
    std::int64_t succeeded = 0;  // Counted, noted and new.
    std::int64_t failed = 0;
    std::optional<Ending> failure;  // FailureTarget.
    std::optional<Ending> success;  // SuccessCriteriaMet.

    // What is to be done.
    api::Value noted;             // Status with the uids of `to_release`.
    api::Value status;            // Status when all is done.
    std::vector<Write> writes;    // Of pods.
    std::int64_t created = 0;     // Creations among them,
    bool refused_before = false;  // one of which the server has refused already.
    std::vector<Event> events;
    std::optional<Duration> look_again;

    void tell(const char* type, const std::string& reason, const std::string& message);
    void look_in(Duration delay);
};

/// Counts pods: those noted before, and those that ended since.
void count_pods(JobPass& pass);
/// Suspension, resumption and the start.
void begin(JobPass& pass);
/// Failure or success, if this pass or an earlier one has come to it.
void judge(JobPass& pass);
/// Makes and removes pods.
void manage_pods(JobPass& pass);
/// Numbers and terminal conditions of the final status.
void conclude(JobPass& pass);

}  // namespace muster::control::cluster
