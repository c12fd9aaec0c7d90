// sim/leaders_test.cpp - two operators on bad days: within the stated bounds never two at once, and
// beyond them it is found and undone.
#include "sim/leaders.h"

#include <cstdint>

#include <doctest/doctest.h>

namespace muster::sim {
namespace {

constexpr std::uint64_t seeds = 12;

/// Empty, or what broke.
std::string day_of(std::uint64_t seed, Fenced fenced, Leaders::Numbers& all) {
    Leaders day(seed, fenced);
    std::string broken;
    try {
        day.play_day(minutes(10));
    } catch (const Broken& what) {
        broken = what.what;
    }
    all.leaders += day.numbers().leaders;
    all.admissions += day.numbers().admissions;
    all.refused += day.numbers().refused;
    all.deleted += day.numbers().deleted;
    all.late_writes += day.numbers().late_writes;
    return broken;
}

TEST_CASE("within the bounds nothing of a former leader comes true after another one began") {
    Leaders::Numbers all;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        CHECK(day_of(seed, Fenced::yes, all) == "");
    }
    CHECK(all.late_writes == 0);
    CHECK(all.leaders > 4 * static_cast<int>(seeds));
    CHECK(all.admissions > 50 * static_cast<int>(seeds));
    CHECK(all.refused > 0);
    CHECK(all.deleted > 0);
    MESSAGE(all.leaders << " leaders, " << all.admissions << " admissions, " << all.refused
                        << " writes held back, " << all.deleted << " Leases deleted");
}

TEST_CASE("these days break who does not ask the fence") {
    Leaders::Numbers all;
    int broken = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
        broken += day_of(seed, Fenced::no, all).empty() ? 0 : 1;
    CHECK(broken > 0);
}

TEST_CASE("beyond the bounds a double admission is found and the later one evicted") {
    int undone = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        CAPTURE(seed);
        std::string broken;
        Leaders day(seed);
        try {
            day.play_late_admission();
        } catch (const Broken& what) {
            broken = what.what;
        }
        CHECK(broken == "");
        CHECK(day.numbers().late_writes > 0);
        undone += day.numbers().undone;
    }
    CHECK(undone > static_cast<int>(seeds) / 2);
}

TEST_CASE("the same seed gives the same day") {
    std::uint64_t trace = 0;
    for (int i = 0; i < 2; ++i) {
        Leaders day(7);
        day.play_day(minutes(2));
        if (i == 0) trace = day.trace();
        CHECK(day.trace() == trace);
    }
}

}  // namespace
}  // namespace muster::sim
