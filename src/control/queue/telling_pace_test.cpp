// control/queue/telling_pace_test.cpp - a few are told at once, a burst after a pause.
#include "control/queue/telling_pace.h"

#include <string>

#include <doctest/doctest.h>

#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

constexpr Time start{1'000'000'000'000};

api::Key workload(std::int64_t number) {
    return {workloads, "team", "w" + std::to_string(number)};
}

/// The bucket is empty, and number `at_once` waits.
TellingPace in_a_burst() {
    TellingPace pace;
    for (std::int64_t i = 0; i < TellingPace::at_once; ++i)
        CHECK(pace.may_tell(workload(i), start));
    CHECK_FALSE(pace.may_tell(workload(TellingPace::at_once), start));
    return pace;
}

TEST_CASE("of a burst those who still wait after the pause are told, each once") {
    TellingPace pace = in_a_burst();
    const api::Key late = workload(TellingPace::at_once);
    CHECK_FALSE(pace.may_tell(late, start + milliseconds(200)));
    REQUIRE(pace.next() == start + TellingPace::moment);
    CHECK(pace.take_ripe(start + milliseconds(299)).empty());
    CHECK(pace.take_ripe(start + TellingPace::moment) == std::vector<api::Key>{late});
    CHECK(pace.may_tell(late, start + TellingPace::moment));
    CHECK(pace.next() == std::nullopt);
}

TEST_CASE("behind a long line the pause is longer, until the line is short again") {
    TellingPace pace = in_a_burst();
    for (std::size_t i = 1; i < TellingPace::few; ++i)
        CHECK_FALSE(pace.may_tell(workload(100 + static_cast<std::int64_t>(i)), start));
    CHECK_FALSE(pace.may_tell(workload(1000), start));
    pace.forget(workload(101));
    pace.forget(workload(102));
    CHECK_FALSE(pace.may_tell(workload(1001), start + milliseconds(1)));
    const auto told_at = [&](Time now) {
        std::size_t told = 0;
        for (auto ripe = pace.take_ripe(now); !ripe.empty(); ripe = pace.take_ripe(now)) {
            told += ripe.size();
            for (const api::Key& key : ripe) {
                CHECK(pace.may_tell(key, now));
                pace.settled(key);
            }
        }
        return told;
    };
    CHECK(told_at(start + TellingPace::moment) == TellingPace::few - 2);
    CHECK(told_at(start + TellingPace::moment + milliseconds(1)) == 1);
    CHECK(told_at(start + TellingPace::pause) == 1);
}

TEST_CASE("who starts before the pause is over is not told why it waited") {
    TellingPace pace = in_a_burst();
    pace.forget(workload(TellingPace::at_once));
    CHECK(pace.take_ripe(start + TellingPace::pause).empty());
}

TEST_CASE("who comes back to waiting waits for a pause of its own") {
    TellingPace pace = in_a_burst();
    const api::Key late = workload(TellingPace::at_once);
    pace.forget(late);
    CHECK_FALSE(pace.may_tell(late, start + milliseconds(50)));
    CHECK(pace.take_ripe(start + TellingPace::moment).empty());
    CHECK(pace.take_ripe(start + TellingPace::moment + milliseconds(50)).size() == 1);
}

TEST_CASE("when the clock is set back, nobody waits for it to come back") {
    TellingPace pace = in_a_burst();
    const api::Key late = workload(TellingPace::at_once);
    const Time earlier = start - seconds(3600);
    CHECK(pace.take_ripe(earlier) == std::vector<api::Key>{late});
    CHECK(pace.may_tell(late, earlier));
    CHECK(pace.next() == std::nullopt);
    pace.settled(late);
    for (std::int64_t i = 100; i < 100 + TellingPace::at_once; ++i)
        pace.may_tell(workload(i), earlier);
    CHECK(pace.take_ripe(earlier + seconds(5)).size() <= TellingPace::on_their_way_max);
}

TEST_CASE("after a while of calm a handful is told at once again") {
    TellingPace pace = in_a_burst();
    CHECK_FALSE(pace.may_tell(workload(1), start + milliseconds(900)));  // Somebody is in the line.
    const Time calm = start + seconds(2);
    CHECK(pace.take_ripe(calm).size() == 2);
    CHECK(pace.may_tell(workload(2), calm));
    for (std::int64_t i = 100; i < 100 + TellingPace::at_once; ++i)
        CHECK(pace.may_tell(workload(i), start + seconds(10)));
}

TEST_CASE("of a long line a few are told at a time, in order, as the server takes them") {
    TellingPace pace = in_a_burst();
    constexpr std::size_t few = TellingPace::on_their_way_max;
    for (std::int64_t i = 1; i < 3 * static_cast<std::int64_t>(few); ++i)
        CHECK_FALSE(pace.may_tell(workload(TellingPace::at_once + i), start));
    const Time later = start + seconds(2);
    const auto first = pace.take_ripe(later);
    REQUIRE(first.size() == few);
    CHECK(first.front() == workload(TellingPace::at_once));
    for (const api::Key& key : first)
        CHECK(pace.may_tell(key, later));
    CHECK(pace.take_ripe(later).empty());
    CHECK(pace.next() == std::nullopt);
    pace.settled(first[1]);
    REQUIRE(pace.next().has_value());
    const auto second = pace.take_ripe(later);
    REQUIRE(second.size() == 1);
    CHECK(second[0] == workload(TellingPace::at_once + static_cast<std::int64_t>(few)));
    pace.forget(second[0]);  // It has started meanwhile.
    CHECK(pace.take_ripe(later).size() == 1);
}

}  // namespace
}  // namespace muster::control::queue
