// base/persistent_test.cpp - the persistent containers against those of the standard library.
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/persistent_map.h"
#include "base/persistent_vector.h"

namespace muster {
namespace {

using Map = PersistentMap<int, std::string>;
using Reference = std::map<int, std::string>;

void check_equal(const Map& map, const Reference& reference) {
    REQUIRE(map.size() == reference.size());
    auto expected = reference.begin();
    for (const auto& [key, value] : map) {
        REQUIRE(expected != reference.end());
        REQUIRE(key == expected->first);
        REQUIRE(value == expected->second);
        ++expected;
    }
    REQUIRE(expected == reference.end());
    if (!reference.empty()) REQUIRE(map.last().key == reference.rbegin()->first);
}

void check_bounds(const Map& map, const Reference& reference, int key) {
    const auto lower = map.lower_bound(key);
    const auto expected_lower = reference.lower_bound(key);
    REQUIRE((lower == map.end()) == (expected_lower == reference.end()));
    if (expected_lower != reference.end()) REQUIRE(lower->key == expected_lower->first);
    const auto upper = map.upper_bound(key);
    const auto expected_upper = reference.upper_bound(key);
    REQUIRE((upper == map.end()) == (expected_upper == reference.end()));
    if (expected_upper != reference.end()) REQUIRE(upper->key == expected_upper->first);
    const auto [below, above] = map.around(key);
    REQUIRE((above == nullptr) == (expected_lower == reference.end()));
    if (above != nullptr) REQUIRE(above->key == expected_lower->first);
    if (!reference.contains(key)) {
        REQUIRE((below == nullptr) == (expected_lower == reference.begin()));
        if (below != nullptr) REQUIRE(below->key == std::prev(expected_lower)->first);
    }
    const std::string* found = map.find(key);
    REQUIRE((found != nullptr) == reference.contains(key));
    if (found != nullptr) REQUIRE(*found == reference.at(key));
}

void change_both(Map& map, Reference& reference, std::mt19937& random, int keys) {
    const int key = static_cast<int>(random() % static_cast<unsigned>(keys));
    switch (random() % 5) {
        case 0:
        case 1: {
            const std::string value = std::to_string(random());
            REQUIRE(map.insert(key, value) == reference.emplace(key, value).second);
            break;
        }
        case 2:
        case 3:
            REQUIRE(map.erase(key) == (reference.erase(key) == 1));
            break;
        default: {
            std::string* value = map.edit(key);
            REQUIRE((value != nullptr) == reference.contains(key));
            if (value != nullptr) reference[key] = *value += "x";
        }
    }
}

TEST_CASE("a persistent map does what std::map does, and its copies keep what they had") {
    for (unsigned seed = 0; seed < 30; ++seed) {
        std::mt19937 random(seed);
        const int keys = seed % 3 == 0 ? 40 : seed % 3 == 1 ? 1'000 : 20'000;
        Map map;
        Reference reference;
        std::vector<std::pair<Map, Reference>> copies;
        for (int round = 0; round < 4'000; ++round) {
            change_both(map, reference, random, keys);
            if (round % 500 == 0) copies.emplace_back(map, reference);
            if (round % 100 == 0) check_bounds(map, reference, static_cast<int>(random() % 100));
        }
        check_equal(map, reference);
        for (auto& [copy, expected] : copies) {
            check_equal(copy, expected);
            for (int round = 0; round < 200; ++round)
                change_both(copy, expected, random, keys);
            check_equal(copy, expected);
        }
        check_equal(map, reference);
    }
}

TEST_CASE("a persistent map that grows and shrinks in order stays right at every size") {
    for (const bool ascending : {true, false}) {
        Map map;
        Reference reference;
        const int count = 5'000;
        for (int i = 0; i < count; ++i) {
            const int key = ascending ? i : count - i;
            CHECK(map.insert(key, "v"));
            reference.emplace(key, "v");
        }
        check_equal(map, reference);
        while (!reference.empty()) {
            const int key = ascending ? reference.begin()->first : reference.rbegin()->first;
            reference.erase(key);
            CHECK(map.erase(key));
            if (reference.size() % 250 == 0) check_equal(map, reference);
        }
        CHECK(map.empty());
        CHECK(map.begin() == map.end());
    }
}

TEST_CASE("a persistent set orders by its own rule and is searched with other key types") {
    PersistentSet<std::string, std::greater<>> set;
    for (const char* word : {"queue", "gang", "quota", "node"})
        CHECK(set.insert(word));
    CHECK_FALSE(set.insert("gang"));
    CHECK(set.contains(std::string_view("node")));
    CHECK(std::vector<std::string>(set.begin(), set.end()) ==
          std::vector<std::string>{"quota", "queue", "node", "gang"});
    CHECK(set.erase(std::string_view("quota")));
    CHECK_FALSE(set.erase("quota"));
}

TEST_CASE("nothing of a persistent container outlives its last copy") {
    auto counted = std::make_shared<int>(1);
    {
        PersistentMap<int, std::shared_ptr<int>> map;
        PersistentVector<std::shared_ptr<int>> vector;
        for (int i = 0; i < 1'000; ++i) {
            map.insert(i, counted);
            vector.push_back(counted);
        }
        const auto map_copy = map;
        const auto vector_copy = vector;
        CHECK(counted.use_count() == 2'001);
        for (int i = 0; i < 1'000; ++i)
            map.erase(i);
        CHECK(map_copy.size() == 1'000);
        CHECK(counted.use_count() >= 2'001);
    }
    CHECK(counted.use_count() == 1);
}

TEST_CASE("an erased key is gone at once, whatever else is in the container") {
    for (const int step : {1, 7, 333}) {
        PersistentSet<std::shared_ptr<int>> set;
        std::vector<std::weak_ptr<int>> keys;
        for (int i = 0; i < 2'000; ++i) {
            auto key = std::make_shared<int>(i);
            keys.push_back(key);
            set.insert(std::move(key));
        }
        // Also in the order of insertion, which is not that of the keys.
        for (std::size_t i = 0, at = 0; i < keys.size(); ++i) {
            while (keys[at % keys.size()].expired())
                ++at;
            std::weak_ptr<int>& key = keys[at % keys.size()];
            CHECK(set.erase(key.lock()));
            CHECK(key.expired());
            at += static_cast<std::size_t>(step);
        }
        CHECK(set.empty());
    }
}

TEST_CASE("a copy of a persistent vector keeps what it had") {
    PersistentVector<std::string> vector;
    vector.grow(3);
    for (int i = 0; i < 1'000; ++i)
        vector.push_back(std::to_string(i));
    const PersistentVector<std::string> copy = vector;
    vector.edit(500) = "changed";
    vector.push_back("more");
    CHECK(copy.size() == 1'003);
    CHECK(copy[500] == "497");
    CHECK(vector[500] == "changed");
    CHECK(vector.size() == 1'004);
    CHECK(copy[0].empty());
}

}  // namespace
}  // namespace muster
