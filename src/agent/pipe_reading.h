// agent/pipe_reading.h - reads what processes of pods write: so much of it in one turn.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace muster::agent {

/// What is left after a turn.
enum class PipeRest { perhaps_more, none_now, ended };

/// Reads at most `most` bytes from a pipe, socket or terminal that does not block: a writer that is
/// as fast as the reader would else be read for ever.
PipeRest read_pieces(int fd, std::size_t most, const std::function<void(std::string_view)>& each);

}  // namespace muster::agent
