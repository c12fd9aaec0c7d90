// control/queue/checks.h - admission checks in a Workload's status: which apply, what they say, and
// whether it may run.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"
#include "base/time.h"

namespace muster::control::queue {

/// The checks of a ClusterQueue that a workload with this status must pass, by name. Before it has
/// flavors: those that hold for every flavor of the queue.
std::vector<std::string> checks_for(const api::Value& cluster_queue, const api::Value& status);

/// Lists exactly these checks in the status; new ones are Pending, the others stay as they are.
void sync_checks(api::Value& status, const std::vector<std::string>& names, Time now);

/// Some check of the status is in this state: Pending, Ready, Retry or Rejected.
bool has_check_in(const api::Value& status, std::string_view state);

/// The condition Admitted as reservation and checks have it. What ends being admitted adds its time
/// to accumulatedPastExecutionTimeSeconds.
void sync_admitted(api::Value& status, Time now);

/// An evicted workload is checked anew.
void reset_checks(api::Value& status, Time now);

/// When the checks in state Retry let it be tried again, the latest of them; absent when none says.
std::optional<Time> retry_time(const api::Value& status);

/// `AdmissionCheck in Retry state: "name" (message)`
std::string check_message(const api::Value& status, std::string_view state);

}  // namespace muster::control::queue
