// apps/up/process_metrics.h - what the operating system says of this process, for /metrics.
#pragma once

#include <memory>

#include "base/metrics.h"

namespace muster::up {

/// Adds process_cpu_seconds_total and the other metrics that Prometheus' clients have of a process.
void add_process_metrics(const std::shared_ptr<Metrics>& metrics);

}  // namespace muster::up
