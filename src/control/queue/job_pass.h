// control/queue/job_pass.h - one reconcile of one queued job in the making: what it sees, and what
// it wants.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/value.h"
#include "base/time.h"
#include "control/conditions.h"
#include "control/controller.h"
#include "control/queue/integration.h"
#include "control/queue/names.h"
#include "control/queue/settings.h"
#include "control/queue/workload.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// One reconcile of one job in the making.
struct JobPass {
    const JobKind& kind;
    const kube::Cache& seen;
    const kube::Object& job;
    const Settings& settings;
    Time now;
    std::vector<PodSet> pod_sets;
    kube::ObjectPtr workload = nullptr;
    Reconciled result = {};

    bool suspended() const { return is_suspended(kind, job.value); }
    std::string workload_text() const { return job.key.ns + "/" + workload->key.name; }

    void tell(const char* reason, std::string message) {
        result.events.push_back({job.key, "Normal", reason, std::move(message), ""});
    }

    /// Changes the job to `wanted`, which was decided of what is seen: who has written since is
    /// heard first. A start that comes late must not undo somebody else's stop.
    void change_job(const api::Value& wanted) {
        api::Value patch = merge_patch_between(job.value, wanted);
        if (patch.empty()) return;
        result.writes.push_back({.verb = Write::Verb::merge_patch,
                                 .key = job.key,
                                 .api_version = job.value["apiVersion"].text(),
                                 .subresource = "",
                                 .body = std::move(patch),
                                 .version = job.version,
                                 .uid = "",
                                 .propagation = ""});
    }

    void change_workload(const api::Value& wanted) {
        api::Value patch = merge_patch_between(workload->value, wanted);
        if (patch.empty()) return;
        result.writes.push_back(patch_of(*workload, kueue_api_version, std::move(patch)));
    }

    void remove(const kube::Object& object, std::string propagation = "") {
        result.writes.push_back({.verb = Write::Verb::remove,
                                 .key = object.key,
                                 .api_version = object.value["apiVersion"].text(),
                                 .subresource = "",
                                 .body = {},
                                 .version = 0,
                                 .uid = object.uid,
                                 .propagation = std::move(propagation)});
    }

    void change_status(const api::Value& status) {
        if (auto write = status_write(*workload, status))
            result.writes.push_back(std::move(*write));
    }
};

}  // namespace muster::control::queue
