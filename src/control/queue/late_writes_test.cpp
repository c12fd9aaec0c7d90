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

/// What a controller wants of every object that it watches.
std::vector<Write> wanted(SmallQueues& world) {
    std::vector<Write> writes;
    for (const Controller& controller : world.controllers) {
        for (const api::Key& key : world.keys_of(controller)) {
            for (Write& write : controller.reconcile(world.seen, key, world.now).writes)
                writes.push_back(std::move(write));
        }
    }
    return writes;
}

/// The one that changes `field` of the spec of an object to `value`.
const Write* change_of(const std::vector<Write>& writes, const api::GroupResource& resource,
                       const char* field, bool value) {
    for (const Write& write : writes) {
        const api::Value& now = write.body["spec"][field];
        if (write.key.resource == resource && now.is_boolean() && now.boolean_or(!value) == value)
            return &write;
    }
    return nullptr;
}

TEST_CASE("a start that comes late does not undo the stop of who leads now") {
    SmallQueues world;
    world.job("train", "cpu: 2");
    for (int i = 0; i < 20 && change_of(wanted(world), jobs, "suspend", false) == nullptr; ++i) {
        for (const Write& write : wanted(world))
            world.take(write);
        for (const Write& write : world.planner.plan(world.seen, world.now).writes)
            world.take(write);
        world.now = world.now + milliseconds(150);
    }
    const std::vector<Write> of_the_old_leader = wanted(world);
    const Write* start = change_of(of_the_old_leader, jobs, "suspend", false);
    REQUIRE(start != nullptr);
    CHECK(start->version == world.job_now("train")->version);
    // The new one has started it and stopped it again.
    REQUIRE(world.take(*start));
    world.patch(world.job_now("train"), "{spec: {suspend: true}}");
    CHECK_FALSE(world.take(*start));
    CHECK(world.job_now("train")->value["spec"]["suspend"].boolean_or(false));
}

TEST_CASE("no patch of the queues' controllers goes without the version that it was decided of") {
    SmallQueues world;
    world.job("train", "cpu: 2");
    int patches = 0;
    const auto play = [&](int rounds) {
        for (int i = 0; i < rounds; ++i) {
            for (const Write& write : wanted(world)) {
                if (write.verb == Write::Verb::merge_patch) {
                    CAPTURE(to_text(write.key));
                    CAPTURE(api::to_json(write.body));
                    CHECK(write.version != 0);
                    ++patches;
                }
                world.take(write);
            }
            for (const Write& write : world.planner.plan(world.seen, world.now).writes)
                world.take(write);
            world.now = world.now + milliseconds(150);
        }
    };
    play(8);
    REQUIRE_FALSE(world.job_now("train")->value["spec"]["suspend"].boolean_or(true));
    // It has run, and is deactivated by a check: start time, templates, spec.active.
    world.patch(world.job_now("train"),
                "{spec: {template: {spec: {nodeSelector: {zone: a}}}}, status: {startTime: "
                "'2026-01-01T00:00:00Z'}}");
    world.patch(world.workload_of("train"),
                "{status: {admissionChecks: [{name: budget, state: Rejected, message: 'no', "
                "lastTransitionTime: '2026-01-01T00:00:00Z'}]}}");
    play(12);
    CHECK_FALSE(world.workload_of("train")->value["spec"]["active"].boolean_or(true));
    CHECK_FALSE(has_admission(world.workload_of("train")->value));
    CHECK(world.job_now("train")->value["spec"]["suspend"].boolean_or(false));
    CHECK_FALSE(world.job_now("train")->value["status"].has("startTime"));
    CHECK(world.job_now("train")->value.path("spec.template.spec.nodeSelector").empty());
    CHECK(patches >= 5);
}

}  // namespace
}  // namespace muster::control::queue
