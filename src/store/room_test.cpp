// store/room_test.cpp - what may be written with so much free.
#include "store/room.h"

#include <doctest/doctest.h>

namespace muster::store {
namespace {

constexpr std::uint64_t mb = 1 << 20;
constexpr std::uint64_t many = 1'000'000;

TEST_CASE("a disk keeps its last room for removals, and of that the last half for the database") {
    const auto room = [](std::uint64_t free) {
        return room_on({100'000 * mb, free, many}, Room::plenty);
    };
    CHECK(room(100'000 * mb) == Room::plenty);
    CHECK(room(32 * mb) == Room::plenty);
    CHECK(room(32 * mb - 1) == Room::removals_only);
    CHECK(room(16 * mb) == Room::removals_only);
    CHECK(room(16 * mb - 1) == Room::none);
    CHECK(room(0) == Room::none);
}

TEST_CASE("a small disk keeps half of itself") {
    const auto room = [](std::uint64_t free) {
        return room_on({20 * mb, free, many}, Room::plenty);
    };
    CHECK(room(10 * mb) == Room::plenty);
    CHECK(room(10 * mb - 1) == Room::removals_only);
    CHECK(room(5 * mb) == Room::removals_only);
    CHECK(room(5 * mb - 1) == Room::none);
    CHECK(room_on({0, 0, many}, Room::plenty) == Room::plenty);  // It has no size to go by.
}

TEST_CASE("what was refused is taken again only when there is clearly room") {
    const auto room = [](std::uint64_t free, Room before) {
        return room_on({100'000 * mb, free, many}, before);
    };
    CHECK(room(33 * mb, Room::removals_only) == Room::removals_only);
    CHECK(room(34 * mb, Room::removals_only) == Room::plenty);
    CHECK(room(17 * mb, Room::none) == Room::none);
    CHECK(room(18 * mb, Room::none) == Room::removals_only);
    CHECK(room(33 * mb, Room::none) == Room::removals_only);
    CHECK(room(34 * mb, Room::none) == Room::plenty);
}

TEST_CASE("a disk that can have no more files is full") {
    CHECK(room_on({100'000 * mb, 50'000 * mb, 63}, Room::plenty) == Room::none);
    CHECK(room_on({100'000 * mb, 50'000 * mb, 64}, Room::plenty) == Room::plenty);
}

}  // namespace
}  // namespace muster::store
