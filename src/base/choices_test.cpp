// base/choices_test.cpp - a failing case becomes as short and small as it can.
#include "base/choices.h"

#include <algorithm>

#include <doctest/doctest.h>

namespace muster {

TEST_CASE("choices come from the bytes, and are the first when these have run out") {
    Choices choices(std::string_view("\x07\xff", 2));
    CHECK(choices.below(4) == 3);
    CHECK(choices.below(256) == 255);
    CHECK(!choices.has());
    CHECK(choices.below(4) == 0);
}

TEST_CASE("the same seed gives the same bytes") {
    CHECK(random_bytes(7, 10, 20) == random_bytes(7, 10, 20));
    CHECK(random_bytes(7, 10, 20) != random_bytes(8, 10, 20));
    CHECK(random_bytes(9, 5, 5).size() == 5);
}

TEST_CASE("what fails for two bytes in their order shrinks to these two") {
    const auto fails = [](const std::string& bytes) {
        const auto first = std::find_if(bytes.begin(), bytes.end(), [](char c) {
            return static_cast<unsigned char>(c) % 8 == 5;
        });
        return first != bytes.end() && std::find(first + 1, bytes.end(), '\3') != bytes.end();
    };
    std::string bytes = random_bytes(1, 300, 300);
    bytes[100] = '\x15';
    bytes[200] = '\3';
    REQUIRE(fails(bytes));
    CHECK(numbers_of(shrunk(bytes, fails)) == "5 3");
}

}  // namespace muster
