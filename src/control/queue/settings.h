// control/queue/settings.h - what an administrator sets for the queues, as plain values; read from
// the file of --config (configuration.h).
#pragma once

#include <optional>

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

/// Everything that can be set.
struct Settings {
    decide::Options decisions;
    MetricsSettings metrics;
};

}  // namespace muster::control::queue
