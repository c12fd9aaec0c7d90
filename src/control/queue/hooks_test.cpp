// control/queue/hooks_test.cpp - jobs and AppWrappers on their way in.
#include "control/queue/hooks.h"

#include <map>
#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "api/parsed_yaml.h"
#include "control/appwrapper/hooks.h"
#include "control/control_plane.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Admission;
using api::AdmissionRequest;
using api::Value;

/// A server's view of one write.
struct Door {
    std::map<api::Key, Value> objects;
    std::string forbidden;  // Resource that the user may not create.
    JobRules rules{};

    AdmissionRequest request(const api::GroupResource& resource, Value object, Value old = {}) {
        AdmissionRequest made;
        made.operation = old.is_null() ? AdmissionRequest::Operation::create
                                       : AdmissionRequest::Operation::update;
        made.kind = api::find_kind(resource.group, resource.plural);
        REQUIRE(made.kind != nullptr);
        made.user = "alice";
        made.object = std::move(object);
        made.old = std::move(old);
        made.find = [this](const api::Key& key) {
            const auto found = objects.find(key);
            return found == objects.end() ? Value() : found->second;
        };
        made.list = [this](const api::GroupResource& wanted, std::string_view ns) {
            std::vector<Value> found;
            for (const auto& [key, value] : objects) {
                if (key.resource == wanted && key.ns == ns) found.push_back(value);
            }
            return found;
        };
        made.allowed = [this](std::string_view, const api::GroupResource& wanted,
                              std::string_view) { return wanted.plural != forbidden; };
        return made;
    }

    void add_queue(const std::string& name, const std::string& created, const std::string& more) {
        objects[{local_queues, "team", name}] = api::parsed_yaml(
            "{metadata: {name: " + name + ", namespace: team, creationTimestamp: '" + created +
            "'" + more + "}}");
    }

    /// All hooks of the program, in their order; the object as it would be stored.
    Admission enter(const api::GroupResource& resource, Value object, Value old = {}) {
        Admission result;
        for (const api::AdmissionHook& hook : control::admission_hooks(rules)) {
            Admission answer = hook(request(resource, object, old));
            if (answer.denied) return answer;
            if (answer.changed) object = *answer.changed;
        }
        result.changed = object;
        return result;
    }
    Admission enter_job(const std::string& metadata, const std::string& spec = "") {
        return enter(jobs, api::parsed_yaml(
                               "{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: "
                               "team" +
                               metadata + "}, spec: {" + spec + "}}"));
    }
};

std::string queue_of(const Admission& admission) {
    return (*admission.changed)["metadata"]["labels"][queue_name_label].text();
}

const std::string marked = ", annotations: {kueue.x-k8s.io/default-queue: 'true'}";

TEST_CASE("a job without queue goes to the default queue and is suspended") {
    Door door;
    door.add_queue("younger", "2024-02-01T00:00:00Z", marked);
    door.add_queue("older", "2024-01-01T00:00:00Z", marked);
    door.add_queue("oldest", "2023-01-01T00:00:00Z", "");
    const Admission by_annotation = door.enter_job("");
    CHECK(queue_of(by_annotation) == "older");
    CHECK((*by_annotation.changed)["spec"]["suspend"].boolean_or(false));
    door.add_queue("default", "2025-01-01T00:00:00Z", "");
    CHECK(queue_of(door.enter_job("")) == "default");
    CHECK(queue_of(door.enter_job(", labels: {kueue.x-k8s.io/queue-name: mine}")) == "mine");
}

TEST_CASE("without a default queue a job is left as it is") {
    Door door;
    const Admission admission = door.enter_job("");
    CHECK(queue_of(admission).empty());
    CHECK_FALSE((*admission.changed)["spec"]["suspend"].boolean_or(false));
}

TEST_CASE("a pod without queue goes to the default queue where pods are named, and is gated") {
    Door door;
    door.add_queue("default", "2025-01-01T00:00:00Z", "");
    const auto enter_pod = [&] {
        return door.enter(
            pods, api::parsed_yaml("{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: "
                                   "team}, spec: {containers: [{name: c, image: i}]}}"));
    };
    const Admission unnamed = enter_pod();
    CHECK(queue_of(unnamed).empty());
    CHECK((*unnamed.changed)["spec"]["schedulingGates"].empty());
    door.rules.frameworks = {"batch/job", "pod"};
    const Admission named = enter_pod();
    CHECK(queue_of(named) == "default");
    CHECK((*named.changed)["spec"]["schedulingGates"][0]["name"].text() == admission_gate);
}

