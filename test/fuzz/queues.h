// test/fuzz/queues.h - random life of queues on decide, held against the reference.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::fuzz {

/// Something that does not hold, and the life up to there as a scenario.
struct LifeFailure {
    std::string words;
    std::string scenario;
};

/// Plays what the bytes say: each takes the next choice. Absent when all holds.
std::optional<LifeFailure> play_queues(std::string_view bytes);

/// The shortest bytes found for which something does not hold, and what they show, to be printed.
std::string shortest_failure(const std::string& bytes);

}  // namespace muster::fuzz
