// test/fuzz/queues.h - random life of queues on decide, held against the reference.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace muster::fuzz {

/// Plays what the bytes say: each takes the next choice. What does not hold, in words; absent when
/// all holds.
std::optional<std::string> play_queues(std::string_view bytes);

/// The shortest bytes found that still show something that does not hold.
std::string shrunk_queues(std::string bytes);

}  // namespace muster::fuzz