TEST_CASE("what a queued job or an AppWrapper makes is not queued again") {
    Door door;
    door.add_queue("default", "2025-01-01T00:00:00Z", "");
    door.objects[{ray_jobs, "team", "train"}] = api::parsed_yaml(
        "{metadata: {name: train, uid: u1, labels: {kueue.x-k8s.io/queue-name: default}}}");
    const auto owned = [&](const std::string& owner) {
        return door.enter_job(
            ", labels: {kueue.x-k8s.io/queue-name: default}, ownerReferences: [{" + owner +
            ", uid: u1, controller: true}]");
    };
    CHECK_FALSE(
        (*owned("apiVersion: ray.io/v1, kind: RayJob, name: train").changed)["spec"]["suspend"]
            .boolean_or(false));
    CHECK_FALSE((*owned("apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, name: aw")
                      .changed)["spec"]["suspend"]
                    .boolean_or(false));
    CHECK((*owned("apiVersion: apps/v1, kind: Deployment, name: other").changed)["spec"]["suspend"]
              .boolean_or(false));
}

TEST_CASE("the queue of a running job cannot be changed, that of a suspended one can") {
    Door door;
    const auto job = [](const std::string& queue, const std::string& suspend) {
        return api::parsed_yaml(
            "{metadata: {name: j, namespace: team, labels: {kueue.x-k8s.io/queue-name: " + queue +
            "}}, spec: {suspend: " + suspend + "}}");
    };
    const Admission running = door.enter(jobs, job("b", "false"), job("a", "false"));
    REQUIRE(running.denied);
    CHECK(running.denied->causes[0].field == "metadata.labels[kueue.x-k8s.io/queue-name]");
    CHECK_FALSE(door.enter(jobs, job("b", "true"), job("a", "true")).denied);
    CHECK_FALSE(door.enter(jobs, job("a", "false"), job("a", "true")).denied);
}

TEST_CASE("a RayJob that leaves its cluster behind is refused by the queue") {
    Door door;
    const auto job = [](const std::string& spec) {
        return api::parsed_yaml(
            "{metadata: {name: j, namespace: team, labels: {kueue.x-k8s.io/queue-name: q}},"
            " spec: {" +
            spec + "}}");
    };
    const std::string cluster = "rayClusterSpec: {headGroupSpec: {}}";
    const Admission kept = door.enter(ray_jobs, job(cluster));
    REQUIRE(kept.denied);
    CHECK(kept.denied->causes[0].field == "spec.shutdownAfterJobFinishes");
    CHECK_FALSE(door.enter(ray_jobs, job("shutdownAfterJobFinishes: true, " + cluster)).denied);
}

TEST_CASE("what a rule that is younger than a job refuses keeps nobody from letting it go") {
    Door door;
    const auto pod = [](const std::string& more, const std::string& prebuilt) {
        return api::parsed_yaml(
            "{metadata: {name: p, namespace: team, labels: {kueue.x-k8s.io/managed: 'true', "
            "kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/pod-group-name: a, "
            "kueue.x-k8s.io/prebuilt-workload-name: " +
            prebuilt + "}, annotations: {kueue.x-k8s.io/pod-group-total-count: '1'}" + more +
            "}, spec: {containers: [{name: main}]}}");
    };
    const std::string held = ", finalizers: [kueue.x-k8s.io/managed]";
    const Value old = pod(held, "b");
    REQUIRE(door.enter(pods, pod("", "b")).denied);
    CHECK_FALSE(door.enter(pods, pod("", "b"), old).denied);
    const auto gated = [](const char* suspend, const char* gates) {
        return api::parsed_yaml(
            std::string("{metadata: {name: j, namespace: team, labels: {kueue.x-k8s.io/queue-name: "
                        "q}, annotations: {kueue.x-k8s.io/admission-gated-by: ") +
            gates + "}}, spec: {suspend: " + suspend +
            ", template: {spec: {restartPolicy: Never, containers: [{name: main}]}}}}");
    };
    REQUIRE(door.enter(jobs, gated("true", "hold")).denied);
    CHECK_FALSE(door.enter(jobs, gated("false", "hold"), gated("true", "hold")).denied);
    CHECK(door.enter(jobs, gated("true", "more"), gated("true", "hold")).denied);
    // Another fault is its own.
    const Admission worse = door.enter(pods, pod("", "c"), pod(held, "a"));
    REQUIRE(worse.denied);
}

Value wrapper(const std::string& wrapped) {
    return api::parsed_yaml(
        "{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, metadata: {name: aw, "
        "namespace: team}, spec: {resources: {GenericItems: [{generictemplate: " +
        wrapped + "}]}}}");
}

const std::string config_map =
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}";

