// control/event_recorder.h - Kubernetes Events: equal ones are one object with a count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/loop.h"
#include "control/controller.h"
#include "kube/cache.h"
#include "kube/transport.h"

namespace muster::control {

/// Writes events, each once: an event is a message to people, not state. Only one that the server
/// has no time for (429) is sent again when it said, and with it the others wait; the fifth time it
/// is lost. A burst of them is written one after the other, as Kubernetes' own components do, so
/// that what they tell of is not held up by the telling, and when the server is slow, with pauses
/// as long as one takes. Those beyond `waiting_max` are lost, as there.
class EventRecorder {
public:
    EventRecorder(kube::Transport& transport, Loop& loop) : transport_(transport), loop_(loop) {}

    /// `about` is the object as seen; null when it is not (then kind and name come from the key).
    void record(const Event& event, const kube::Object* about, std::string_view api_version,
                std::string_view component);

    /// Those that wait are lost: whoever ends has other things to write last.
    void stop();

    static constexpr std::size_t waiting_max = 4'000;
    static constexpr Duration slow = milliseconds(50);  // One that takes longer is paused after.

private:
    /// What is needed to make the request when its turn has come.
    struct Waiting {
        Event event;
        std::string api_version;
        std::string component;
        std::string uid;
        std::int64_t version = 0;  // Of the object; 0: it was not seen.
        Time at;
        int refusals = 0;  // For want of time.
    };

    void send_next();
    Duration take_answer(const Waiting& sent, const std::string& name,
                         const net::Response& response);
    void go_on(Time sent, Duration wait);
    net::Request request_of(const Waiting& waiting, const std::string& name);

    kube::Transport& transport_;
    Loop& loop_;
    // How often, by the event's name; forgotten as a whole when it grows large.
    std::unordered_map<std::string, std::int64_t> written_;
    std::deque<Waiting> waiting_;
    bool sending_ = false;
    bool stopped_ = false;
    bool losing_ = false;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Guards answers that outlive this.
};

}  // namespace muster::control
