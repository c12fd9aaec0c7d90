// control/queue/leader_worker_set_test.cpp - LeaderWorkerSets in the queues, their operator played.
#include "control/queue/leader_worker_set.h"

#include <variant>

#include <doctest/doctest.h>

#include "api/guest_kinds.h"
#include "api/yaml.h"
#include "control/queue/hooks.h"
#include "control/queue/identifiers.h"
#include "control/queue/managed.h"
#include "control/queue/pod_shape.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

const api::GroupResource sets{"leaderworkerset.x-k8s.io", "leaderworkersets"};

struct Groups : SmallQueues {
    JobRules rules;
    std::string refused;

    /// Past the hooks, as a new object or, with what was there, a changed one.
    Value admitted(const api::GroupResource& resource, Value object, const Value& old = {}) {
        api::AdmissionRequest made;
        made.kind = api::find_known_kind(resource.group, resource.plural);
        made.operation = old.is_null() ? api::AdmissionRequest::Operation::create
                                       : api::AdmissionRequest::Operation::update;
        made.object = std::move(object);
        made.old = old;
        made.find = find_in(seen);
        made.list = [](const api::GroupResource&, std::string_view) {
            return std::vector<Value>();
        };
        refused.clear();
        for (const api::AdmissionHook& hook : admission_hooks(rules)) {
            api::Admission answer = hook(made);
            if (answer.denied) refused = answer.denied->text;
            if (answer.changed) made.object = std::move(*answer.changed);
        }
        return made.object;
    }
    static Value parse(const std::string& text) {
        return std::get<std::vector<api::Parsed>>(api::parse_yaml(text))[0].value;
    }
    /// Two groups of a leader of 1 cpu and two workers of 1.
    kube::ObjectPtr enter_set(const std::string& replicas = "2") {
        const auto part = [](const char* name) {
            return std::string(name) +
                   ": {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}";
        };
        return store(
            sets,
            admitted(sets, parse("{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, "
                                 "metadata: {namespace: "
                                 "team, name: serve, labels: {kueue.x-k8s.io/queue-name: lq}}, "
                                 "spec: {replicas: " +
                                 replicas + ", leaderWorkerTemplate: {size: 3, " +
                                 part("leaderTemplate") + ", " + part("workerTemplate") + "}}}")));
    }
    kube::ObjectPtr now_set() { return find(sets, "team", "serve"); }
    /// As the operator makes it; without an index its labels come later.
    kube::ObjectPtr enter_pod(const std::string& name, const char* part, const std::string& index) {
        Value pod = now_set()->value["spec"]["leaderWorkerTemplate"][part];
        Value& metadata = pod.at("metadata");
        metadata.set("namespace", "team");
        metadata.set("name", name);
        metadata.at("labels").set("leaderworkerset.sigs.k8s.io/name", "serve");
        if (!index.empty())
            metadata.at("labels").set("leaderworkerset.sigs.k8s.io/group-index", index);
        if (std::string_view(part) == "workerTemplate")
            metadata.at("annotations").set("leaderworkerset.sigs.k8s.io/leader-name", "serve-0");
        pod.set("apiVersion", "v1");
        pod.set("kind", "Pod");
        pod.set("status", Value::object({{"phase", "Pending"}}));
        return store(pods, admitted(pods, std::move(pod)));
    }
    std::vector<kube::ObjectPtr> groups() { return seen.owned_by(workloads, now_set()->uid); }
    bool waits(const std::string& name) {
        return has_gate(find(pods, "team", name)->value, admission_gate);
    }
};

TEST_CASE("each group of a LeaderWorkerSet is a Workload, and its pods join it by their index") {
    Groups world;  // 9 cpu
    world.enter_set();
    world.rest();
    REQUIRE(world.groups().size() == 2);
    for (const auto& group : world.groups()) {
        const Value& asked = group->value["spec"]["podSets"];
        REQUIRE(asked.size() == 2);
        CHECK(asked[0]["name"].text() == "leader");
        CHECK(asked[0]["count"].as_integer() == 1);
        CHECK(asked[1]["name"].text() == "worker");
        CHECK(asked[1]["count"].as_integer() == 2);
        CHECK(is_admitted(group->value));
    }
    const auto leader = world.enter_pod("serve-0", "leaderTemplate", "");
    CHECK(world.waits("serve-0"));
    CHECK(group_of(*leader).empty());
    const auto worker = world.enter_pod("serve-0-1", "workerTemplate", "0");
    CHECK(worker->annotation(role_hash_annotation) == "worker");
    CHECK(worker->label(queue_name_label) == "lq");
    world.rest();
    CHECK_FALSE(world.waits("serve-0-1"));
    CHECK(world.waits("serve-0"));
    CHECK(world.seen.owned_by(workloads, leader->uid).empty());  // It is nobody by itself.
    world.patch(leader, "{metadata: {labels: {leaderworkerset.sigs.k8s.io/group-index: '0'}}}");
    world.rest();
    const auto joined = world.find(pods, "team", "serve-0");
    CHECK(joined->annotation(role_hash_annotation) == "leader");
    CHECK(group_of(*joined) == group_of(*worker));
    CHECK_FALSE(world.waits("serve-0"));
}

