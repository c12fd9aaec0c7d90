// control/queue/late_writes_test.cpp - the queues when what was written of a Workload is seen late.
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

/// A queue in which higher priorities preempt, and Workloads that nothing owns. Writes to the
/// Workload `late` are kept until `deliver`.
struct LateQueues : SmallQueues {
    std::string late;
    std::vector<Write> kept;

    LateQueues() {
        patch(find(cluster_queues, "", "cluster-queue"),
              "{spec: {preemption: {withinClusterQueue: LowerPriority}}}");
        plan(3);
    }

    void plan(int times) {
        for (int i = 0; i < times; ++i) {
            const Reconciled planned = planner.plan(seen, now);
            for (const Write& write : planned.writes) {
                if (write.key.name == late) {
                    kept.push_back(write);
                } else if (!take(write)) {
                    planner.failed(write);
                }
            }
            now = now + milliseconds(100);
        }
    }

    void deliver() {
        late.clear();
        for (const Write& write : std::exchange(kept, {}))
            REQUIRE(take(write));
    }

    void workload(const std::string& name, int priority, const std::string& status = "{}") {
        put(workloads,
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {namespace: "
            "team, name: " +
                name + "}, spec: {queueName: lq, priority: " + std::to_string(priority) +
                ", podSets: [{name: main, count: 1, template: {spec: {containers: "
                "[{name: main, resources: {requests: {cpu: 9}}}]}}}]}, status: " +
                status + "}");
    }

    kube::ObjectPtr workload_now(const std::string& name) { return find(workloads, "team", name); }

    void end(const std::string& name) {
        Value status = workload_now(name)->value["status"];
        set_condition(status.at("conditions"), {"Finished", "True", "Succeeded", "done"}, now);
        Value changed = workload_now(name)->value;
        changed.set("status", std::move(status));
        store(workloads, std::move(changed));
    }
    using Value = api::Value;
};

// One run has ended; it waits, and is told why.
constexpr const char* evicted_before =
    "{conditions: [{type: Evicted, status: 'True', reason: Preempted, message: before},"
    " {type: QuotaReserved, status: 'False', reason: PendingEvaluation, message: before}]}";

TEST_CASE("who is preempted before its admission was written holds nothing, and starts later") {
    for (const bool seen_first : {true, false}) {
        CAPTURE(seen_first);
        LateQueues world;
        world.workload("running", 100);
        world.plan(3);
        REQUIRE(is_admitted(world.workload_now("running")->value));
        world.late = "victim";
        world.workload("victim", 0, evicted_before);
        world.plan(1);
        REQUIRE(world.kept.size() == 1);  // Why it waits.
        world.end("running");
        world.plan(3);  // It is its turn, but what is on its way comes first.
        REQUIRE(world.kept.size() == 1);
        if (seen_first) world.deliver();
        world.workload("urgent", 100);
        world.plan(1);
        if (!seen_first) world.deliver();
        world.plan(5);
        CHECK(is_admitted(world.workload_now("urgent")->value));
        CHECK_FALSE(has_admission(world.workload_now("victim")->value));
        world.end("urgent");
        world.plan(5);
        CHECK(is_admitted(world.workload_now("victim")->value));
    }
}

}  // namespace
}  // namespace muster::control::queue
