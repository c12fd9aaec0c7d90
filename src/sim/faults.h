// sim/faults.h - what goes wrong in a run: drawn from the seed, so that every run is a different
// bad day.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "base/time.h"

namespace muster::sim {

/// Chances are per mille of the events they are about. Each run has only some of the faults (swarm
/// testing): a day with everything at once hides what one fault alone would show.
struct Faults {
    int lost_request = 0;     // Per request: never arrives, answered 503.
    int lost_answer = 0;      // Per write: was applied, but the answer is a failure.
    int late_request = 0;     // Per request: arrives up to a second late; later ones overtake it.
    int late_answer = 0;      // Per request: its answer comes up to two seconds late.
    int late_write = 0;       // Per write: fails, and is applied up to three seconds later.
    int doubled_write = 0;    // Per write, but for creates: applied again up to 3 s later.
    int conflict = 0;         // Per update or patch: answered 409 though nothing changed.
    int late_watch = 0;       // Per watch piece: comes up to two seconds late (the order stays).
    int broken_watch = 0;     // Per watch piece: the stream ends.
    int lingering_watch = 0;  // Per ended stream: goes on for two seconds beside its successor.
    int expired_watch = 0;    // Per resumed watch: 410.
    Duration disk_delay_max{0};       // A group commit takes up to this long.
    Duration control_crash_every{0};  // Mean time between crashes of the controllers; 0: none.
    int crash_at_write =
        0;  // Per write of a controller: the controllers crash right before or after.
    Duration server_crash_every{0};  // The same of server and store: what is not durable is lost.
    Duration node_loss_every{0};     // A node falls silent for a minute; its processes are gone.
    Duration clock_jump_every{0};    // The controllers' clock jumps by up to 30 s, forward or back.

    static Faults draw(Random& random);
    static Faults none() { return {}; }
    std::string text() const;
};

}  // namespace muster::sim
