// control/event_recorder.h - Kubernetes Events: equal ones are one object with a count.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/loop.h"
#include "control/controller.h"
#include "kube/cache.h"
#include "kube/transport.h"

namespace muster::control {

/// Writes events, without waiting and without trying again: an event is a message to people, not
/// state.
class EventRecorder {
public:
    EventRecorder(kube::Transport& transport, Loop& loop) : transport_(transport), loop_(loop) {}

    /// `about` is the object as seen; null when it is not (then kind and name come from the key).
    void record(const Event& event, const kube::Object* about, std::string_view api_version,
                std::string_view component);

private:
    struct Written {
        std::int64_t count = 0;
        std::string first_time;
    };
    kube::Transport& transport_;
    Loop& loop_;
    std::map<std::string, Written>
        written_;  // By event name; forgotten as a whole when it grows large.
};

}  // namespace muster::control
