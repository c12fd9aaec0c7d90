// base/pace_test.cpp - what is rare never waits, a burst is spread, and the bucket fills again.
#include "base/pace.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

constexpr Duration span = milliseconds(10);
Duration at(std::int64_t ms) {
    return hours(1) + milliseconds(ms);
}

TEST_CASE("what comes no more often than the span never waits") {
    Pace pace(span, 1);
    for (int i = 0; i < 100; ++i)
        CHECK(pace.take(at(10 * i)) == Duration{});
}

TEST_CASE(
    "of a burst a few are taken at once, then one each span; after a quiet while a few again") {
    Pace pace(span, 3);
    for (int i = 0; i < 3; ++i)
        CHECK(pace.take(at(0)) == Duration{});
    CHECK(pace.take(at(0)) == span);
    CHECK(pace.take(at(10)) == span);
    CHECK(pace.take(at(15)) == span);  // Who does not wait is told to wait no longer than that.
    for (int i = 0; i < 3; ++i)
        CHECK(pace.take(at(1000)) == Duration{});
    CHECK(pace.take(at(1004)) == milliseconds(6));
}

}  // namespace
}  // namespace muster
