// control/queue/planner_doubles_test.cpp - a predecessor's admission that comes when others have
// its quota already.
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

/// A planner with a predecessor or without; Workloads of 6 CPU in a queue of 9.
struct Succession : SmallQueues {
    Write late;  // What the predecessor wrote to "second".

    /// "first" is the predecessor's, "second" waits. The predecessor, which thought that there is
    /// room for it, sends its admission, which does not arrive; then it is gone.
    explicit Succession(bool had_predecessor) {
        workload("second", 0);
        for (const Write& write : planner.plan(seen, now).writes) {
            if (write.key.name == "second") late = write;
        }
        REQUIRE(has_admission(late.body));
        workload("first", 10);
        followers.clear();
        planner = QueuePlanner({}, {.had_predecessor = [=] { return had_predecessor; }});
        followers.push_back(&planner);
        see_all();
    }
    void see_all() {
        for (const auto& [resource, version] : planner.watches()) {
            for (const kube::ObjectPtr& object : seen.list(resource))
                planner.observe(nullptr, object.get());
        }
    }
    void workload(const std::string& name, int priority, int cpu = 6) {
        put(workloads,
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {namespace: "
            "team, name: " +
                name + "}, spec: {queueName: lq, priority: " + std::to_string(priority) +
                ", podSets: [{name: main, count: 1, template: {spec: {containers: "
                "[{name: main, resources: {requests: {cpu: " +
                std::to_string(cpu) + "}}}]}}}]}}");
    }
    kube::ObjectPtr now_of(const std::string& name) { return find(workloads, "team", name); }
    /// Whatever has become of it meanwhile.
    void arrive() {
        Write write = late;
        write.version = now_of("second")->version;
        REQUIRE(take(write));
    }
    const api::Value& evicted(const std::string& name) {
        return condition_of(now_of(name)->value["status"], "Evicted");
    }
};

TEST_CASE("a predecessor's admission that comes late, beyond the quota, is evicted") {
    Succession world(true);
    world.rest();
    REQUIRE(is_admitted(world.now_of("first")->value));
    REQUIRE_FALSE(has_admission(world.now_of("second")->value));
    world.arrive();
    world.rest();
    CHECK(world.evicted("second")["status"].text_or("") == "True");
    CHECK(world.evicted("second")["reason"].text_or("") == "Preempted");
    CHECK(world.evicted("second")["message"].text().starts_with("Two operators admitted at once"));
    CHECK(is_admitted(world.now_of("first")->value));
    CHECK_FALSE(is_evicted(world.now_of("first")->value));
}

TEST_CASE("a late admission for which there is room stays, and so it does when a quota is cut") {
    Succession world(true);
    world.rest();
    REQUIRE(is_admitted(world.now_of("first")->value));
    api::Value ended = world.now_of("first")->value;
    set_condition(ended.at("status").at("conditions"), {"Finished", "True", "Succeeded", "done"},
                  world.now);
    world.store(workloads, std::move(ended));
    world.arrive();
    world.rest();
    REQUIRE(is_admitted(world.now_of("second")->value));
    world.patch(world.find(cluster_queues, "", "cluster-queue"),
                "{spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: "
                "default-flavor, resources: [{name: cpu, nominalQuota: 1}]}]}]}}");
    world.rest();
    CHECK_FALSE(is_evicted(world.now_of("second")->value));
}

TEST_CASE("of late admissions that fit in only apart as few go as must") {
    Succession world(true);
    world.workload("third", 0, 4);
    world.patch(world.find(cluster_queues, "", "cluster-queue"), "{spec: {stopPolicy: Hold}}");
    world.rest();
    REQUIRE_FALSE(has_admission(world.now_of("first")->value));
    world.arrive();
    Write other = world.late;
    other.key.name = "third";
    other.version = world.now_of("third")->version;
    api::Value& admission = other.body.at("status").at("admission");
    admission.at("podSetAssignments")
        .mutable_items()[0]
        .set("resourceUsage", api::Value::object({{"cpu", "4"}}));
    REQUIRE(world.take(other));
    world.rest();
    CHECK(is_evicted(world.now_of("second")->value) != is_evicted(world.now_of("third")->value));
}

TEST_CASE("what was admitted when it is first seen stays, and all of it without a predecessor") {
    SUBCASE("seen first with its admission") {
        Succession world(true);
        world.arrive();
        world.rest();
        CHECK(is_admitted(world.now_of("second")->value));
        CHECK_FALSE(is_evicted(world.now_of("second")->value));
    }
    SUBCASE("no predecessor") {
        Succession world(false);
        world.rest();
        world.arrive();
        world.rest();
        CHECK_FALSE(is_evicted(world.now_of("second")->value));
    }
}

}  // namespace
}  // namespace muster::control::queue
