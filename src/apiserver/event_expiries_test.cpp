// apiserver/event_expiries_test.cpp - an Event that is written often is not remembered each time.
#include "apiserver/event_expiries.h"

#include <map>

#include <doctest/doctest.h>

namespace muster::apiserver {
namespace {

TEST_CASE("many writes of few Events need little memory, and the newest of each is kept") {
    EventExpiries expiries;
    std::map<std::string, store::Revision> newest;
    const auto is_newest = [&newest](const EventExpiries::Expiry& expiry) {
        return newest.at(expiry.key) == expiry.revision;
    };
    for (store::Revision revision = 1; revision <= 100'000; ++revision) {
        const std::string key = "e" + std::to_string(revision % 10 == 0 ? revision / 10'000 : 0);
        expiries.add({Time{revision}, key, revision}, newest.size(), is_newest);
        newest[key] = revision;
        REQUIRE(expiries.size() <= 2 * newest.size() + 1025);
    }
    std::size_t found = 0;
    Time last{};
    while (!expiries.empty()) {
        const EventExpiries::Expiry expiry = expiries.take_first();
        CHECK(last < expiry.when);
        last = expiry.when;
        if (is_newest(expiry)) ++found;
    }
    CHECK(found == newest.size());
}

TEST_CASE("Events that were read in another order go in that of time") {
    EventExpiries expiries;
    for (const std::int64_t when : {3, 1, 2})
        expiries.add({Time{when}, "e", when}, 3, [](const auto&) { return true; });
    expiries.sort();
    CHECK(expiries.first().when == Time{1});
}

}  // namespace
}  // namespace muster::apiserver
