// control/queue/pod_groups_test.cpp - queued pods, alone and in groups, and what serves.
#include "control/queue/pod_groups.h"

#include <doctest/doctest.h>

#include "control/apps/apps.h"
#include "control/queue/explain.h"
#include "control/queue/group_members.h"
#include "control/queue/hooks.h"
#include "control/queue/identifiers.h"
#include "control/queue/managed.h"
#include "control/queue/pod_shape.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

/// Queues with a door: what comes in passes the hooks.
struct Pods : SmallQueues {
    std::string refused;
    JobRules rules;

    explicit Pods(const JobRules& given = {})
        : SmallQueues(Settings{.jobs = given}), rules(given) {}

    api::AdmissionRequest request(const api::GroupResource& resource, Value object) {
        api::AdmissionRequest made;
        made.kind = api::find_kind(resource.group, resource.plural);
        made.object = std::move(object);
        made.find = [this](const api::Key& key) {
            const auto found = seen.find(key);
            return found == nullptr ? Value() : found->value;
        };
        made.list = [](const api::GroupResource&, std::string_view) {
            return std::vector<Value>();
        };
        return made;
    }
    kube::ObjectPtr enter(const api::GroupResource& resource, Value object) {
        api::AdmissionRequest made = request(resource, std::move(object));
        for (const api::AdmissionHook& hook : admission_hooks(rules)) {
            api::Admission answer = hook(made);
            if (answer.denied) {
                refused = answer.denied->webhook + ": " + answer.denied->text;
                return nullptr;
            }
            if (answer.changed) made.object = std::move(*answer.changed);
        }
        return store(resource, made.object);
    }
    kube::ObjectPtr enter(const api::GroupResource& resource, const std::string& text) {
        return enter(resource, std::get<std::vector<api::Parsed>>(api::parse_yaml(text))[0].value);
    }
    kube::ObjectPtr pod(const std::string& name, const std::string& cpu = "1",
                        const std::string& labels = "", const std::string& annotations = "") {
        return enter(pods, "{apiVersion: v1, kind: Pod, metadata: {namespace: team, name: " + name +
                               ", labels: {kueue.x-k8s.io/queue-name: lq" + labels +
                               "}, annotations: {" + annotations +
                               "}}, spec: {containers: [{name: main, resources: {requests: {cpu: " +
                               cpu + "}}}]}, status: {phase: Pending}}");
    }
    kube::ObjectPtr member(const std::string& name, const std::string& cpu = "1",
                           const std::string& count = "2", const std::string& more = "") {
        return pod(name, cpu, ", kueue.x-k8s.io/pod-group-name: gang",
                   "kueue.x-k8s.io/pod-group-total-count: '" + count + "'" + more);
    }
    kube::ObjectPtr now_of(const std::string& name) { return find(pods, "team", name); }
    bool waits(const std::string& name) { return has_gate(now_of(name)->value, admission_gate); }
    void run(const std::string& name) {
        patch(now_of(name), "{spec: {nodeName: laptop}, status: {phase: Running}}");
    }
    kube::ObjectPtr gang() { return find(workloads, "team", "gang"); }
    const Value& gang_says(const std::string& type) {
        return condition_of(gang()->value["status"], type);
    }
    void fill_queue() {
        job("holder", "cpu: 9");
        rest();
    }
    void free_queue() {
        patch(job_now("holder"), "{status: {conditions: [{type: Complete, status: 'True'}]}}");
        rest();
    }
};

TEST_CASE("a pod with a queue waits behind a gate until it is admitted") {
    Pods world;
    world.fill_queue();
    const auto pod = world.pod("alone");
    CHECK(world.waits("alone"));
    CHECK(pod->label(managed_label) == "true");
    CHECK(has_managed_finalizer(*pod));
    world.rest();
    const auto workload = world.workload_of("alone");
    REQUIRE(workload != nullptr);
    CHECK(workload->key.name.starts_with("pod-alone-"));
    CHECK(workload->label(job_uid_label) == pod->uid);
    CHECK(controller_of(workload->value)["kind"].text() == "Pod");
    CHECK(world.waits("alone"));
    world.free_queue();
    CHECK_FALSE(world.waits("alone"));
    CHECK(world.now_of("alone")->annotation(workload_annotation) == workload->key.name);
    CHECK(world.now_of("alone")->label(cluster_queue_label) == "cluster-queue");
    world.run("alone");
    world.end_pod(world.now_of("alone"), "Succeeded");
    world.rest();
    CHECK(world.condition("alone", "Finished")["reason"].text() == "Succeeded");
    CHECK_FALSE(has_managed_finalizer(*world.now_of("alone")));
}

