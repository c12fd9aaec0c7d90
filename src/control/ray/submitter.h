// control/ray/submitter.h - how a RayJob's entrypoint reaches its cluster: the submitter Job, or a
// request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/value.h"
#include "kube/cache.h"

namespace muster::control::ray {

/// The batch Job of K8sJobMode: waits for the dashboard, submits once under the job's id, follows
/// the logs. `dashboard` is "HOST:PORT".
api::Value submitter_job(const kube::Object& job, const kube::Object& cluster,
                         std::string_view job_id, std::string_view dashboard);

/// The body of POST /api/jobs/ of HTTPMode.
api::Value submission(const kube::Object& job, std::string_view job_id);

/// The pod template of the submitter, defaults filled in: what it asks for counts in the job's
/// quota.
api::Value submitter_template(const api::Value& job_spec, const api::Value& cluster_spec);

/// SidecarMode: the submitter runs beside Ray in the head pod.
bool has_sidecar(const api::Value& job_spec);

/// The head's pod template as far as it asks for resources: with the submitter of SidecarMode.
api::Value head_template(const api::Value& job_spec);

/// The spec of the cluster that the job makes; with the submitter of SidecarMode, which then knows
/// the job's id.
api::Value cluster_spec_of(const api::Value& job_spec, const std::string& cluster,
                           std::string_view job_id);

/// The port that the head's container calls "dashboard"; 8265 when it names none.
std::int64_t dashboard_port(const api::Value& cluster_spec);

}  // namespace muster::control::ray
