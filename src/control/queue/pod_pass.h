// control/queue/pod_pass.h - one reconcile of one queued pod, or one group of them, in the making:
// what it sees, and what it wants.
#pragma once

#include <string>
#include <utility>

#include "api/kind.h"
#include "api/value.h"
#include "base/time.h"
#include "control/controller.h"
#include "control/queue/group_members.h"
#include "control/queue/identifiers.h"
#include "control/queue/integration.h"
#include "control/queue/names.h"
#include "control/queue/pod_writes.h"
#include "control/queue/settings.h"
#include "control/queue/workload.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// One reconcile of one pod or one group in the making.
struct PodPass {
    enum class Members { one, group };
    const kube::Cache& seen;
    const Settings& settings;
    const Time now;
    const api::Key key;  // Of the pod, or of the group's Workload.
    const Members members;
    Pods all = {};
    kube::ObjectPtr workload = {};
    Reconciled result = {};

    bool is_group() const { return members == Members::group; }
    const kube::Object& first() const { return *all.front(); }
    bool is_serving() const { return first().annotation(group_serving_annotation) == "true"; }
    /// Its Workload is made by somebody else.
    bool is_prebuilt() const { return !prebuilt_of(first()).empty(); }
    std::string workload_text() const { return workload->key.ns + "/" + workload->key.name; }
    void write(Write write) { result.writes.push_back(std::move(write)); }
    void tell(const kube::Object& about, const char* type, const char* reason, std::string text) {
        result.events.push_back({about.key, type, reason, std::move(text), ""});
    }
    void change_status(const api::Value& status) {
        if (auto made = status_write(*workload, status)) write(std::move(*made));
    }
    /// They need not be kept in sight any longer.
    void finalize(const Pods& done) {
        for (const kube::ObjectPtr& pod : done) {
            if (has_managed_finalizer(*pod)) write(without_managed_finalizer(*pod));
        }
    }
    void remove_excess(const Pods& excess) {
        for (const kube::ObjectPtr& pod : excess) {
            if (has_managed_finalizer(*pod)) write(without_managed_finalizer(*pod));
            if (pod->is_terminating()) continue;
            write(deletion_of(*pod));
            tell(*pod, "Normal", "ExcessPodDeleted", "Excess pod deleted");
        }
    }
};

/// The table of pods.
const JobKind& kind_of_pods();

}  // namespace muster::control::queue
