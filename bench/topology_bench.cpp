// bench/topology_bench.cpp - what places in a topology cost: 5,000 nodes, gangs of 512 pods.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/verify.h"
#include "bench/figures.h"
#include "decide/place/topology_book.h"

namespace muster::bench {
namespace {

using decide::Flavor;
using decide::hostname_level;
using decide::Node;
using decide::PodShape;
using decide::TopologyAsk;
using decide::TopologyBook;
using decide::TopologyProfile;
using decide::TopologyRequest;
using Mode = TopologyRequest::Mode;
using Assume = TopologyBook::Assume;

constexpr int blocks = 10;
constexpr int racks = 25;
constexpr int hosts = 20;

Node node_of(int block, int rack, int host) {
    Node node;
    const std::string place = std::to_string(block) + "-" + std::to_string(rack);
    node.name = "node-" + place + "-" + std::to_string(host);
    node.labels = {{"block", "block-" + std::to_string(block)},
                   {"rack", "rack-" + place},
                   {"pool", "gpu"},
                   {std::string(hostname_level), node.name}};
    node.allocatable = {{"cpu", {64'000}},
                        {"memory", {std::int64_t{512} << 30}},
                        {"nvidia.com/gpu", {8}},
                        {"pods", {110}}};
    return node;
}

PodShape pod_of(std::int64_t gpus) {
    PodShape pod;
    pod.requests = {{"cpu", {4'000 * gpus}},
                    {"memory", {(std::int64_t{32} << 30) * gpus}},
                    {"nvidia.com/gpu", {gpus}}};
    return pod;
}

TopologyAsk ask_of(const PodShape& pod, std::int64_t count, TopologyRequest request) {
    return {"main", "gpu", count, std::move(request), {}, &pod};
}

/// A third of the room is taken, unevenly.
TopologyBook busy_centre() {
    TopologyBook book;
    book.set_topology({"default", {"block", "rack", std::string(hostname_level)}});
    Flavor flavor;
    flavor.name = "gpu";
    flavor.node_labels = {{"pool", "gpu"}};
    flavor.topology = "default";
    book.set_flavor(flavor);
    for (int block = 0; block < blocks; ++block) {
        for (int rack = 0; rack < racks; ++rack) {
            for (int host = 0; host < hosts; ++host)
                book.set_node(node_of(block, rack, host));
        }
    }
    Random random(1);
    const PodShape pod = pod_of(1);
    for (int i = 0; i < 400; ++i) {
        const auto count = static_cast<std::int64_t>(1 + random.below(64));
        const std::vector<TopologyAsk> asks = {
            ask_of(pod, count,
                   {random.below(2) == 0 ? Mode::required : Mode::preferred,
                    random.below(2) == 0 ? "rack" : "block",
                    {}})};
        const auto answer = book.find(asks, Assume::as_it_is);
        const auto* places = std::get_if<TopologyBook::Assignments>(&answer);
        if (places != nullptr) book.hold("job-" + std::to_string(i), asks, *places);
    }
    return book;
}

}  // namespace

void bench_topology(const Figures& figures) {
    TopologyBook book = busy_centre();
    const PodShape one = pod_of(1);
    const PodShape chief = pod_of(2);
    const auto measure = [&](const char* name, const std::vector<TopologyAsk>& asks) {
        VERIFY(
            std::holds_alternative<TopologyBook::Assignments>(book.find(asks, Assume::as_it_is)));
        figures.report_cpu(std::string("topology/512 of 5,000 nodes, ") + name,
                           [&] { (void)book.find(asks, Assume::as_it_is); });
    };
    measure("required block", {ask_of(one, 512, {Mode::required, "block", {}})});
    measure("preferred rack", {ask_of(one, 512, {Mode::preferred, "rack", {}})});
    measure("unconstrained", {ask_of(one, 512, {Mode::unconstrained, "", {}})});
    measure("slices of 8 in a host",
            {ask_of(one, 512, {Mode::preferred, "block", {{"kubernetes.io/hostname", 8}}})});
    std::vector<TopologyAsk> led = {ask_of(one, 512, {Mode::preferred, "block", {}}),
                                    ask_of(chief, 1, {Mode::preferred, "block", {}})};
    led[0].group = led[1].group = "group";
    measure("leader and workers", led);
    book.set_profile({TopologyProfile::Choice::mixed, TopologyProfile::Spread::balanced});
    measure("balanced over racks", {ask_of(one, 512, {Mode::preferred, "rack", {}})});
    book.set_profile({});

    const std::vector<TopologyAsk> asks = {ask_of(one, 512, {Mode::preferred, "rack", {}})};
    const auto places = std::get<TopologyBook::Assignments>(book.find(asks, Assume::as_it_is));
    figures.report_cpu("topology/512 pods taken and given back", [&] {
        book.hold("gang", asks, places);
        book.release("gang");
    });
    Node node = node_of(3, 7, 11);
    figures.report_cpu("topology/one of 5,000 nodes goes and comes, and 512 found", [&] {
        book.remove_node(node.name);
        (void)book.find(asks, Assume::as_it_is);
        book.set_node(node);
        (void)book.find(asks, Assume::as_it_is);
    });
    figures.report_cpu("topology/a copy of 5,000 nodes", [&] { const TopologyBook copy = book; });
}

}  // namespace muster::bench
