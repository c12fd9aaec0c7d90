// agent/pipe_reading.cpp - see pipe_reading.h.
#include "agent/pipe_reading.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

namespace muster::agent {

PipeRest read_pieces(int fd, std::size_t most, const std::function<void(std::string_view)>& each) {
    char piece[16 << 10];
    for (std::size_t taken = 0; taken < most;) {
        const ssize_t got = ::read(fd, piece, std::min(sizeof(piece), most - taken));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && errno == EAGAIN) return PipeRest::none_now;
        if (got <= 0) return PipeRest::ended;  // A terminal without processes gives EIO.
        taken += static_cast<std::size_t>(got);
        each({piece, static_cast<std::size_t>(got)});
    }
    return PipeRest::perhaps_more;
}

}  // namespace muster::agent
