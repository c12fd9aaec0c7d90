// sim/story.h - the main job as a run of the simulator.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "sim/faults.h"
#include "sim/faulty_transport.h"

namespace muster::sim {

/// What came of a run.
struct Outcome {
    std::string broken;  // Empty: everything held and came true.
    std::string left;    // Of a broken run: its objects, a line each.
    std::uint64_t trace = 0;
    Duration simulated{0};
    std::int64_t faults = 0;
    std::int64_t changes = 0;
    std::map<std::string, FaultyTransport::Writes> writes;  // By controller.
};

/// Plays the main job of a seed: queues, two wrapped Ray clusters of which one must wait, a
/// training job through the default queue, a job that can never run and one that passes it; with
/// faults drawn from the seed, or none. Every invariant is checked after every change; after the
/// faults end, everything must come true.
Outcome play_story(std::uint64_t seed, const Faults& faults);

}  // namespace muster::sim
