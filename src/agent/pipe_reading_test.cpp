// agent/pipe_reading_test.cpp - reading stops before the writer does.
#include "agent/pipe_reading.h"

#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>

#include "agent/descriptor.h"

namespace muster::agent {

TEST_CASE("a writer that refills its pipe is read so far in one turn") {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    const Descriptor reads(ends[0]);
    Descriptor writes(ends[1]);
    const std::string text(4096, 'y');
    const auto refill = [&] {
        while (::write(writes.get(), text.data(), text.size()) > 0) {
        }
    };
    refill();
    std::size_t taken = 0;
    const auto count = [&](std::string_view piece) { taken += piece.size(); };
    const auto refilled = [&](std::string_view piece) {
        count(piece);
        if (taken > 10'000'000) return;  // Without a bound it would go on for ever.
        refill();
    };
    CHECK(read_pieces(reads.get(), 100'000, refilled) == PipeRest::perhaps_more);
    CHECK(taken == 100'000);
    CHECK(read_pieces(reads.get(), 10'000'000, count) == PipeRest::none_now);
    writes.reset();
    CHECK(read_pieces(reads.get(), 100'000, count) == PipeRest::ended);
}

}  // namespace muster::agent