TEST_CASE("an AppWrapper comes in when its author may create what it wraps") {
    Door door;
    CHECK_FALSE(door.enter(app_wrappers, wrapper(config_map)).denied);
    CHECK_FALSE(door.enter(old_app_wrappers, wrapper(config_map)).denied);
    // A Job's selector is the server's to give.
    CHECK_FALSE(
        door.enter(app_wrappers,
                   wrapper("{apiVersion: batch/v1, kind: Job, metadata: {name: j}, spec: "
                           "{template: {spec: {restartPolicy: Never, containers: [{name: m, "
                           "image: i}]}}}}"))
            .denied);
    door.forbidden = "configmaps";
    const Admission refused = door.enter(app_wrappers, wrapper(config_map));
    REQUIRE(refused.denied);
    CHECK(refused.denied->reason == Reason::forbidden);
    CHECK(refused.denied->text.find("user \"alice\" cannot create resource \"configmaps\"") !=
          std::string::npos);
    // Its status, and an unchanged spec, are nobody's concern.
    CHECK_FALSE(door.enter(app_wrappers, wrapper(config_map), wrapper(config_map)).denied);
}

TEST_CASE("queues and flavors cannot go while they are used, from their creation on") {
    Door door;
    const auto finalizers = [&](const api::GroupResource& resource, const std::string& metadata) {
        const Value made = api::parsed_yaml("{metadata: {name: x" + metadata + "}, spec: {}}");
        return (*door.enter(resource, made).changed)["metadata"]["finalizers"];
    };
    for (const api::GroupResource& resource : {cluster_queues, flavors}) {
        CHECK(finalizers(resource, "") == Value::array({in_use_finalizer}));
        CHECK(finalizers(resource, ", finalizers: [kueue.x-k8s.io/resource-in-use]") ==
              Value::array({in_use_finalizer}));
    }
    CHECK(finalizers(cohorts, "").is_null());
    const Value let_go = api::parsed_yaml("{metadata: {name: x}, spec: {}}");
    const Admission later = door.enter(flavors, let_go, let_go);
    CHECK((*later.changed)["metadata"]["finalizers"].is_null());
    // Where nobody lets anything go nothing is held.
    for (const api::AdmissionHook& hook : admission_hooks({}, Controllers::none))
        CHECK_FALSE(hook(door.request(flavors, let_go)).changed);
}

TEST_CASE("what of a queue is kept and not obeyed is told when it is written") {
    Door door;
    const auto told = [&](const std::string& spec, const std::string& before = "") {
        std::vector<std::string> warnings;
        const Value object = api::parsed_yaml("{metadata: {name: q}, spec: {" + spec + "}}");
        const Value old = before.empty()
                              ? Value()
                              : api::parsed_yaml("{metadata: {name: q}, spec: {" + before + "}}");
        for (const api::AdmissionHook& hook : control::admission_hooks(door.rules)) {
            const Admission answer = hook(door.request(cluster_queues, object, old));
            CHECK_FALSE(answer.denied);
            warnings.insert(warnings.end(), answer.warnings.begin(), answer.warnings.end());
        }
        return warnings;
    };
    const std::string policy =
        "concurrentAdmissionPolicy: {migration: {mode: TryPreferredFlavors}}";
    CHECK(told(policy) ==
          std::vector<std::string>{
              "spec.concurrentAdmissionPolicy is kept, but this version of Muster does not obey "
              "it: each workload is tried as one in the flavors' order, not in several flavors at "
              "once, and does not move to another flavor once it is admitted"});
    CHECK(told(policy + ", stopPolicy: Hold", policy).empty());
    CHECK(told("stopPolicy: Hold").empty());
    CHECK(told("quotaManagement: Automated", policy) ==
          std::vector<std::string>{
              "spec.quotaManagement is kept, but this version of Muster does not obey it: the "
              "quota is what is written in spec.resourceGroups"});
}

TEST_CASE("an AppWrapper with a bad template is refused, and the field is named") {
    Door door;
    const auto refused = [&](const std::string& wrapped) {
        const Admission admission = door.enter(app_wrappers, wrapper(wrapped));
        REQUIRE(admission.denied);
        CHECK(admission.denied->reason == Reason::forbidden);
        return admission.denied->causes[0].field;
    };
    const std::string path = "spec.resources.GenericItems[0].generictemplate.";
    CHECK(refused("{apiVersion: v1, kind: Nothing, metadata: {name: a}}") == path + "kind");
    CHECK(refused("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: other}}") ==
          path + "metadata.namespace");
    CHECK(refused("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 1}}") ==
          path + "data[a]");
    CHECK(refused("{apiVersion: v1, kind: Namespace, metadata: {name: a}}") == path + "kind");
    CHECK(refused("{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, metadata: {name: "
                  "a}, spec: {}}") == path + "kind");
}

}  // namespace
}  // namespace muster::control::queue
