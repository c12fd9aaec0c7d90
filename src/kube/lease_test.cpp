// kube/lease_test.cpp - who may take a Lease and when, without believing anybody else's clock.
#include "kube/lease.h"

#include <doctest/doctest.h>

namespace muster::kube {
namespace {

constexpr Time start{1'790'000'000'000'000'000};

LeaseOptions options_of(const std::string& identity) {
    LeaseOptions options;
    options.ns = "muster-system";
    options.name = "muster";
    options.identity = identity;
    return options;
}

/// As the server would give it back.
api::Value stored(api::Value lease, const std::string& version) {
    lease.at("metadata").set("resourceVersion", version);
    return lease;
}

}  // namespace

TEST_CASE("a Lease that is renewed is not taken; one that is not changes hands after its time") {
    const LeaseOptions ann = options_of("ann");
    api::Value lease = stored(held_lease(ann, "ann", {}, start), "1");
    CHECK(lease["spec"]["leaseTransitions"].integer_or(-1) == 0);
    // The looker's clock is an hour behind: only how long nothing changed counts.
    const Time looked = start - hours(1);
    LeaseSight sight = see_lease(std::nullopt, lease, looked);
    CHECK(!may_take(sight, "bob", looked));
    CHECK(may_take(sight, "ann", looked));
    sight = see_lease(sight, lease, looked + seconds(14));
    CHECK(!may_take(sight, "bob", looked + seconds(14)));
    lease = stored(held_lease(ann, "ann", lease, start + seconds(10)), "2");
    sight = see_lease(sight, lease, looked + seconds(14));
    CHECK(!may_take(sight, "bob", looked + seconds(28)));
    CHECK(may_take(see_lease(sight, lease, looked + seconds(29)), "bob", looked + seconds(29)));
    const api::Value taken = held_lease(options_of("bob"), "bob", lease, start + seconds(29));
    CHECK(taken["spec"]["leaseTransitions"].integer_or(-1) == 1);
    CHECK(taken["metadata"]["resourceVersion"].text() == "2");
    CHECK(taken["spec"]["acquireTime"].text() != lease["spec"]["acquireTime"].text());
}

TEST_CASE("a Lease that is given back is free at once") {
    const LeaseOptions ann = options_of("ann");
    const api::Value lease = held_lease(ann, "ann", {}, start);
    const api::Value free = stored(held_lease(ann, "", lease, start + seconds(1)), "3");
    CHECK(may_take(see_lease(std::nullopt, free, start), "bob", start));
}

TEST_CASE("a Lease written by hand, without fields, is taken at once") {
    const api::Value empty = api::Value::object({{"metadata", api::Value::object()}});
    CHECK(may_take(see_lease(std::nullopt, empty, start), "bob", start));
}

}  // namespace muster::kube
