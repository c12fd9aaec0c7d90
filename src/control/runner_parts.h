// control/runner_parts.h - what the runner keeps of each controller, planner and reconcile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/loop.h"
#include "control/controller.h"
#include "control/work_queue.h"

namespace muster::control {

/// A controller with its queue.
struct Slot {
    Controller controller;
    WorkQueue queue;
    int running = 0;
};

/// A write of a planner that somebody else was quicker than, or that the server does not want.
struct HeldBack {
    Write write;
    std::int64_t round = 0;
    bool refused = false;
    Loop::TimerId patience{};
};

/// A planner with when it has to plan.
struct PlanSlot {
    std::unique_ptr<Planner> planner;
    std::set<api::GroupResource> watched;
    bool dirty = true;  // The first plan runs although nothing has changed yet.
    std::optional<Time> due;
    Time not_before;             // After a failed write.
    int failures = 0;            // Rounds on end that failed.
    std::int64_t round = 0;      // How often it has planned.
    std::int64_t failed_in = 0;  // The last round of which a write failed.
    int in_flight = 0;
    std::map<api::Key, HeldBack> held_back;  // Until something new is seen, or for a while.
    std::map<api::Key, int> refusals;        // On end, of writes to one object.
};

/// One reconcile whose writes are being sent, in order.
struct Run {
    std::size_t slot = 0;
    api::Key key;
    Reconciled result;
    std::size_t next = 0;
};

}  // namespace muster::control
