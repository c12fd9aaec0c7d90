// decide/place/topology_test.cpp - places in topologies: by hand, and at random against counting.
#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "base/random.h"
#include "decide/place/topology_book.h"

namespace muster::decide {

namespace {

using Mode = TopologyRequest::Mode;
using Assume = TopologyBook::Assume;

Node node(const std::string& block, const std::string& rack, const std::string& name,
          std::int64_t cpu) {
    Node made;
    made.name = name;
    made.labels = {{"block", block}, {"rack", rack}, {std::string(hostname_level), name}};
    made.allocatable = {{"cpu", {cpu}}, {"pods", {110}}};
    return made;
}

Flavor flavor() {
    Flavor made;
    made.name = "f";
    made.topology = "t";
    return made;
}

TopologyBook book_of(const std::vector<Node>& nodes) {
    TopologyBook book;
    book.set_topology({"t", {"block", "rack", std::string(hostname_level)}});
    book.set_flavor(flavor());
    for (const Node& one : nodes)
        book.set_node(one);
    return book;
}

PodShape pod(std::int64_t cpu) {
    PodShape made;
    made.requests["cpu"] = {cpu};
    return made;
}

TopologyAsk ask(const PodShape& shape, std::int64_t count, TopologyRequest request) {
    return {"main", "f", count, std::move(request), {}, &shape};
}

std::string words(const TopologyAssignment& assignment) {
    std::string text;
    for (const auto& domain : assignment.domains) {
        text +=
            (text.empty() ? "" : " ") + domain.values.back() + ":" + std::to_string(domain.count);
    }
    return text;
}

/// The places of each pod set, or why there are none.
std::string found(const TopologyBook& book, const std::vector<TopologyAsk>& asks,
                  Assume assume = Assume::as_it_is) {
    const auto answer = book.find(asks, assume);
    if (const auto* refusal = std::get_if<TopologyRefusal>(&answer)) return topology_text(*refusal);
    std::string text;
    for (const auto& assignment : std::get<TopologyBook::Assignments>(answer))
        text += (text.empty() ? "" : " | ") + words(assignment);
    return text;
}

}  // namespace

TEST_CASE("what is required fits the tightest domain, and fills it from the largest node") {
    const PodShape one = pod(1);
    const TopologyBook book = book_of({node("b1", "r1", "a", 3), node("b1", "r1", "b", 4),
                                       node("b1", "r2", "c", 5), node("b1", "r2", "d", 1)});
    CHECK(found(book, {ask(one, 6, {Mode::required, "rack", {}})}) == "c:5 d:1");
    CHECK(found(book, {ask(one, 7, {Mode::required, "rack", {}})}) == "a:3 b:4");
    CHECK(found(book, {ask(one, 8, {Mode::required, "rack", {}})}) ==
          "topology \"t\" allows to fit only 7 out of 8 pod(s)");
    CHECK(found(book, {ask(one, 8, {Mode::preferred, "rack", {}})}) == "a:3 c:5");
    CHECK(found(book, {ask(one, 1, {Mode::required, "row", {}})}) ==
          "no requested topology level: row");
}

TEST_CASE("what is unconstrained fills the fullest nodes first") {
    const PodShape one = pod(1);
    const TopologyBook book = book_of({node("b1", "r1", "a", 3), node("b1", "r1", "b", 4),
                                       node("b1", "r2", "c", 5), node("b1", "r2", "d", 1)});
    CHECK(found(book, {ask(one, 3, {Mode::unconstrained, "", {}})}) == "a:3");
    CHECK(found(book, {ask(one, 6, {})}) == "a:3 b:2 d:1");
}

TEST_CASE("slices stay together, and what is beyond them finds no place") {
    const PodShape one = pod(1);
    const TopologyBook book = book_of({node("b1", "r1", "a", 3), node("b1", "r1", "b", 4),
                                       node("b1", "r2", "c", 5), node("b1", "r2", "d", 1)});
    CHECK(found(book, {ask(one, 4, {Mode::required, "block", {{"rack", 2}}})}) == "c:3 d:1");
    CHECK(found(book, {ask(one, 12, {Mode::required, "block", {{"rack", 2}}})}) ==
          "a:3 b:3 c:5 d:1");
    CHECK(found(book, {ask(one, 14, {Mode::required, "block", {{"rack", 2}}})}) ==
          "topology \"t\" allows to fit only 6 out of 7 slice(s)");
    CHECK(found(book,
                {ask(one, 4, {Mode::none, "", {{"rack", 4}, {"kubernetes.io/hostname", 2}}})}) ==
          "c:4");
    CHECK(found(book, {ask(one, 4, {Mode::required, "rack", {{"block", 2}}})}) ==
          "podset slice topology block is above the podset topology rack");
}

TEST_CASE("a leader sits with its workers, whichever of the two comes first") {
    const PodShape worker = pod(2);
    const PodShape chief = pod(3);
    const TopologyBook book = book_of({node("b1", "r1", "a", 4), node("b1", "r1", "b", 5),
                                       node("b1", "r2", "c", 4), node("b1", "r2", "d", 4)});
    std::vector<TopologyAsk> asks = {ask(worker, 3, {Mode::required, "rack", {}}),
                                     ask(chief, 1, {Mode::required, "rack", {}})};
    asks[0].group = asks[1].group = "g";
    CHECK(found(book, asks) == "a:2 b:1 | b:1");
    std::swap(asks[0], asks[1]);
    CHECK(found(book, asks) == "b:1 | a:2 b:1");
    asks[1].count = 4;
    CHECK(found(book, asks) == "topology \"t\" allows to fit only 4 out of 4 pod(s)");
}

TEST_CASE("taints, selectors, readiness and other pods keep nodes out, and are counted") {
    PodShape shape = pod(2);
    shape.node_selector["disk"] = "ssd";
    std::vector<Node> nodes = {node("b1", "r1", "a", 4), node("b1", "r1", "b", 4),
                               node("b1", "r1", "c", 4), node("b1", "r1", "d", 4),
                               node("b1", "r1", "e", 4)};
    for (Node& one : nodes)
        one.labels["disk"] = "ssd";
    nodes[0].taints = {{"gone", "yes", Taint::Effect::no_execute}};
    nodes[1].labels["disk"] = "hdd";
    nodes[2].condition = Node::Condition::not_ready;
    nodes[3].scheduling = Node::Scheduling::cordoned;
    TopologyBook book = book_of(nodes);
    CHECK(found(book, {ask(shape, 2, {})}) == "e:2");
    book.bind("other", "e", pod(3), "");
    CHECK(found(book, {ask(shape, 2, {})}) ==
          "topology \"t\" doesn't allow to fit any of 2 pod(s). Total nodes: 3; excluded: "
          "nodeSelector: 1, resource \"cpu\": 1, taint \"gone=yes:NoExecute\": 1");
    book.unbind("other");
    CHECK(found(book, {ask(shape, 2, {})}) == "e:2");
}

TEST_CASE("what is held is taken, once, also while its pods sit there, and given back") {
    const PodShape one = pod(1);
    TopologyBook book = book_of({node("b1", "r1", "a", 4)});
    const std::vector<TopologyAsk> asks = {ask(one, 3, {})};
    const auto places = std::get<TopologyBook::Assignments>(book.find(asks, Assume::as_it_is));
    book.bind("w-0", "a", one, "w");
    book.hold("w", asks, places);
    CHECK(book.workloads_on("a") == std::vector<std::string>{"w"});
    CHECK_FALSE(book.fits(asks, places));
    CHECK(found(book, {ask(one, 1, {})}) == "a:1");
    CHECK(found(book, {ask(one, 4, {})}, Assume::empty) == "a:4");
    book.remove_node("a");
    book.set_node(node("b1", "r1", "a", 4));  // It is as full as before.
    CHECK(found(book, {ask(one, 2, {})}) == "topology \"t\" allows to fit only 1 out of 2 pod(s)");
    book.release("w");
    CHECK(found(book, {ask(one, 3, {})}) == "a:3");  // The pod is still there.
    book.unbind("w-0");
    CHECK(found(book, {ask(one, 4, {})}) == "a:4");
    CHECK(book.broken_invariants().empty());
}

TEST_CASE("pods of a failed node are replaced in the same domain; the others stay") {
    const PodShape one = pod(1);
    TopologyBook book = book_of({node("b1", "r1", "a", 2), node("b1", "r1", "b", 2),
                                 node("b1", "r1", "c", 2), node("b1", "r2", "d", 2)});
    const TopologyAsk wanted = ask(one, 4, {Mode::required, "rack", {}});
    const auto places = std::get<TopologyBook::Assignments>(book.find({wanted}, Assume::as_it_is));
    REQUIRE(words(places[0]) == "a:2 b:2");
    book.hold("w", {wanted}, places);
    book.remove_node("a");
    auto again = book.replace(wanted, places[0], "a");
    REQUIRE(std::holds_alternative<TopologyAssignment>(again));
    CHECK(words(std::get<TopologyAssignment>(again)) == "b:2 c:2");
    book.remove_node("c");
    again = book.replace(wanted, places[0], "a");
    REQUIRE(std::holds_alternative<TopologyRefusal>(again));
    CHECK(topology_text(std::get<TopologyRefusal>(again)) ==
          "topology \"t\" doesn't allow to fit any of 2 pod(s). Total nodes: 2; excluded: "
          "resource \"cpu\": 1, topologyDomain: 1");
}

TEST_CASE("what is preferred is spread evenly over the fewest domains when balance is asked for") {
    const PodShape one = pod(1);
    TopologyBook book = book_of({node("b1", "r1", "a", 5), node("b1", "r1", "b", 5),
                                 node("b1", "r1", "c", 2), node("b1", "r2", "d", 4)});
    const std::vector<TopologyAsk> asks = {ask(one, 8, {Mode::preferred, "rack", {}})};
    CHECK(found(book, asks) == "a:5 b:3");
    book.set_profile({TopologyProfile::Choice::mixed, TopologyProfile::Spread::balanced});
    CHECK(found(book, asks) == "a:4 b:4");
}

namespace {

/// A random data centre, and counting that needs no algorithm.
struct Centre {
    std::vector<Node> nodes;

