// agent/event_writer.h - events about pods; equal ones are one object with a count.
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
    void record(const api::Value& pod, const PodEvent& event);

private:
    Loop& loop_;
    kube::Transport& transport_;
    std::map<std::string, std::int64_t> counts_;  // By name; forgotten when it grows large.
};

}  // namespace muster::agent
