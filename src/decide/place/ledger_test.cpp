// decide/place/ledger_test.cpp - promised pods: their seats follow the bound pods, nothing counts
// twice.
#include "decide/place/ledger.h"

#include <doctest/doctest.h>

namespace muster::decide {

namespace {

Node node(const std::string& name, std::int64_t cpu) {
    Node made;
    made.name = name;
    made.allocatable["cpu"] = {cpu};
    return made;
}

PodBound pod(const std::string& name, const std::string& on, std::int64_t cpu,
             const std::string& of = {}) {
    PodBound made;
    made.name = name;
    made.node = on;
    made.shape.requests["cpu"] = {cpu};
    made.workload = of;
    return made;
}

/// Names and shapes that live as long as a test. There is one workload, w.
struct Maker {
    Names<ResourceId> resources;
    Names<WorkloadId> names;
    Shapes shapes;
    WorkloadId w = names.id_of("w");

    std::shared_ptr<const Shape> shape(std::int64_t pods, std::int64_t cpu) {
        PodSet set;
        set.count = pods;
        set.pod.requests["cpu"] = {cpu};
        return shapes.shared(shapes.hold({set}, Workload::Binds::quota_and_nodes, resources));
    }
    const Shape& of(std::int64_t pods, std::int64_t cpu) { return *shape(pods, cpu); }
    void promise(Ledger& ledger, std::int64_t pods, std::int64_t cpu) {
        ledger.promise(w, names.ranked(w), shape(pods, cpu));
    }
    void bind(Ledger& ledger, const PodBound& pod) { ledger.bind(pod, names.find(pod.workload)); }
};

constexpr auto per_node = Options::Capacity::per_node;
constexpr auto aggregate = Options::Capacity::aggregate;

}  // namespace

TEST_CASE("a promised pod counts until it is bound, and once") {
    Maker make;
    Ledger ledger;
    ledger.set_node(node("n", 4));
    make.promise(ledger, 2, 1);
    ledger.settle();
    CHECK(ledger.free("cpu").value == 2);
    make.bind(ledger, pod("w-0", "n", 1, "w"));
    ledger.settle();
    CHECK(ledger.free("cpu").value == 2);
    ledger.unbind("w-0");  // It will be made again: its room is kept.
    ledger.settle();
    CHECK(ledger.free("cpu").value == 2);
    ledger.withdraw(make.w);
    CHECK(ledger.free("cpu").value == 4);
}

TEST_CASE("a pod that is bound elsewhere than promised frees the seat it leaves") {
    Maker make;
    Ledger ledger;
    ledger.set_node(node("a", 2));
    ledger.set_node(node("b", 3));
    make.promise(ledger, 1, 2);
    ledger.seat(make.w);  // On a, which it fits best.
    CHECK(!ledger.refusal(make.of(1, 3), per_node).has_value());
    make.bind(ledger, pod("w-0", "b", 2, "w"));
    CHECK(ledger.refusal(make.of(1, 3), per_node).has_value());
    CHECK(!ledger.refusal(make.of(1, 2), per_node).has_value());
    CHECK(ledger.broken_invariants().empty());
}

TEST_CASE("promised pods make room on a node that others took") {
    Maker make;
    Ledger ledger;
    ledger.set_node(node("a", 2));
    ledger.set_node(node("b", 2));
    make.promise(ledger, 1, 2);
    ledger.seat(make.w);
    make.bind(ledger, pod("stranger", "a", 2));
    ledger.settle();  // w's seat is on b now.
    CHECK(ledger.free("cpu").value == 0);
    ledger.unbind("stranger");
    CHECK(!ledger.refusal(make.of(1, 2), per_node).has_value());
}

TEST_CASE("promised pods without a seat count in sums, and sit down when there is room") {
    Maker make;
    Ledger ledger;
    ledger.set_node(node("a", 2));
    make.promise(ledger, 1, 3);
    CHECK(ledger.refusal(make.of(1, 2), aggregate).has_value());
    CHECK(!ledger.refusal(make.of(1, 2), per_node).has_value());
    ledger.set_node(node("b", 3));
    CHECK(ledger.refusal(make.of(1, 3), per_node).has_value());
    CHECK(!ledger.refusal(make.of(1, 2), aggregate).has_value());
}

TEST_CASE("a gang that fits no empty nodes never fits, and its refusals are theirs") {
    Maker make;
    Ledger ledger;
    ledger.set_node(node("a", 2));
    make.bind(ledger, pod("x", "a", 1));
    const auto later = ledger.refusal(make.of(1, 2), per_node);
    REQUIRE(later);
    CHECK(!later->never);
    CHECK(later->lacks.front().free.value == 1);
    const auto never = ledger.refusal(make.of(2, 2), per_node);
    REQUIRE(never);
    CHECK(never->never);
    CHECK(never->placed == 1);
    CHECK(ledger.refusal(make.of(2, 2), aggregate)->never);
}

TEST_CASE("holders are named, most first, and pods of nobody too") {
    Maker make;
    Ledger ledger;
    ledger.set_node(node("a", 9));
    make.bind(ledger, pod("ns/x", "a", 1));
    make.promise(ledger, 2, 2);
    ledger.settle();
    const std::vector<Holder> expected = {{"w", {4}}, {"pod ns/x", {1}}};
    CHECK(ledger.holders("cpu", "") == expected);
    CHECK(ledger.holders("cpu", "b").empty());
    CHECK(ledger.holders("gpu", "").empty());
}

TEST_CASE("a node that goes takes its seats along, and bound pods come before their node") {
    Maker make;
    Ledger ledger;
    make.bind(ledger, pod("early", "a", 1));
    ledger.set_node(node("a", 2));
    CHECK(ledger.free("cpu").value == 1);
    make.promise(ledger, 1, 1);
    ledger.settle();
    ledger.remove_node("a");
    ledger.set_node(node("b", 1));
    ledger.settle();
    CHECK(ledger.refusal(make.of(1, 1), per_node).has_value());
    ledger.unbind("early");
    CHECK(ledger.broken_invariants().empty());
}

}  // namespace muster::decide