TEST_CASE("a pod that loses its quota is told why and deleted; the quota stays until it is gone") {
    Pods world;
    world.pod("alone");
    world.rest();
    world.run("alone");
    world.rest();
    world.patch(world.workload_of("alone"), "{spec: {active: false}}");
    for (int i = 0; i < 4; ++i)
        world.turn();
    const auto pod = world.now_of("alone");
    REQUIRE(pod != nullptr);
    CHECK(pod->is_terminating());
    const Value& target = condition_of(pod->value["status"], "TerminationTarget");
    CHECK(target["reason"].text() == "WorkloadEvicted");
    CHECK(has_admission(world.workload_of("alone")->value));
    world.end_pod(pod, "Failed");
    world.rest();
    CHECK(world.now_of("alone") == nullptr);
    CHECK(world.workload_of("alone") == nullptr);
}

TEST_CASE("a group has one Workload with its name, a pod set for each role, and starts whole") {
    Pods world;
    world.fill_queue();
    world.member("leader", "2", "3");
    world.member("worker-0", "1", "3");
    world.rest();
    CHECK(world.gang() == nullptr);
    CHECK(world.has_event("ErrWorkloadCompose"));
    world.member("worker-1", "1", "3");
    world.rest();
    REQUIRE(world.gang() != nullptr);
    const Value& sets = world.gang()->value["spec"]["podSets"];
    REQUIRE(sets.size() == 2);
    CHECK(sets[0]["count"].as_integer() + sets[1]["count"].as_integer() == 3);
    CHECK(sets[0]["name"].text() < sets[1]["name"].text());
    CHECK(world.gang()->annotation(group_workload_annotation) == "true");
    CHECK(world.gang()->value["metadata"]["ownerReferences"].size() == 3);
    CHECK(controller_of(world.gang()->value).is_null());
    world.free_queue();
    for (const char* name : {"leader", "worker-0", "worker-1"})
        CHECK_FALSE(world.waits(name));
    CHECK(world.now_of("leader")->label(pod_set_label) == role_of(*world.now_of("leader")));
    for (const char* name : {"leader", "worker-0", "worker-1"}) {
        world.run(name);
        world.end_pod(world.now_of(name), "Succeeded");
    }
    world.rest();
    CHECK(world.gang_says("Finished")["message"].text() == "Pods succeeded: 3/3.");
    CHECK_FALSE(has_managed_finalizer(*world.now_of("leader")));
}

TEST_CASE("pods that are too many for their group go, the youngest first") {
    Pods world;
    world.member("a");
    world.now = world.now + seconds(1);
    world.member("b");
    world.now = world.now + seconds(1);
    world.member("c");
    world.rest();
    CHECK(world.now_of("c") == nullptr);
    CHECK(world.has_event("ExcessPodDeleted"));
    REQUIRE(world.gang() != nullptr);
    CHECK_FALSE(world.waits("a"));
    world.member("d");  // Also when the Workload is there.
    world.rest();
    CHECK(world.now_of("d") == nullptr);
}

TEST_CASE("a failed pod of a group is waited for until another stands in for it") {
    Pods world;
    world.member("a");
    world.member("b");
    world.rest();
    for (const char* name : {"a", "b"})
        world.run(name);
    world.end_pod(world.now_of("a"), "Failed");
    world.rest();
    CHECK(world.gang_says("WaitingForReplacementPods")["status"].text() == "True");
    CHECK(world.gang_says("WaitingForReplacementPods")["reason"].text() == "PodsFailed");
    CHECK(has_managed_finalizer(*world.now_of("a")));
    world.member("c");
    world.rest();
    CHECK_FALSE(world.waits("c"));
    CHECK_FALSE(has_managed_finalizer(*world.now_of("a")));
    CHECK(world.gang_says("WaitingForReplacementPods")["status"].text() == "False");
    CHECK(world.gang()->value["metadata"]["ownerReferences"].size() == 3);
    CHECK(world.has_event("OwnerReferencesAdded"));
}

TEST_CASE("a group that is not to be tried again ends with its pods") {
    Pods world;
    world.member("a");
    world.member("b", "1", "2", ", kueue.x-k8s.io/retriable-in-group: 'false'");
    world.rest();
    for (const char* name : {"a", "b"})
        world.run(name);
    world.end_pod(world.now_of("a"), "Succeeded");
    world.rest();
    CHECK(world.gang()->value["status"]["reclaimablePods"][0]["count"].as_integer() == 1);
    world.end_pod(world.now_of("b"), "Failed");
    world.rest();
    CHECK(world.gang_says("Finished")["message"].text() == "Pods succeeded: 1/2.");
}