    explicit Centre(Random& random) {
        for (std::uint64_t b = 0; b < 1 + random.below(3); ++b) {
            for (std::uint64_t r = 0; r < 1 + random.below(3); ++r) {
                for (std::uint64_t n = 0; n < 1 + random.below(3); ++n) {
                    const std::string block = "b" + std::to_string(b);
                    const std::string rack = block + "r" + std::to_string(r);
                    nodes.push_back(node(block, rack, rack + "n" + std::to_string(n),
                                         static_cast<std::int64_t>(random.below(7))));
                }
            }
        }
    }

    /// Slices that fit below each domain of a level when `with` carries the leader (-1: none).
    std::map<std::string, std::int64_t> slices(const std::string& level, const std::string& inner,
                                               std::int64_t size, std::int64_t cpu, int with,
                                               std::int64_t leader_cpu) const {
        std::map<std::string, std::int64_t> pods;
        std::map<std::string, std::string> outer_of;
        for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
            const Node& here = nodes[static_cast<std::size_t>(i)];
            std::int64_t free = here.allocatable.at("cpu").value;
            if (i == with) free -= leader_cpu;
            pods[here.labels.at(inner)] += free / cpu;
            outer_of[here.labels.at(inner)] = level.empty() ? "" : here.labels.at(level);
        }
        std::map<std::string, std::int64_t> sums;
        for (const auto& [domain, count] : pods)
            sums[outer_of[domain]] += count / size;
        return sums;
    }
};

struct Question {
    TopologyRequest request;
    std::int64_t count = 0;
    std::int64_t cpu = 1;
    std::int64_t leader_cpu = 0;  // 0: no leader.
};

const std::vector<std::string> levels = {"block", "rack", std::string(hostname_level)};

Question any_question(Random& random) {
    Question made;
    const std::uint64_t slice_level = random.below(3);
    const bool slices = random.below(2) == 0;
    made.request.mode = static_cast<Mode>(random.below(4));
    const std::uint64_t most = slices ? slice_level + 1 : 3;
    if (made.request.mode == Mode::required || made.request.mode == Mode::preferred) {
        made.request.level = levels[random.below(most)];
    }
    std::int64_t size = 1;
    if (slices) {
        size = 1 + static_cast<std::int64_t>(random.below(3));
        made.request.slices = {{levels[slice_level], size}};
    }
    made.count = size * (1 + static_cast<std::int64_t>(random.below(8)));
    made.cpu = 1 + static_cast<std::int64_t>(random.below(2));
    if (random.below(3) == 0) made.leader_cpu = 1 + static_cast<std::int64_t>(random.below(4));
    return made;
}

/// Whether one domain of the level (empty: all nodes together) can hold everything.
bool can_hold(const Centre& centre, const Question& question, const std::string& level) {
    const auto& slices = question.request.slices;
    const std::string inner = slices.empty() ? levels.back() : slices[0].level;
    const std::int64_t size = slices.empty() ? 1 : slices[0].size;
    const auto enough_with = [&](int leader) {
        std::string beside;
        if (leader >= 0 && !level.empty()) {
            beside = centre.nodes[static_cast<std::size_t>(leader)].labels.at(level);
        }
        for (const auto& [domain, sum] :
             centre.slices(level, inner, size, question.cpu, leader, question.leader_cpu)) {
            if (sum >= question.count / size && (leader < 0 || domain == beside)) return true;
        }
        return false;
    };
    if (question.leader_cpu == 0) return enough_with(-1);
    for (int i = 0; i < static_cast<int>(centre.nodes.size()); ++i) {
        const Node& here = centre.nodes[static_cast<std::size_t>(i)];
        if (here.allocatable.at("cpu").value >= question.leader_cpu && enough_with(i)) return true;
    }
    return false;
}

/// The label of the narrowest level of which one domain has all places; empty: none.
std::string narrowest(const Centre& centre, const TopologyBook::Assignments& places) {
    for (auto level = levels.rbegin(); level != levels.rend(); ++level) {
        std::set<std::string> domains;
        for (const auto& assignment : places) {
            for (const auto& domain : assignment.domains) {
                for (const Node& here : centre.nodes) {
                    if (here.name == domain.values.back()) domains.insert(here.labels.at(*level));
                }
            }
        }
        if (domains.size() <= 1) return *level;
    }
    return {};
}

/// The narrowest level from the requested one up that can hold everything; empty: several domains.
std::string best_level(const Centre& centre, const Question& question) {
    auto level = std::find(levels.rbegin(), levels.rend(), question.request.level);
    for (; level != levels.rend(); ++level) {
        if (can_hold(centre, question, *level)) return *level;
    }
    return {};
}

std::size_t depth(const std::string& level) {
    return static_cast<std::size_t>(std::find(levels.begin(), levels.end(), level) -
                                    levels.begin());
}

void check_slices(const Centre& centre, const Question& question,
                  const TopologyAssignment& places) {
    if (question.request.slices.empty()) return;
    std::map<std::string, std::int64_t> pods;
    for (const auto& domain : places.domains) {
        for (const Node& here : centre.nodes) {
            if (here.name != domain.values.back()) continue;
            pods[here.labels.at(question.request.slices[0].level)] += domain.count;
        }
    }
    for (const auto& [domain, count] : pods)
        CHECK(count % question.request.slices[0].size == 0);
}

}  // namespace

