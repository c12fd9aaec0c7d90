// apps/operator/cpu_profile_test.cpp - the profile finds who works, and is written as pprof reads
// it.
#include "apps/operator/cpu_profile.h"

#include <algorithm>
#include <cstring>

#include <doctest/doctest.h>

namespace muster::on_cluster {
namespace {

/// The thread sanitizer delivers signals where it likes.
#if defined(__SANITIZE_THREAD__)
constexpr bool signals_wait = true;
#else
constexpr bool signals_wait = false;
#endif

/// Works until it has been seen at work, or for many seconds of CPU time.
__attribute__((noinline)) std::uint64_t turn_around(std::uint64_t rounds) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < rounds; ++i)
        sum = sum * 31 + (i ^ (sum >> 7));
    return sum;
}

bool is_in_turn_around(std::uintptr_t place) {
    const auto begin = reinterpret_cast<std::uintptr_t>(&turn_around);
    return place >= begin && place < begin + 400;
}

}  // namespace

TEST_CASE("who works is found at work" * doctest::skip(signals_wait)) {
    std::uint64_t met = 0;
    std::uint64_t sum = 0;
    // How long a timer of CPU time takes to come is the machine's business.
    for (int round = 0; round < 100 && met == 0; ++round) {
        REQUIRE(start_sampling(seconds(10)));
        CHECK(!start_sampling(seconds(10)));
        sum += turn_around(20'000'000);
        for (const SampledStack& stack : stop_sampling()) {
            if (is_in_turn_around(stack.places.front())) met += stack.count;
        }
    }
    CHECK(met > 0);
    CHECK(sum != 1);
}

TEST_CASE("the text is that of gperftools") {
    const std::string text = profile_text({{{0x1000, 0x2000}, 7}}, sampling_period, "the maps\n");
    constexpr std::uintptr_t words[] = {0, 3, 0, 10'000, 0, 7, 2, 0x1000, 0x2000, 0, 1, 0};
    REQUIRE(text.size() == sizeof words + 9);
    CHECK(std::memcmp(text.data(), words, sizeof words) == 0);
    CHECK(text.ends_with("the maps\n"));
}

}  // namespace muster::on_cluster
