// control/queue/pod_workload_test.cpp - what the Workloads of pods and groups say, and which pods
// have one.
#include "control/queue/pod_workload.h"

#include <doctest/doctest.h>

#include "api/parsed_yaml.h"
#include "api/yaml.h"
#include "control/queue/hooks.h"
#include "control/queue/managed.h"
#include "control/queue/pod_kinds.h"
#include "control/queue/pod_shape.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

/// Queues with a door, under rules of the administrator.
struct Ruled : SmallQueues {
    JobRules rules;

    explicit Ruled(const JobRules& given = {})
        : SmallQueues(Settings{.jobs = given}), rules(given) {}

    kube::ObjectPtr enter(const api::GroupResource& resource, const std::string& text) {
        api::AdmissionRequest made;
        made.kind = api::find_kind(resource.group, resource.plural);
        made.object = std::get<std::vector<api::Parsed>>(api::parse_yaml(text))[0].value;
        made.find = [this](const api::Key& key) {
            const auto found = seen.find(key);
            return found == nullptr ? Value() : found->value;
        };
        made.list = [](const api::GroupResource&, std::string_view) {
            return std::vector<Value>();
        };
        for (const api::AdmissionHook& hook : admission_hooks(rules)) {
            api::Admission answer = hook(made);
            if (answer.denied) FAIL("refused: " << answer.denied->text);
            if (answer.changed) made.object = std::move(*answer.changed);
        }
        return store(resource, made.object);
    }
    kube::ObjectPtr pod(const std::string& name, const std::string& labels,
                        const std::string& annotations = "", const std::string& cpu = "1") {
        return enter(pods, "{apiVersion: v1, kind: Pod, metadata: {namespace: team, name: " + name +
                               ", labels: {" + labels + "}, annotations: {" + annotations +
                               "}}, spec: {containers: [{name: main, resources: {requests: {cpu: " +
                               cpu + "}}}]}, status: {phase: Pending}}");
    }
    kube::ObjectPtr member(const std::string& name, const std::string& labels) {
        return pod(name,
                   "kueue.x-k8s.io/queue-name: lq, kueue.x-k8s.io/pod-group-name: gang, " + labels,
                   "kueue.x-k8s.io/pod-group-total-count: '2'");
    }
    kube::ObjectPtr gang() { return find(workloads, "team", "gang"); }
};

const std::string queued = "kueue.x-k8s.io/queue-name: lq";

TEST_CASE("named labels reach the Workloads of pods and groups; a group must agree on them") {
    JobRules rules;
    rules.labels_to_copy = {"team-name", "stage"};
    Ruled world(rules);
    world.pod("alone", queued + ", team-name: red, other: x");
    world.member("a", "team-name: red");
    world.member("b", "stage: two");
    world.rest();
    CHECK(world.workload_of("alone")->label("team-name") == "red");
    CHECK(world.workload_of("alone")->label("other").empty());
    REQUIRE(world.gang() != nullptr);
    CHECK(world.gang()->label("team-name") == "red");
    CHECK(world.gang()->label("stage") == "two");

    Ruled torn(rules);
    torn.member("a", "team-name: red");
    torn.member("b", "team-name: blue");
    torn.rest();
    CHECK(torn.gang() == nullptr);
    CHECK(torn.has_event("ErrWorkloadCompose"));
}

