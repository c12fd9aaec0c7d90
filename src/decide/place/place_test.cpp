// decide/place/place_test.cpp - placement: rules of nodes, packing of GPUs, whole gangs, the words.
#include "decide/place/place.h"

#include <algorithm>
#include <utility>

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster::decide {

namespace {

Node node(std::string name, Resources allocatable) {
    Node made;
    made.name = std::move(name);
    made.allocatable = std::move(allocatable);
    return made;
}

PodToPlace pod(std::string name, Resources requests) {
    PodToPlace made;
    made.name = std::move(name);
    made.shape.requests = std::move(requests);
    return made;
}

std::string seat_of(const std::vector<Seat>& seats, std::size_t i) {
    return seats.at(i).node.value_or("-");
}

}  // namespace

TEST_CASE("a pod goes to the fullest node that still takes it") {
    const std::vector<Node> nodes = {node("big", {{"cpu", {8000}}}),
                                     node("low", {{"cpu", {2000}}})};
    const auto seats = place({pod("a", {{"cpu", {1000}}}), pod("b", {{"cpu", {3000}}})}, nodes, {});
    CHECK(seat_of(seats, 0) == "low");
    CHECK(seat_of(seats, 1) == "big");
}

TEST_CASE("GPUs are packed, and pods without GPUs keep away from nodes that have them") {
    const std::vector<Node> nodes = {
        node("gpu-a", {{"cpu", {4000}}, {"nvidia.com/gpu", {4}}}),
        node("gpu-b", {{"cpu", {4000}}, {"nvidia.com/gpu", {2}}}),
        node("plain", {{"cpu", {9000}}}),
    };
    const Resources gpu = {{"cpu", {1000}}, {"nvidia.com/gpu", {1}}};
    const auto seats =
        place({pod("a", gpu), pod("b", gpu), pod("c", gpu), pod("d", {{"cpu", {1}}})}, nodes, {});
    CHECK(seat_of(seats, 0) == "gpu-b");
    CHECK(seat_of(seats, 1) == "gpu-b");
    CHECK(seat_of(seats, 2) == "gpu-a");
    CHECK(seat_of(seats, 3) == "plain");
}

TEST_CASE("higher priority is seated first, then the older one, then by name") {
    const std::vector<Node> nodes = {node("n", {{"cpu", {1000}}})};
    auto old = pod("z", {{"cpu", {1000}}});
    auto young = pod("a", {{"cpu", {1000}}});
    old.created = Time{1};
    young.created = Time{2};
    CHECK(seat_of(place({young, old}, nodes, {}), 1) == "n");
    young.priority = 1;
    CHECK(seat_of(place({young, old}, nodes, {}), 0) == "n");
    young.priority = 0;
    young.created = Time{1};
    CHECK(seat_of(place({old, young}, nodes, {}), 1) == "n");
}

TEST_CASE("every rule refuses with its own word, and the sentence counts them as kube-scheduler") {
    auto cordoned = node("a", {{"cpu", {1000}}});
    cordoned.scheduling = Node::Scheduling::cordoned;
    auto tainted = node("b", {{"cpu", {1000}}});
    tainted.taints = {{"spot", "true", Taint::Effect::no_schedule}};
    auto labelled = node("c", {{"cpu", {1000}}});
    auto small = node("d", {{"cpu", {100}}, {"memory", {5}}});
    small.labels = {{"disk", "ssd"}};
    auto full = node("e", {{"cpu", {1000}}, {"memory", {50}}, {"pods", {0}}});
    full.labels = {{"disk", "ssd"}};
    auto wanted = pod("p", {{"cpu", {500}}, {"memory", {10}}});
    wanted.shape.node_selector = {{"disk", "ssd"}};
    const auto seats = place({wanted}, {cordoned, tainted, labelled, small, full}, {});
    REQUIRE(seats.front().refusals.size() == 5);
    CHECK(refusal_text(seats.front()) ==
          "0/5 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 1 Too many pods, "
          "1 node(s) didn't match Pod's node affinity/selector, "
          "1 node(s) had untolerated taint {spot: true}, 1 node(s) were unschedulable.");
    CHECK(refusal_text(Seat{}) == "no nodes available to schedule pods");
}

TEST_CASE("required node affinity knows all operators and the node's name") {
    auto n = node("n7", {{"cpu", {1000}}});
    n.labels = {{"zone", "a"}, {"cores", "16"}};
    const auto fits = [&](NodeTerm term) {
        auto p = pod("p", {});
        p.shape.node_affinity = {std::move(term)};
        return place({p}, {n}, {}).front().node.has_value();
    };
    using Op = Requirement::Op;
    CHECK(fits({.expressions = {{"zone", Op::in, {"a", "b"}}}, .fields = {}}));
    CHECK(!fits({.expressions = {{"zone", Op::not_in, {"a"}}}, .fields = {}}));
    CHECK(fits({.expressions = {{"none", Op::not_in, {"a"}}}, .fields = {}}));
    CHECK(fits({.expressions = {{"zone", Op::exists, {}}}, .fields = {}}));
    CHECK(!fits({.expressions = {{"zone", Op::does_not_exist, {}}}, .fields = {}}));
    CHECK(fits({.expressions = {{"cores", Op::greater, {"8"}}}, .fields = {}}));
    CHECK(!fits({.expressions = {{"cores", Op::less, {"8"}}}, .fields = {}}));
    CHECK(!fits({.expressions = {{"zone", Op::greater, {"8"}}}, .fields = {}}));
    CHECK(fits({.expressions = {}, .fields = {{"metadata.name", Op::in, {"n7"}}}}));
    CHECK(!fits({.expressions = {}, .fields = {{"metadata.name", Op::in, {"n8"}}}}));
    CHECK(!fits({}));
}

TEST_CASE("tolerations open tainted and cordoned nodes") {
    auto n = node("n", {});
    n.scheduling = Node::Scheduling::cordoned;
    n.taints = {{"k", "v", Taint::Effect::no_execute},
                {"x", "", Taint::Effect::prefer_no_schedule}};
    auto p = pod("p", {});
    const auto fits = [&] { return place({p}, {n}, {}).front().node.has_value(); };
    CHECK(!fits());
    p.shape.tolerations = {{"", Toleration::Op::exists, "", Toleration::Effect::any}};
    CHECK(fits());
    p.shape.tolerations = {{"k", Toleration::Op::equal, "v", Toleration::Effect::no_execute}};
    CHECK(!fits());
    n.scheduling = Node::Scheduling::open;
    CHECK(fits());
    p.shape.tolerations = {{"k", Toleration::Op::equal, "w", Toleration::Effect::any}};
    CHECK(!fits());
}

TEST_CASE("pods near to and far from each other") {
    auto a = node("a", {});
    auto b = node("b", {});
    a.labels = {{"zone", "1"}};
    b.labels = {{"zone", "2"}};
    SeatedPod web{"web", "b", {}};
    web.shape.labels = {{"app", "web"}};
    auto p = pod("p", {});
    p.shape.affinity = {
        {.selector = {{{"app", "web"}}, {}}, .namespaces = {}, .topology_key = "zone"}};
    CHECK(seat_of(place({p}, {a, b}, {web}), 0) == "b");
    p.shape.anti_affinity = std::exchange(p.shape.affinity, {});
    CHECK(seat_of(place({p}, {a, b}, {web}), 0) == "a");
    p.shape.labels = {{"app", "web"}};
    auto q = p;
    q.name = "q";
    const auto both = place({p, q}, {a, b}, {});
    CHECK(seat_of(both, 0) != seat_of(both, 1));
    p.shape.affinity = std::exchange(p.shape.anti_affinity, {});
    CHECK(seat_of(place({p}, {a, b}, {}), 0) == "a");  // The first of its kind sits anywhere.
}

TEST_CASE("host ports are not shared") {
    SeatedPod seated{"s", "n", {}};
    seated.shape.host_ports = {{80, "TCP", ""}};
    auto p = pod("p", {});
    p.shape.host_ports = {{80, "TCP", "10.0.0.1"}};
    CHECK(seat_of(place({p}, {node("n", {})}, {seated}), 0) == "-");
    p.shape.host_ports = {{80, "UDP", ""}};
    CHECK(seat_of(place({p}, {node("n", {})}, {seated}), 0) == "n");
}

TEST_CASE("a gang is seated whole or not at all") {
    const std::vector<Node> nodes = {node("a", {{"cpu", {2000}}}), node("b", {{"cpu", {2000}}})};
    const std::vector<PodToPlace> gang = {pod("x", {{"cpu", {1000}}}), pod("y", {{"cpu", {2000}}}),
                                          pod("z", {{"cpu", {1000}}})};
    const auto seats = place(gang, nodes, {}, Gang::all_or_none);
    CHECK(seat_of(seats, 1) == "a");
    CHECK(seat_of(seats, 0) == "b");
    CHECK(seat_of(seats, 2) == "b");
    auto larger = gang;
    larger.push_back(pod("w", {{"cpu", {1}}}));
    for (const Seat& seat : place(larger, nodes, {}, Gang::all_or_none))
        CHECK(!seat.node);
}

TEST_CASE("the answer is the same for any order of pods and nodes, and no node is overfull") {
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        Random random(seed);
        std::vector<Node> nodes;
        std::vector<PodToPlace> pods;
        for (std::uint64_t i = 0; i < 1 + random.below(4); ++i) {
            nodes.push_back(node("n" + std::to_string(i),
                                 {{"cpu", {static_cast<std::int64_t>(random.below(6))}},
                                  {"gpu", {static_cast<std::int64_t>(random.below(3))}},
                                  {"pods", {static_cast<std::int64_t>(random.below(5))}}}));
        }
        for (std::uint64_t i = 0; i < random.below(7); ++i) {
            pods.push_back(pod("p" + std::to_string(i),
                               {{"cpu", {static_cast<std::int64_t>(random.below(4))}},
                                {"gpu", {static_cast<std::int64_t>(random.below(2))}}}));
        }
        const auto seats = place(pods, nodes, {});
        std::map<std::string, Resources> used;
        for (std::size_t i = 0; i < pods.size(); ++i) {
            if (!seats[i].node) continue;
            used[*seats[i].node]["pods"] += Amount{1};
            for (const auto& [r, amount] : pods[i].shape.requests)
                used[*seats[i].node][r] += amount;
        }
        for (const Node& n : nodes) {
            for (const auto& [r, amount] : used[n.name])
                CHECK(amount <= n.allocatable.at(r));
        }
        std::reverse(pods.begin(), pods.end());
        std::reverse(nodes.begin(), nodes.end());
        auto again = place(pods, nodes, {});
        std::reverse(again.begin(), again.end());
        for (std::size_t i = 0; i < seats.size(); ++i)
            CHECK(seats[i].node == again[i].node);
    }
}

}  // namespace muster::decide
