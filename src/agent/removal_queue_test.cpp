// agent/removal_queue_test.cpp - whose files are removed next.
#include "agent/removal_queue.h"

#include <doctest/doctest.h>

namespace muster::agent {
namespace {

RemovalJob job(const std::string& ns, const std::string& uid) {
    return {uid, ns, {uid}, 0};
}

/// The pods of all jobs that may be begun now.
std::string take_all(RemovalQueue& queue) {
    std::string pods;
    while (const auto next = queue.take())
        pods += next->uid + " ";
    return pods;
}

TEST_CASE("a namespace with many pods to remove holds up no other") {
    RemovalQueue queue;
    for (int i = 0; i < 100; ++i)
        queue.add(job("red", "r" + std::to_string(i)));
    CHECK(take_all(queue) == "r0 r1 ");
    queue.add(job("blue", "b0"));
    CHECK(take_all(queue) == "b0 ");
    queue.end(job("red", "r0"));
    CHECK(take_all(queue) == "r2 ");
    CHECK(queue.has("r1"));
    CHECK(queue.has("r99"));
    CHECK_FALSE(queue.has("r0"));
}

TEST_CASE("namespaces take turns where not all can have one") {
    RemovalQueue queue;
    for (std::size_t i = 0; i < RemovalQueue::kMostAtOnce; ++i)
        queue.add(job("full" + std::to_string(i), "f" + std::to_string(i)));
    take_all(queue);
    for (const char* uid : {"1", "2"})
        for (const char* ns : {"a", "b", "c"})
            queue.add(job(ns, std::string(ns) + uid));
    std::string order;
    for (std::size_t i = 0; i < 6; ++i) {
        queue.end(job("full" + std::to_string(i), "f" + std::to_string(i)));
        order += take_all(queue);
    }
    CHECK(order == "a1 b1 c1 a2 b2 c2 ");
}

TEST_CASE("what concerns one pod is done in order") {
    RemovalQueue queue;
    queue.add({"p", "red", {"p/volumes"}, 0});
    queue.add({"p", "red", {"p"}, 0});
    queue.add(job("red", "q"));
    const auto first = queue.take();
    REQUIRE(first);
    CHECK(first->paths.front() == "p/volumes");
    CHECK(take_all(queue) == "q ");
    queue.end(*first);
    CHECK(queue.has("p"));
    const auto second = queue.take();
    REQUIRE(second);
    CHECK(second->paths.front() == "p");
    queue.end(*second);
    CHECK_FALSE(queue.has("p"));
}

}  // namespace
}  // namespace muster::agent