TEST_CASE("a group that is put out comes back with other pods") {
    Pods world;
    world.member("a");
    world.member("b");
    world.rest();
    for (const char* name : {"a", "b"})
        world.run(name);
    world.rest();
    world.patch(world.find(cluster_queues, "", "cluster-queue"),
                "{spec: {stopPolicy: HoldAndDrain}}");
    for (int i = 0; i < 4; ++i)
        world.turn();
    for (const char* name : {"a", "b"}) {
        REQUIRE(world.now_of(name) != nullptr);
        CHECK(world.now_of(name)->is_terminating());
        world.end_pod(world.now_of(name), "Failed");
    }
    world.rest();
    CHECK_FALSE(has_admission(world.gang()->value));
    CHECK(world.gang_says("WaitingForReplacementPods")["reason"].text() == "ClusterQueueStopped");
    world.member("c");
    world.member("d");
    world.rest();
    CHECK(world.waits("c"));
    world.patch(world.find(cluster_queues, "", "cluster-queue"), "{spec: {stopPolicy: None}}");
    world.rest();
    CHECK_FALSE(world.waits("c"));
    CHECK_FALSE(world.waits("d"));
}

TEST_CASE("who deletes the Workload gives its pods up, waiting and done ones as well") {
    Pods world;
    world.member("a");
    world.member("b");
    world.pod("alone");
    world.rest();
    world.run("a");
    world.end_pod(world.now_of("b"), "Failed");
    world.remove(world.gang()->key);
    world.remove(world.workload_of("alone")->key);
    for (int i = 0; i < 4; ++i)
        world.turn();
    CHECK(world.now_of("b") == nullptr);
    CHECK(world.now_of("alone") == nullptr);
    REQUIRE(world.now_of("a") != nullptr);
    CHECK(condition_of(world.now_of("a")->value["status"], "TerminationTarget")["reason"].text() ==
          "WorkloadDeleted");
    world.end_pod(world.now_of("a"), "Failed");
    world.rest();
    CHECK(world.gang() == nullptr);
}

TEST_CASE("with fast admission the first pod speaks for its group") {
    Pods world;
    world.member("a", "2", "3", ", kueue.x-k8s.io/pod-group-fast-admission: 'true'");
    world.rest();
    REQUIRE(world.gang() != nullptr);
    CHECK(world.gang()->value["spec"]["podSets"][0]["count"].as_integer() == 3);
    CHECK_FALSE(world.waits("a"));
}

TEST_CASE("pods of a group that do not agree are told so") {
    Pods world;
    world.member("a", "1", "2");
    world.member("b", "1", "3");
    world.rest();
    CHECK(world.gang() == nullptr);
    bool told = false;
    for (const Event& event : world.events) {
        told = told || event.message ==
                           "pods 'a' and 'b' has different "
                           "'kueue.x-k8s.io/pod-group-total-count' values: 2!=3";
    }
    CHECK(told);
}

TEST_CASE("what a group must say of itself, to the letter") {
    Pods world;
    const auto refusal = [&](const std::string& labels, const std::string& annotations) {
        world.refused.clear();
        CHECK(world.pod("wrong", "1", labels, annotations) == nullptr);
        return world.refused;
    };
    const std::string count = "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]";
    const std::string both =
        ": Required value: both the 'kueue.x-k8s.io/pod-group-total-count' annotation and the "
        "'kueue.x-k8s.io/pod-group-name' label should be set";
    CHECK(refusal("", "kueue.x-k8s.io/pod-group-total-count: '2'") ==
          "vpod.kb.io: metadata.labels[kueue.x-k8s.io/pod-group-name]" + both);
    const std::string group = ", kueue.x-k8s.io/pod-group-name: g";
    CHECK(refusal(group, "") == "vpod.kb.io: " + count + both);
    CHECK(refusal(group, "kueue.x-k8s.io/pod-group-total-count: two") ==
          "vpod.kb.io: " + count +
              ": Invalid value: \"two\": strconv.Atoi: parsing \"two\": invalid syntax");
    CHECK(refusal(group, "kueue.x-k8s.io/pod-group-total-count: '0'") ==
          "vpod.kb.io: " + count +
              ": Invalid value: \"0\": incorrect annotation value "
              "'kueue.x-k8s.io/pod-group-total-count=0': group total count should be greater than "
              "zero");
    api::AdmissionRequest change = world.request(pods, world.member("a")->value);
    change.operation = api::AdmissionRequest::Operation::update;
    change.old = change.object;
    change.object.at("metadata").at("labels").set(group_label, "other");
    CHECK(check_changed_job(change).denied->text ==
          "metadata.labels[kueue.x-k8s.io/pod-group-name]: Invalid value: \"other\": field is "
          "immutable");
    change.object.at("metadata").at("labels").set(group_label, "gang");
    change.object.at("metadata").at("labels").set(managed_label, "no");
    CHECK(check_changed_job(change).denied->text ==
          "metadata.labels[kueue.x-k8s.io/managed]: Forbidden: managed label value can only be "
          "'true'");
    change.object.at("metadata").at("labels").set(managed_label, "true");
    change.old.at("metadata").at("annotations").set(retriable_annotation, "false");
    CHECK(check_changed_job(change).denied->text ==
          "metadata.annotations[kueue.x-k8s.io/retriable-in-group]: Forbidden: unretriable pod "
          "group can't be converted to retriable");
}

