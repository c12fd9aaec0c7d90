// test/fuzz/two_worlds.h - two random lives that share nothing: beside each other in one state they
// go as each goes alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "test/fuzz/queues.h"

namespace muster::fuzz {

/// The scenario of a failure is that of both worlds together.
std::optional<LifeFailure> play_two_worlds(std::string_view bytes);

/// Like play_queues' `shortest_failure`. Requires: `bytes` fail.
std::string shortest_failure_of_two(const std::string& bytes);

}  // namespace muster::fuzz
