// decide/ids_test.cpp - names and their ranks.
#include "decide/ids.h"

#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster::decide {

namespace {

// Of any two names in use: they stand in the order of their texts.
void check_order(const Names<WorkloadId>& names) {
    const RankedName* before = nullptr;
    RankedName last;
    for (const auto& [text, id] : names.by_name()) {
        const RankedName name = names.ranked(id);
        REQUIRE(*name.text == text);
        if (before != nullptr) {
            REQUIRE(last < name);
            REQUIRE(!(name < last));
        }
        last = name;
        before = &last;
    }
}

/// How many neighbours have one rank, so that their texts must be compared.
int count_equal_ranks(const Names<WorkloadId>& names) {
    int equal = 0;
    std::uint64_t last = UINT64_MAX;
    for (const auto& [text, id] : names.by_name()) {
        equal += names.ranked(id).rank == last ? 1 : 0;
        last = names.ranked(id).rank;
    }
    return equal;
}

}  // namespace

TEST_CASE("ranks follow the order of names, in whichever order these come and go") {
    constexpr int count = 20'000;
    Random random(1);
    const std::vector<std::function<std::string(int)>> orders = {
        [](int i) { return "team/job-" + std::to_string(i); },
        [](int i) { return std::to_string(100'000 + i); },
        [](int i) { return std::to_string(200'000 - i); },
        [](int i) { return (i % 2 == 0 ? "a/" : "b/") + std::to_string(100'000 + i); },
        [&](int) { return std::to_string(random.below(1'000'000'000)); },
    };
    for (const auto& name : orders) {
        Names<WorkloadId> names;
        for (int i = 0; i < count; ++i)
            names.id_of(name(i));
        check_order(names);
        CHECK(count_equal_ranks(names) < count / 2);
        for (std::uint32_t i = 0; i < count / 2;
             i += 1 + static_cast<std::uint32_t>(random.below(3)))
            names.release(WorkloadId{i});
        for (int i = 0; i < count; ++i)
            names.id_of(name(i) + "-again");
        check_order(names);
    }
}

TEST_CASE("where there is no room between two names left, texts are compared") {
    Names<WorkloadId> names;
    for (std::string around; around.size() < 100; around += 'b') {
        names.id_of(around + 'a');
        names.id_of(around + 'c');
    }
    CHECK(count_equal_ranks(names) > 0);
    check_order(names);
}

}  // namespace muster::decide
