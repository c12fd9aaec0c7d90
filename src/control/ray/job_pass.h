// control/ray/job_pass.h - one reconcile of a RayJob in the making: what is seen, the status as it
// will be, the wishes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/value.h"
#include "control/controller.h"
#include "control/ray/names.h"
#include "kube/cache.h"

namespace muster::control::ray {

inline constexpr std::string_view rayjob_controller_name = "rayjob-controller";
/// How often the dashboard is asked.
inline constexpr Duration poll_period = seconds(1);

/// Who submits the job.
enum class Submission { submitter_job, request, sidecar, user };

/// The working values of one reconcile of a RayJob.
struct JobPass {
    const kube::Cache& seen;
    const kube::Object& job;
    Time now;
    api::Value status;  // As it will be.
    Reconciled result;

    const api::Value& spec() const { return job.value["spec"]; }
    bool has_own_cluster() const { return spec()["clusterSelector"].empty(); }
    Submission submission() const;
    std::string text(std::string_view field) const { return status[field].text(); }
    api::Key submitter_key() const { return {batch_jobs, job.key.ns, job.key.name}; }
    /// The cluster of this try; null when it is not there.
    kube::ObjectPtr cluster() const;
    /// The submitter Job, if it is this job's own.
    kube::ObjectPtr submitter() const;
    /// The head pod of this try's cluster; null when it is not there.
    kube::ObjectPtr head() const;

    /// Asks the dashboard of this try's cluster.
    void ask(std::string id, std::string method, std::string_view path, std::string body);
    void event(std::string_view type, std::string_view reason, std::string message,
               std::string_view action);
    void remove(const kube::Object& object, std::string_view api_version, std::string_view reason);
    /// Asks to be called again; the earliest wish counts.
    void look_again(Duration after);
};

/// What the Ray dashboard says of the job.
struct RayState {
    bool answered = false;  // It answers at all.
    bool known = false;     // It knows the job.
    std::string status;     // PENDING, RUNNING, STOPPED, SUCCEEDED, FAILED
    std::string message;
    bool terminal() const {
        return status == "SUCCEEDED" || status == "FAILED" || status == "STOPPED";
    }
};

/// What the dashboard last said; asks again when that is old, and notes start and end in
/// `rayJobInfo`.
RayState poll(JobPass& pass);

/// The ids of the calls that ask for the job and that submit it.
std::string status_call_id(const JobPass& pass);
std::string submit_call_id(const JobPass& pass);

/// What the dashboard said, cut to what an object can carry: it may be megabytes.
std::string message_of_dashboard(std::string_view text);

/// Sets jobDeploymentStatus with its reason and message; empty ones are removed.
void set_deployment(JobPass& pass, std::string_view deployment, std::string_view reason = "",
                    const std::string& message = "");

/// Ends the try: Retrying while the back-off limit allows, else Failed.
void fail(JobPass& pass, std::string_view reason, const std::string& message);

/// Whether the job may still run. `before_running`: preRunningDeadlineSeconds counts as well.
enum class Deadline { while_running, before_running };
bool missed_deadline(JobPass& pass, Deadline which);

std::optional<Time> time_of(const api::Value& value);

}  // namespace muster::control::ray