TEST_CASE("places are found exactly where counting says so, in any order of the nodes") {
    Random random(20261121);
    for (int round = 0; round < 4000; ++round) {
        CAPTURE(round);
        Centre centre(random);
        const Question question = any_question(random);
        const TopologyBook book = book_of(centre.nodes);
        const PodShape worker = pod(question.cpu);
        const PodShape chief = pod(question.leader_cpu);
        std::vector<TopologyAsk> asks = {ask(worker, question.count, question.request)};
        if (question.leader_cpu > 0) {
            asks.push_back(ask(chief, 1, question.request));
            asks[0].group = asks[1].group = "g";
        }
        const auto answer = book.find(asks, Assume::as_it_is);
        const auto* places = std::get_if<TopologyBook::Assignments>(&answer);
        const bool required = question.request.mode == Mode::required;
        // A leader that is one of several single pods takes the part of the worker.
        if (question.leader_cpu > 0 && question.count == 1) continue;
        CHECK((places != nullptr) ==
              can_hold(centre, question, required ? question.request.level : ""));
        if (places == nullptr) continue;
        CHECK(book.fits(asks, *places));
        check_slices(centre, question, (*places)[0]);
        std::int64_t placed = 0;
        for (const auto& domain : (*places)[0].domains)
            placed += domain.count;
        CHECK(placed == question.count);
        if (question.request.mode == Mode::preferred || required) {
            const std::string best = best_level(centre, question);
            CHECK((best.empty() || depth(narrowest(centre, *places)) >= depth(best)));
        }
        for (std::size_t i = centre.nodes.size(); i > 1; --i)
            std::swap(centre.nodes[i - 1], centre.nodes[random.below(i)]);
        const auto again = book_of(centre.nodes).find(asks, Assume::as_it_is);
        REQUIRE(std::holds_alternative<TopologyBook::Assignments>(again));
        CHECK(std::get<TopologyBook::Assignments>(again) == *places);
    }
}