TEST_CASE("pods of a queued job are that job's; those of a bare ReplicaSet queue by themselves") {
    Pods world;
    const auto owned = [](const std::string& owner) {
        return "{metadata: {namespace: team, name: p, labels: {kueue.x-k8s.io/queue-name: lq}, "
               "ownerReferences: [{" +
               owner + ", uid: u, controller: true}]}, spec: {containers: []}}";
    };
    const auto is_gated = [&](const std::string& owner) {
        const bool gated = has_gate(world.enter(pods, owned(owner))->value, admission_gate);
        world.erase({pods, "team", "p"});
        return gated;
    };
    CHECK_FALSE(is_gated("apiVersion: batch/v1, kind: Job, name: j"));
    CHECK_FALSE(is_gated("apiVersion: ray.io/v1, kind: RayCluster, name: r"));
    CHECK(is_gated("apiVersion: apps/v1, kind: ReplicaSet, name: s"));
    world.put(replica_sets,
              "{metadata: {namespace: team, name: s, ownerReferences: [{apiVersion: "
              "apps/v1, kind: Deployment, name: d, uid: v, controller: true}]}}");
    CHECK_FALSE(is_gated("apiVersion: apps/v1, kind: ReplicaSet, name: s"));
}

std::string serving(const std::string& kind, const std::string& replicas, const std::string& more) {
    return "{apiVersion: apps/v1, kind: " + kind +
           ", metadata: {namespace: team, name: web, labels: {kueue.x-k8s.io/queue-name: lq" +
           more + "}}, spec: {replicas: " + replicas +
           ", selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, "
           "spec: "
           "{containers: [{name: main, resources: {requests: {cpu: 2}}}]}}}}";
}

TEST_CASE("a Deployment hands its queue and its class to its pods, which queue one by one") {
    Pods world;
    world.put(workload_priority_classes,
              "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: high}, value: 7}");
    const auto deployment = world.enter(
        deployments, serving("Deployment", "2", ", kueue.x-k8s.io/priority-class: high"));
    const Value& metadata = deployment->value["spec"]["template"]["metadata"];
    CHECK(metadata["labels"][queue_name_label].text() == "lq");
    CHECK(metadata["labels"][priority_class_label].text() == "high");
    CHECK(metadata["annotations"][suspending_parent_annotation].text() == "deployment");
    Value pod = deployment->value["spec"]["template"];
    pod.at("metadata").set("namespace", "team");
    pod.at("metadata").set("name", "web-1");
    world.enter(pods, pod);
    world.rest();
    CHECK_FALSE(world.waits("web-1"));
    CHECK(world.workload_of("web-1")->value["spec"]["priority"].as_integer() == 7);
    CHECK(explain(world.planner, world.seen, deployment->key, world.now)["verdict"].text() ==
          "by_pods");
}

