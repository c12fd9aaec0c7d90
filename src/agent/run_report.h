// agent/run_report.h - how a run of a container stands, from what the pod's init says of it.
#pragma once

#include "agent/machine.h"
#include "api/value.h"

namespace muster::agent {

/// `state` as in pod_init.h: an event, or a state file.
RunReport report_of(const api::Value& state);

}  // namespace muster::agent
