// control/runner_log.h - what the log says of the runner's writes and events: each with the object
// that it is about.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/controller.h"
#include "control/writer.h"
#include "kube/cache.h"

namespace muster::control {

/// A condition that a write changes: somebody is admitted, evicted, queued again, done.
struct Decision {
    std::string condition;
    std::string status;
    std::string reason;
    std::string message;
};

/// The conditions in a write that are not so, or not for that reason, in what is seen of its
/// object (null: nothing is).
std::vector<Decision> decisions_in(const Write& write, const kube::Object* seen);

/// Debug: a line for each of them. To be asked for only where logs(LogLevel::debug).
void log_decisions(std::string_view controller, const Write& write, const kube::Object* seen);

/// What came of a write: debug, but a warning where the server refused it or could not take it.
void log_outcome(std::string_view controller, const Write& write, const Outcome& outcome);

/// Debug. To be asked for only where logs(LogLevel::debug).
void log_event(std::string_view controller, const Event& event);

}  // namespace muster::control
