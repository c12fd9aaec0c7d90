// control/ray/submitter.h - how a RayJob's entrypoint reaches its cluster: the submitter Job, or a
// request.
#pragma once

#include <string>
#include <string_view>

#include "api/value.h"
#include "kube/cache.h"

namespace muster::control::ray {

/// The batch Job of K8sJobMode: waits for the dashboard, submits once under the job's id, follows
/// the logs. `dashboard` is "HOST:PORT".
api::Value submitter_job(const kube::Object& job, std::string_view job_id,
                         std::string_view dashboard);

/// The body of POST /api/jobs/ of HTTPMode.
api::Value submission(const kube::Object& job, std::string_view job_id);

/// The pod template of the submitter, defaults filled in: what it asks for counts in the job's
/// quota.
api::Value submitter_template(const api::Value& job_spec);

}  // namespace muster::control::ray
