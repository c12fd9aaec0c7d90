// agent/event_writer.h - events about pods and services; equal ones are one object with a count.
#pragma once

#include <map>
#include <string>

#include "agent/pod_plan.h"
#include "base/loop.h"
#include "kube/transport.h"

namespace muster::agent {

/// Writes without waiting or trying again: an event is a message to people, not state.
class EventWriter {
public:
    EventWriter(Loop& loop, kube::Transport& transport) : loop_(loop), transport_(transport) {}
    /// About a Pod, or the `kind` that the object says.
    void record(const api::Value& object, const PodEvent& event);

private:
    Loop& loop_;
    kube::Transport& transport_;
    std::map<std::string, std::int64_t> counts_;  // By name; forgotten when it grows large.
};

}  // namespace muster::agent
