// decide/double_admission.h - of two who decide at once, whose admission was one too many.
#pragma once

#include <string_view>

#include "decide/cycle.h"

namespace muster::decide {

/// Whether a workload holds more than its queue might have given it if it held nothing now: others
/// have what it was given. Who is over a quota that was cut below what they use already is not told
/// apart from that: ask only about what has come since.
///
/// Requires: `decide` has run since quotas changed. No for who holds nothing or is leaving.
bool exceeds_what_was_left(const State& state, std::string_view workload);

}  // namespace muster::decide