TEST_CASE("pods and what serves must find a queue only where the settings name their kind") {
    JobRules rules;
    rules.unlabelled = JobRules::Unlabelled::managed;
    Ruled every(rules);
    every.pod("alone", "a: b");
    every.rest();
    CHECK_FALSE(has_gate(every.find(pods, "team", "alone")->value, admission_gate));

    rules.frameworks = {{"pod", "deployment", "statefulset"}};
    Ruled named(rules);
    named.pod("alone", "a: b");
    named.rest();
    CHECK(has_gate(named.find(pods, "team", "alone")->value, admission_gate));
    REQUIRE(named.workload_of("alone") != nullptr);
    CHECK_FALSE(named.workload_of("alone")->value["spec"].has("queueName"));
    named.patch(named.find(pods, "team", "alone"), "{metadata: {labels: {" + queued + "}}}");
    named.rest();
    CHECK(is_admitted(named.workload_of("alone")->value));
    CHECK_FALSE(has_gate(named.find(pods, "team", "alone")->value, admission_gate));

    const auto set = named.enter(
        stateful_sets,
        "{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: team, name: db}, "
        "spec: {replicas: 2, template: {metadata: {labels: {app: db}}, spec: {containers: []}}}}");
    CHECK(set->value.path("spec.template.metadata.annotations")[suspending_parent_annotation]
              .text() == "statefulset");
    named.rest();
    REQUIRE(named.workload_of("db") != nullptr);
    CHECK_FALSE(named.workload_of("db")->value["spec"].has("queueName"));
}

TEST_CASE("a waiting group follows its pods' class and time limit") {
    Ruled world;
    world.job("holder", "cpu: 9");
    world.put(workload_priority_classes,
              "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: high}, value: 100}");
    world.rest();
    world.member("a", "x: y");
    world.member("b", "x: y");
    world.rest();
    REQUIRE(world.gang() != nullptr);
    for (const char* name : {"a", "b"}) {
        world.patch(world.find(pods, "team", name),
                    "{metadata: {labels: {kueue.x-k8s.io/max-exec-time-seconds: '60', "
                    "kueue.x-k8s.io/priority-class: high}}}");
    }
    world.rest();
    const Value& spec = world.gang()->value["spec"];
    CHECK(spec["maximumExecutionTimeSeconds"].integer_or(0) == 60);
    CHECK(spec["priority"].integer_or(0) == 100);
}

TEST_CASE("gates of a Workload only go, as those of its job do") {
    const auto gated = [](const std::string& gates) {
        return api::parsed_yaml("{metadata: {annotations: {kueue.x-k8s.io/admission-gated-by: '" +
                                gates + "'}}}");
    };
    const auto left = [&](const std::string& of_job, const std::string& had) {
        Value workload = gated(had);
        follow_gates(gated(of_job), workload);
        return std::string(
            workload["metadata"]["annotations"][admission_gates_annotation].text_or("none"));
    };
    CHECK(left("a.io/x, b.io/y", "a.io/x,b.io/y") == "a.io/x,b.io/y");
    CHECK(left("b.io/y", "a.io/x, b.io/y") == "b.io/y");
    CHECK(left("", "a.io/x") == "none");
    // Somebody let it go on the Workload: it does not come back.
    CHECK(left("a.io/x,b.io/y", "b.io/y") == "b.io/y");
    // Blanks name no gate and close nevertheless, as in Kueue: until the job is without them.
    CHECK(left(" ", " ") == " ");
    CHECK(left("", " ") == "none");
    Value free = Value::object();
    follow_gates(gated("a.io/x"), free);
    CHECK(free.empty());
}

TEST_CASE("a time limit that its Workload cannot have is none") {
    const auto limit = [](const std::string& text) {
        Value workload = Value::object();
        follow_limit(
            api::parsed_yaml("{metadata: {labels: {kueue.x-k8s.io/max-exec-time-seconds: '" + text +
                             "'}}}"),
            workload);
        return workload["spec"]["maximumExecutionTimeSeconds"].integer_or(-1);
    };
    CHECK(limit("60") == 60);
    CHECK(limit("2147483647") == 2147483647);
    for (const char* none : {"2147483648", "3000000000", "0", "-1", "1h", ""})
        CHECK(limit(none) == -1);
}

