// control/queue/settings.h - what an administrator sets for the queues, as plain values; read from
// the file of --config (configuration.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/quantity.h"
#include "control/queue/life_policy.h"
#include "decide/change.h"
#include "decide/place/pod.h"

namespace muster::control::queue {

/// Which of the metrics that grow with the number of queues are kept.
struct MetricsSettings {
    enum class Series { hidden, shown };
    Series resources = Series::hidden;           // Quotas and usage per flavor and resource.
    Series local_queues = Series::shown;         // Those of local queues,
    std::optional<decide::Selector> selected{};  // of these labels only; absent: of all.
};

/// What a resource that pods ask for counts as.
struct Transformation {
    enum class Input { retained, replaced };
    std::string input;
    Input kept = Input::retained;
    std::string multiply_by;  // Times the amount of this resource; empty: once.
    std::vector<std::pair<std::string, Quantity>> outputs;  // For one unit of the input.
};

/// How what pods ask for becomes what counts against quotas.
struct ResourceRules {
    std::vector<std::string> excluded_prefixes;
    std::vector<Transformation> transformations;  // No two of one input.

    bool counts_differently() const {
        return !excluded_prefixes.empty() || !transformations.empty();
    }
};

/// Which jobs are queued.
struct JobRules {
    enum class Unlabelled { left_alone, managed };
    Unlabelled unlabelled = Unlabelled::left_alone;  // Jobs that name no queue.
    /// Of the labels of namespaces: in others nothing is managed.
    decide::Selector namespaces = usual_namespaces();
    std::optional<std::set<std::string>> frameworks{};  // Kueue's names; absent: every kind.
    std::vector<std::string> labels_to_copy{};          // From a job to its Workload.

    /// All but kube-system and Kueue's own.
    static decide::Selector usual_namespaces(const std::string& own = "kueue-system");
};

/// What of Workloads counts.
struct WorkloadRules {
    enum class Obeyed { no, yes };
    Obeyed min_count = Obeyed::yes;      // Partial admission.
    Obeyed reclaimable = Obeyed::yes;    // Pods that are done give back their quota.
    Obeyed priority_boost = Obeyed::no;  // The annotation of that name.
};

/// Everything that can be set. As it is made: without waiting for pods to be ready.
struct Settings {
    decide::Options decisions{};
    MetricsSettings metrics{};
    ResourceRules resources{};
    JobRules jobs{};
    WorkloadRules workloads{};
    LifePolicy life{};
    std::vector<std::string> warnings{};  // What was asked for and is not obeyed.
};

/// Without a file: Kueue's own defaults.
Settings usual_settings();

}  // namespace muster::control::queue
