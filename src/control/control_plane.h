// control/control_plane.h - all controllers and admission functions of Muster, in one list each.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/admission.h"
#include "base/metrics.h"
#include "control/cluster/cluster.h"
#include "control/queue/hooks.h"
#include "control/queue/settings.h"
#include "control/queue/visibility.h"
#include "control/runner.h"

namespace muster::control::queue {
class QueuePlanner;
}

namespace muster::control {

/// What the parts are made with.
struct ControlPlaneOptions {
    ClusterOptions cluster;
    queue::Settings queues;
    /// Null: nothing is counted.
    std::shared_ptr<Metrics> metrics = nullptr;
    /// A clock that only goes forward, for how long decisions take. Null: that is not measured.
    std::function<Duration()> stopwatch = nullptr;
    /// While it says no, the queues see but do not decide, so that many changes are decided as one.
    /// Null: always. It is asked again after a moment.
    std::function<bool()> may_decide = nullptr;
    /// Whether another operator decided before this one, of which something may come late: what it
    /// admits beyond a quota then is evicted. Null: there was none.
    std::function<bool()> had_predecessor = nullptr;
};

/// What others may ask of the parts. It lives as long as the runner that they were added to, and is
/// used on the runner's loop only.
class Questions {
public:
    Questions(const Runner& runner, const queue::QueuePlanner& queues)
        : runner_(runner), queues_(queues) {}

    /// Why it waits, as JSON text; absent when there is no such object (control/queue/explain.h).
    std::optional<std::string> why(const api::Key& key, Time now) const;

    /// Who waits in a queue, as JSON text (control/queue/visibility.h); absent when there is none.
    std::optional<std::string> pending_workloads(const api::Key& key, const std::string& version,
                                                 queue::Window window, Time now) const;

private:
    const Runner& runner_;
    const queue::QueuePlanner& queues_;
};

/// Adds every controller and planner: the cluster's own, queues, AppWrappers, Ray.
Questions add_controllers(Runner& runner, const ControlPlaneOptions& options);

/// Adds what belongs on a cluster that has controllers for its own kinds: queues, AppWrappers, Ray.
Questions add_operator_controllers(Runner& runner, const ControlPlaneOptions& options);

/// The resources that `Questions::why` is asked about, each at subresource `why`.
std::vector<api::GroupResource> explainable();

/// The admission functions, in the order in which they run.
std::vector<api::AdmissionHook> admission_hooks(
    const queue::JobRules& jobs = {}, queue::Controllers controllers = queue::Controllers::run);

}  // namespace muster::control