TEST_CASE("a Workload made beforehand that asks for something else ends, and its pod with it") {
    Ruled world;
    const auto prebuilt = [&](const std::string& name, const std::string& cpu) {
        world.put(workloads,
                  "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {namespace: team, "
                  "name: " +
                      name +
                      "}, spec: {queueName: lq, podSets: [{name: main, count: 1, "
                      "template: {spec: {containers: [{name: main, resources: "
                      "{requests: {cpu: " +
                      cpu + "}}}]}}}]}}");
        world.pod("of-" + name, queued + ", kueue.x-k8s.io/prebuilt-workload-name: " + name);
    };
    prebuilt("right", "1");
    prebuilt("wrong", "2");
    world.rest();
    CHECK(is_admitted(world.find(workloads, "team", "right")->value));
    CHECK_FALSE(has_gate(world.find(pods, "team", "of-right")->value, admission_gate));
    const auto wrong = world.find(workloads, "team", "wrong");
    const Value& finished = condition_of(wrong->value["status"], "Finished");
    CHECK(finished["reason"].text() == "OutOfSync");
    CHECK(finished["message"].text() == "The prebuilt workload is out of sync with its user job");
    CHECK(has_gate(world.find(pods, "team", "of-wrong")->value, admission_gate));
}

TEST_CASE("a Workload that was tried says what it asks for, until its admission says so") {
    Ruled world;
    world.job("holder", "cpu: 8");
    world.rest();
    world.job("wide", "cpu: 500m, memory: 1Gi", 3);
    world.rest();
    const Value& asked = world.workload_of("wide")->value["status"]["resourceRequests"];
    REQUIRE(asked.size() == 1);
    CHECK(asked[0]["name"].text() == "main");
    CHECK(asked[0]["resources"]["cpu"].text() == "1500m");
    CHECK(asked[0]["resources"]["memory"].text() == "3Gi");
    world.patch(world.job_now("holder"),
                "{status: {conditions: [{type: Complete, status: 'True'}]}}");
    world.rest();
    CHECK(is_admitted(world.workload_of("wide")->value));
    CHECK(world.workload_of("wide")->value["status"]["resourceRequests"].empty());
}

TEST_CASE("scaling a StatefulSet through its subresource obeys the rules of a change") {
    const auto set = [](int replicas) {
        return std::get<std::vector<api::Parsed>>(
                   api::parse_yaml("{metadata: {namespace: team, name: db, labels: {" + queued +
                                   "}}, spec: {replicas: " + std::to_string(replicas) + "}}"))[0]
            .value;
    };
    api::AdmissionRequest request;
    request.operation = api::AdmissionRequest::Operation::update;
    request.kind = api::find_kind("apps", "statefulsets");
    request.subresource = "scale";
    request.find = [](const api::Key&) { return Value(); };
    request.old = set(2);
    request.object = set(3);
    REQUIRE(check_changed_job(request).denied);
    CHECK(check_changed_job(request).denied->text ==
          "spec.replicas: Invalid value: 3: field is immutable");
    request.object = set(0);
    CHECK_FALSE(check_changed_job(request).denied);
}

TEST_CASE("a StatefulSet that was scaled to nothing grows when its quota is back") {
    const auto set = [](int replicas, const std::string& more = "") {
        return api::parsed_yaml("{metadata: {namespace: team, name: db, uid: u, labels: {" +
                                queued + "}}, spec: {replicas: " + std::to_string(replicas) + more +
                                "}}");
    };
    std::string reason = "Waiting";
    api::AdmissionRequest request;
    request.operation = api::AdmissionRequest::Operation::update;
    request.kind = api::find_kind("apps", "statefulsets");
    request.find = [&](const api::Key& key) {
        if (key.resource != workloads || key.name != stateful_set_workload("db", "u"))
            return Value();
        return api::parsed_yaml(
            "{status: {conditions: [{type: QuotaReserved, status: 'False', "
            "reason: " +
            reason + "}]}}");
    };
    request.old = set(0);
    request.object = set(3);
    REQUIRE(check_changed_job(request).denied);
    CHECK(check_changed_job(request).denied->text ==
          "spec.replicas: Forbidden: workload from previous scale-down is still being deleted");
    reason = "OnHold";
    CHECK_FALSE(check_changed_job(request).denied);
    // What another kind has made is that kind's business.
    const std::string made =
        ", template: {metadata: {annotations: {kueue.x-k8s.io/pod-suspending-parent: other}}}";
    request.old = set(2, made);
    request.object = set(3, made);
    CHECK_FALSE(check_changed_job(request).denied);
}

}  // namespace
}  // namespace muster::control::queue