TEST_CASE("the queue of what serves changes only while nothing of it is ready") {
    Pods world;
    const auto answer = [&](const char* kind, const std::string& old, const std::string& now) {
        const bool sets = std::string(kind) == "StatefulSet";
        const auto parse = [](const std::string& text) {
            return std::get<std::vector<api::Parsed>>(api::parse_yaml(text))[0].value;
        };
        api::AdmissionRequest made = world.request(sets ? stateful_sets : deployments, parse(now));
        made.operation = api::AdmissionRequest::Operation::update;
        made.old = parse(old);
        const api::Admission admission = check_changed_job(made);
        return admission.denied ? admission.denied->webhook + ": " + admission.denied->text : "";
    };
    const auto with = [](std::string text, const std::string& what, const std::string& by) {
        return text.replace(text.find(what), what.size(), by);
    };
    for (const char* kind : {"Deployment", "StatefulSet"}) {
        const std::string before = serving(kind, "2", "");
        const std::string other = with(before, "queue-name: lq", "queue-name: b");
        const std::string runs =
            with(before, "spec: {replicas", "status: {readyReplicas: 1}, spec: {replicas");
        const std::string hook =
            std::string("v") + (kind[0] == 'D' ? "deployment" : "statefulset") + ".kb.io: ";
        const std::string path = hook + "metadata.labels[kueue.x-k8s.io/queue-name]: ";
        CHECK(answer(kind, before, other) == "");
        CHECK(answer(kind, runs, other) == path + "Invalid value: \"b\": field is immutable");
        CHECK(answer(kind, before, with(before, "kueue.x-k8s.io/queue-name: lq", "")) ==
              path + "Invalid value: \"\": field is immutable");
    }
    const std::string set = serving("StatefulSet", "2", "");
    CHECK(answer("StatefulSet", set, serving("StatefulSet", "3", "")) ==
          "vstatefulset.kb.io: spec.replicas: Invalid value: 3: field is immutable");
    CHECK(answer("StatefulSet", set, serving("StatefulSet", "0", "")) == "");
    CHECK(answer("StatefulSet", serving("StatefulSet", "0", ""),
                 with(set, "spec: {replicas", "status: {replicas: 1}, spec: {replicas")) ==
          "vstatefulset.kb.io: spec.replicas: Forbidden: scaling down is still in progress");
    CHECK(answer("StatefulSet", set, with(set, "cpu: 2", "cpu: 3")) ==
          "vstatefulset.kb.io: spec.template.spec.containers[0].resources.requests: Invalid value: "
          "{\"cpu\":3}: field is immutable");
}

/// A pod as the StatefulSet's controller makes it.
kube::ObjectPtr make_replica(Pods& world, const kube::Object& set, int index) {
    Value pod = set.value["spec"]["template"];
    Value& metadata = pod.at("metadata");
    metadata.set("namespace", "team");
    metadata.set("name", "web-" + std::to_string(index));
    metadata.at("labels").set("apps.kubernetes.io/pod-index", std::to_string(index));
    metadata.at("ownerReferences")
        .push(Value::object({{"apiVersion", "apps/v1"},
                             {"kind", "StatefulSet"},
                             {"name", "web"},
                             {"uid", set.uid},
                             {"controller", true}}));
    pod.set("status", Value::object({{"phase", "Pending"}}));
    return world.enter(pods, pod);
}

TEST_CASE("a StatefulSet is one Workload; its pods join as they come, and it waits on hold at 0") {
    Pods world;
    world.fill_queue();
    const auto set = world.enter(stateful_sets, serving("StatefulSet", "2", ""));
    world.rest();
    const auto workload = world.workload_of("web");
    REQUIRE(workload != nullptr);
    CHECK(workload->value["spec"]["podSets"][0]["name"].text() == "main");
    CHECK(workload->value["spec"]["podSets"][0]["count"].as_integer() == 2);
    const auto first = make_replica(world, *set, 0);
    CHECK(group_of(*first) == workload->key.name);
    CHECK(first->label(pod_index_label) == "0");
    world.rest();
    CHECK(world.waits("web-0"));
    world.free_queue();
    CHECK_FALSE(world.waits("web-0"));
    world.run("web-0");
    make_replica(world, *set, 1);
    world.rest();
    CHECK_FALSE(world.waits("web-1"));
    world.run("web-1");
    world.patch(set, "{spec: {replicas: 0}}");
    for (const char* name : {"web-0", "web-1"})
        world.remove({pods, "team", name});
    world.rest();
    CHECK(has_admission(world.workload_of("web")->value));
    for (const char* name : {"web-0", "web-1"})
        world.end_pod(world.now_of(name), "Succeeded");
    world.rest();
    CHECK(world.now_of("web-0") == nullptr);
    CHECK(is_on_hold(world.workload_of("web")->value));
    CHECK_FALSE(has_admission(world.workload_of("web")->value));
    CHECK(world.pending() == "0");
    world.patch(world.find(stateful_sets, "team", "web"), "{spec: {replicas: 1}}");
    world.rest();
    CHECK(is_admitted(world.workload_of("web")->value));
    CHECK(world.workload_of("web")->value["spec"]["podSets"][0]["count"].as_integer() == 1);
}

TEST_CASE("why a pod of a group waits is told of the group") {
    Pods world;
    world.fill_queue();
    world.member("a");
    world.member("b");
    world.rest();
    const Value answer = explain(world.planner, world.seen, {pods, "team", "a"}, world.now);
    CHECK(answer["verdict"].text() != "unknown");
    CHECK(answer["message"].text().find("cpu") != std::string::npos);
}

}  // namespace
}  // namespace muster::control::queue