TEST_CASE("whatever comes and goes, nothing is given twice and nothing stays taken") {
    Random random(7);
    for (int round = 0; round < 60; ++round) {
        CAPTURE(round);
        Centre centre(random);
        TopologyBook book = book_of(centre.nodes);
        const TopologyBook untouched = book;
        if (round % 2 == 1) {
            book.set_profile({TopologyProfile::Choice::mixed, TopologyProfile::Spread::balanced});
        }
        std::set<std::string> holders;
        for (int step = 0; step < 40; ++step) {
            const std::string name = "w" + std::to_string(random.below(8));
            if (holders.erase(name) > 0) {
                book.release(name);
            } else {
                Question question = any_question(random);
                const PodShape worker = pod(question.cpu);
                const std::vector<TopologyAsk> asks = {
                    ask(worker, question.count, question.request)};
                const auto answer = book.find(asks, Assume::as_it_is);
                const auto* places = std::get_if<TopologyBook::Assignments>(&answer);
                if (places == nullptr) continue;
                CHECK(book.fits(asks, *places));
                book.hold(name, asks, *places);
                holders.insert(name);
            }
            CHECK(book.overfull().empty());
        }
        CHECK(book.broken_invariants().empty());
        for (const std::string& name : holders)
            book.release(name);
        CHECK(book.broken_invariants().empty());
        const PodShape one = pod(1);
        const std::vector<TopologyAsk> all = {ask(one, 5, {Mode::preferred, "rack", {}})};
        book.set_profile({});
        CHECK(book.find(all, Assume::as_it_is) == untouched.find(all, Assume::as_it_is));
    }
}

}  // namespace muster::decide
