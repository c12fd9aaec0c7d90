// test/fuzz/fuzz_test.cpp - every target takes its seeds and some thousand mutations of them, so
// that none rots between the long runs.
#include <cstdint>
#include <set>

#include <doctest/doctest.h>

#include "base/choices.h"
#include "base/random.h"
#include "test/fuzz/queues.h"
#include "test/fuzz/target.h"
#include "test/fuzz/two_worlds.h"

namespace muster::fuzz {
namespace {

constexpr int mutations = 1500;

/// A seed with some bytes changed, doubled, dropped, or with a piece of another seed.
std::string mutated(const Target& target, Random& random) {
    std::string text = target.seeds[random.below(target.seeds.size())];
    for (std::uint64_t change = 0; change <= random.below(4); ++change) {
        const std::size_t at = random.below(text.size() + 1);
        const std::size_t span = random.below(text.size() - at + 1);
        const std::string& other = target.seeds[random.below(target.seeds.size())];
        const std::size_t from = random.below(other.size() + 1);
        switch (random.below(6)) {
            case 0:
                if (at < text.size()) text[at] = static_cast<char>(random.below(256));
                break;
            case 1:
                text.erase(at, span);
                break;
            case 2:
                text.insert(at, text.substr(at, span));
                break;
            case 3:
                text.insert(at, other.substr(from, random.below(other.size() - from + 1)));
                break;
            case 4:
                text.insert(at, 1, "\0\xff{}[]:\"'\\\n -9,.%=/"[random.below(20)]);
                break;
            default:
                text.resize(at);
        }
    }
    return text;
}

}  // namespace

TEST_CASE("every parser takes whatever comes") {
    std::set<std::string> names;
    for (const Target& target : all_targets()) {
        CAPTURE(target.name);
        CHECK(names.insert(target.name).second);
        REQUIRE(!target.seeds.empty());
        for (const std::string& seed : target.seeds)
            target.take(seed);
        Random random(1);
        for (int i = 0; i < mutations; ++i)
            target.take(mutated(target, random));
    }
    CHECK(names.size() >= 16);
}

TEST_CASE("random lives of queues agree with the reference; those that do not are told short") {
    for (std::uint64_t life = 1; life <= 400; ++life) {
        const std::string bytes = random_bytes(life, 60, 460);
        if (play_queues(bytes)) FAIL("life " << life << ": " << shortest_failure(bytes));
    }
}

TEST_CASE("interleaved worlds decide as each alone") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        const std::string bytes = random_bytes(seed, 100, 700);
        if (play_two_worlds(bytes)) FAIL("seed " << seed << ": " << shortest_failure_of_two(bytes));
    }
}

}  // namespace muster::fuzz
