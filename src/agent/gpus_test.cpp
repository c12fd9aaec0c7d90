// agent/gpus_test.cpp - GPUs are given to pods one by one and come back.
#include "agent/gpus.h"

#include <doctest/doctest.h>

#include "api/yaml.h"

namespace muster::agent {

namespace {

using Gpus = std::vector<int>;

api::Value yaml(const std::string& text) {
    auto parsed = api::parse_yaml(text);
    return std::move(std::get<std::vector<api::Parsed>>(parsed).front().value);
}

std::string asks(const std::string& name, int count, const std::string& more = "") {
    return "{name: " + name + ", resources: {limits: {nvidia.com/gpu: '" + std::to_string(count) +
           "'}}" + more + "}";
}

}  // namespace

TEST_CASE("accelerators are for containers that ask for one") {
    const auto sees = [](const std::string& resources) {
        return asks_for_accelerators(yaml("{resources: " + resources + "}"));
    };
    CHECK(sees("{limits: {nvidia.com/gpu: '1'}}"));
    CHECK(sees("{limits: {amd.com/gpu: '2'}}"));
    CHECK(sees("{requests: {rdma/hca: '1'}}"));
    CHECK_FALSE(sees("{limits: {nvidia.com/gpu: '0'}}"));
    CHECK_FALSE(sees("{limits: {cpu: '4', memory: 1Gi, hugepages-2Mi: 4Mi}}"));
    CHECK_FALSE(sees("{limits: {attachable-volumes.kubernetes.io/x: '1'}}"));
    CHECK_FALSE(sees("{}"));
}

TEST_CASE("pods get different GPUs of their node, and give them back") {
    GpuTable table({parse_node_declaration("a:nvidia.com/gpu=2"),
                    parse_node_declaration("b:cpu=4,nvidia.com/gpu=1")});
    CHECK(table.any());
    CHECK(table.take("a", "one", 1) == Gpus{0});
    CHECK(table.take("a", "two", 1) == Gpus{1});
    CHECK(table.take("a", "one", 1) == Gpus{0});  // What it has.
    CHECK_FALSE(table.take("a", "three", 1));
    CHECK(table.take("b", "three", 1) == Gpus{2});
    CHECK(table.take("b", "none", 0) == Gpus{});
    table.free("one");
    CHECK(table.take("a", "four", 1) == Gpus{0});
}

TEST_CASE("what a pod of an earlier life has is not given again") {
    GpuTable table({parse_node_declaration("a:nvidia.com/gpu=2")});
    table.adopt("old", {0});
    CHECK(table.take("a", "new", 1) == Gpus{1});
    CHECK_FALSE(table.take("a", "more", 1));
}

TEST_CASE("containers of a pod share no GPU, init containers take from all") {
    const auto pod = yaml("{spec: {initContainers: [" + asks("first", 3) + ", " +
                          asks("side", 1, ", restartPolicy: Always") + "], containers: [" +
                          asks("x", 1) + ", {name: none}, " + asks("z", 2) + "]}}");
    CHECK(gpus_of_pod(pod) == 4);
    const Gpus all{4, 5, 6, 7};
    CHECK(share_of(pod, "first", all) == Gpus{4, 5, 6});
    CHECK(share_of(pod, "side", all) == Gpus{4});
    CHECK(share_of(pod, "x", all) == Gpus{5});
    CHECK(share_of(pod, "none", all).empty());
    CHECK(share_of(pod, "z", all) == Gpus{6, 7});
    CHECK(visible({6, 7}) == "6,7");
    CHECK(visible({}).empty());
}

}  // namespace muster::agent
