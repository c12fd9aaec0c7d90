// decide/state_text.h - all that a state holds, as text: what tests compare byte for byte.
#pragma once

#include <string>

#include "decide/cycle.h"

namespace muster::decide {

/// Everything in the state from which decisions, reports and reasons are made, by name and in a
/// fixed order: objects, quotas and usage, who holds and who waits and why, nodes and places, and
/// what is still to be worked in. Ids, counters of versions and free slots, which depend on the way
/// that led here, do not show: states with equal texts have the same future. Slow; for tests.
std::string text_of(const State& state);

}  // namespace muster::decide
