// bench_load/bound.h - how fast a load could go: its decisions alone, in virtual time.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "bench_load/plan.h"

namespace muster::load {

/// What a server and its clients take for one workload's steps.
struct Delays {
    Duration start;           // From the decision until it runs.
    Duration end;             // From its end until its quota is free.
    Duration eviction;        // From the decision until its quota is free.
    Duration gathering = {};  // Until what came back is given out; see decide().
};

struct Bound {
    Duration wall;  // From the first creation to the last end.
    std::int64_t evictions = 0;
};

/// Plays a plan through decide/ as the player plays it on a server: whoever is evicted begins anew.
/// Nobody who decides alike is faster than this with delays of nought.
Bound bound_of(const LoadPlan& plan, const Delays& delays = {});

}  // namespace muster::load