TEST_CASE("pods whose LeaderWorkerSet and Workloads are gone are let go when they have ended") {
    Groups world;
    world.enter_set("1");
    world.rest();
    const auto leader = world.enter_pod("serve-0", "leaderTemplate", "0");
    world.rest();
    world.patch(leader, "{spec: {nodeName: laptop}, status: {phase: Running}}");
    // The cluster is quicker than who watches it: both are gone at once.
    const auto groups = world.groups();
    world.erase(world.now_set()->key);
    for (const auto& group : groups)
        world.erase(group->key);
    world.turn();
    const auto ending = world.find(pods, "team", "serve-0");
    REQUIRE(ending != nullptr);
    CHECK(ending->is_terminating());
    world.end_pod(ending, "Failed");
    world.rest();
    CHECK(world.find(pods, "team", "serve-0") == nullptr);
}

TEST_CASE("a pod of a LeaderWorkerSet that ends while its group goes on makes room for the next") {
    Groups world;
    world.enter_set("1");
    world.rest();
    world.patch(world.enter_pod("serve-0-1", "workerTemplate", "0"),
                "{spec: {nodeName: laptop}, status: {phase: Running}}");
    world.rest();
    world.remove({pods, "team", "serve-0-1"});
    world.end_pod(world.find(pods, "team", "serve-0-1"), "Failed");
    world.rest();
    CHECK(world.find(pods, "team", "serve-0-1") == nullptr);
}

TEST_CASE("a LeaderWorkerSet that shrinks or grows has Workloads for as many groups") {
    Groups world;
    world.enter_set("4");  // The last has no room.
    world.rest();
    REQUIRE(world.groups().size() == 4);
    const auto admitted = [&] {
        const auto groups = world.groups();
        return std::count_if(groups.begin(), groups.end(),
                             [](const auto& group) { return is_admitted(group->value); });
    };
    CHECK(admitted() == 3);
    world.patch(world.now_set(), "{spec: {replicas: 1}}");
    world.rest();
    CHECK(world.groups().size() == 1);
    CHECK(admitted() == 1);
}

TEST_CASE("the Workloads of many groups are made in several passes") {
    Groups world;
    const kube::ObjectPtr set = world.enter_set("600");
    const Controller controller = leader_worker_set_controller({});
    const auto first = controller.reconcile(world.seen, set->key, world.now);
    CHECK(first.writes.size() == 256);
    world.rest();
    CHECK(world.groups().size() == 600);
    CHECK(controller.reconcile(world.seen, set->key, world.now).writes.empty());
}

TEST_CASE("what of a queued LeaderWorkerSet may not change is refused") {
    Groups world;
    const Value before = world.enter_set()->value;
    Value now = before;
    now.at("metadata").at("labels").set(queue_name_label, "other");
    world.admitted(sets, now, before);
    CHECK(world.refused == "");
    Value ready = before;
    ready.at("status").set("readyReplicas", 1);
    world.admitted(sets, now, ready);
    CHECK(world.refused ==
          "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"other\": field is "
          "immutable");
    now = before;
    now.at("spec").at("leaderWorkerTemplate").set("size", 7);
    world.admitted(sets, now, before);
    CHECK(world.refused == "spec.leaderWorkerTemplate.size: Invalid value: 7: field is immutable");
    now = before;
    now.at("spec").set("replicas", 1'000'001);
    world.admitted(sets, now, before);
    CHECK(world.refused ==
          "spec.replicas: Invalid value: 1000001: invalid LeaderWorkerSet replicas: must be <= "
          "1000000, got 1000001");
    now = before;
    now.at("spec").at("leaderWorkerTemplate").erase("leaderTemplate");
    world.admitted(sets, now, before);
    CHECK(world.refused.find("spec.leaderWorkerTemplate.leaderTemplate") != std::string::npos);
    now = before;
    now.at("spec").set("replicas", 5);
    world.admitted(sets, now, before);
    CHECK(world.refused == "");
}

}  // namespace
}  // namespace muster::control::queue
