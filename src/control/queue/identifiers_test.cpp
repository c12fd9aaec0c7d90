// control/queue/identifiers_test.cpp - groups and Workloads made beforehand that annotations name.
#include "control/queue/identifiers.h"

#include <doctest/doctest.h>

#include "api/parsed_yaml.h"
#include "control/queue/hooks.h"
#include "control/queue/managed.h"
#include "control/queue/pod_shape.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

const std::string group = "kueue.x-k8s.io/pod-group-name: ";
const std::string prebuilt = "kueue.x-k8s.io/prebuilt-workload-name: ";
const std::string of_two = "kueue.x-k8s.io/pod-group-total-count: '2'";
const std::string long_name(70, 'a');  // No label holds it.

std::string pod(const std::string& name, const std::string& labels,
                const std::string& annotations) {
    return "{apiVersion: v1, kind: Pod, metadata: {namespace: team, name: " + name +
           ", labels: {kueue.x-k8s.io/queue-name: lq, " + labels + "}, annotations: {" +
           annotations +
           "}}, spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}, status: "
           "{phase: Pending}}";
}

/// Queues with a door: what comes in passes the hooks.
struct Named : SmallQueues {
    /// What was refused, or nothing, and then the object is there.
    std::string enter(const api::GroupResource& resource, const std::string& text,
                      const std::string& old = "") {
        api::AdmissionRequest request;
        using Operation = api::AdmissionRequest::Operation;
        request.operation = old.empty() ? Operation::create : Operation::update;
        request.kind = api::find_kind(resource.group, resource.plural);
        request.object = api::parsed_yaml(text);
        if (!old.empty()) request.old = api::parsed_yaml(old);
        request.find = find_in(seen);
        request.list = [](const api::GroupResource&, std::string_view) {
            return std::vector<Value>();
        };
        for (const api::AdmissionHook& hook : admission_hooks()) {
            const api::Admission admission = hook(request);
            if (admission.denied) return admission.denied->webhook + ": " + admission.denied->text;
            if (admission.changed) request.object = *admission.changed;
        }
        store(resource, request.object);
        return "";
    }
    bool waits(const std::string& name) {
        return has_gate(find(pods, "team", name)->value, admission_gate);
    }
};

TEST_CASE("what an annotation names goes before what a label of the same name does") {
    const auto said = [](const std::string& labels, const std::string& annotations) {
        const Value object = api::parsed_yaml(pod("p", labels, annotations));
        return std::string(group_of(object)) + " " + group_path(object);
    };
    const std::string label = "metadata.labels[kueue.x-k8s.io/pod-group-name]";
    const std::string annotation = "metadata.annotations[kueue.x-k8s.io/pod-group-name]";
    CHECK(said("", "") == " " + label);
    CHECK(said(group + "l", "") == "l " + label);
    CHECK(said("", group + "a") == "a " + annotation);
    CHECK(said(group + "l", group + "a") == "a " + annotation);
    CHECK(said(group + "l", group + "''") == "l " + label);
}

TEST_CASE("pods start together that name their group either way") {
    Named world;
    CHECK(world.enter(pods, pod("a", "", group + "gang, " + of_two)) == "");
    world.rest();
    CHECK(world.waits("a"));
    CHECK(world.find(workloads, "team", "gang") == nullptr);
    CHECK(world.enter(pods, pod("b", group + "gang", of_two)) == "");
    world.rest();
    REQUIRE(world.find(workloads, "team", "gang") != nullptr);
    CHECK_FALSE(world.waits("a"));
    CHECK_FALSE(world.waits("b"));
    CHECK_FALSE(world.find(pods, "team", "a")->annotation(role_hash_annotation).empty());
    for (const char* name : {"c", "d"})
        CHECK(world.enter(pods, pod(name, "", group + long_name + ", " + of_two)) == "");
    world.rest();
    CHECK(world.find(workloads, "team", long_name) != nullptr);
    CHECK_FALSE(world.waits("d"));
}

TEST_CASE("what a pod says of its group in annotations, to the letter") {
    Named world;
    const std::string name = "metadata.annotations[kueue.x-k8s.io/pod-group-name]";
    const std::string count = "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]";
    CHECK(world.enter(pods, pod("p", "", group + "g")) ==
          "vpod.kb.io: " + count +
              ": Required value: both the 'kueue.x-k8s.io/pod-group-total-count' annotation and "
              "the 'kueue.x-k8s.io/pod-group-name' annotation should be set");
    const std::string wrong = world.enter(pods, pod("p", "", group + "A, " + of_two));
    CHECK(wrong.starts_with("vpod.kb.io: " + name + ": Invalid value: \"A\": a lowercase RFC"));
    CHECK(world.enter(pods, pod("p", "", group + "g, " + prebuilt + "w, " + of_two)) ==
          "vpod.kb.io: metadata.annotations[kueue.x-k8s.io/prebuilt-workload-name]: Invalid value: "
          "\"w\": prebuilt workload and pod group should be equal");
    const std::string gated = pod("p", "", group + "g, " + of_two);
    CHECK(world.enter(pods, pod("p", "", group + "h, " + of_two), gated) ==
          "vpod.kb.io: " + name + ": Invalid value: \"h\": field is immutable");
    CHECK(world.enter(pods, pod("p", group + "g", of_two), gated) == "");
}

std::string job(const std::string& annotations, const std::string& suspend) {
    return "{apiVersion: batch/v1, kind: Job, metadata: {namespace: team, name: train, labels: "
           "{kueue.x-k8s.io/queue-name: lq}, annotations: {" +
           annotations + "}}, spec: {suspend: " + suspend +
           ", template: {spec: {containers: [{name: main, resources: {requests: {cpu: 1}}}]}}}}";
}

TEST_CASE("a job takes the Workload that its annotation names, and keeps it while it runs") {
    Named world;
    CHECK(world.enter(jobs, job(prebuilt + long_name, "true")) == "");
    world.rest();
    CHECK(world.seen.list(workloads, "team").empty());
    world.put(workloads,
              "{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: "
              "{namespace: team, name: " +
                  long_name +
                  "}, spec: {queueName: lq, active: true, podSets: [{name: main, count: "
                  "1, template: {spec: {containers: [{name: main, resources: "
                  "{requests: {cpu: 1}}}]}}}]}}");
    world.rest();
    CHECK(is_admitted(world.find(workloads, "team", long_name)->value));
    CHECK_FALSE(world.job_now("train")->value["spec"]["suspend"].boolean_or(true));
    const std::string path = "metadata.annotations[kueue.x-k8s.io/prebuilt-workload-name]";
    CHECK(world.enter(jobs, job(prebuilt + "v", "false"), job(prebuilt + "w", "false")) ==
          "vjob.kb.io: " + path + ": Invalid value: \"v\": field is immutable");
    CHECK(world.enter(jobs, job(prebuilt + "V", "true"))
              .starts_with("vjob.kb.io: " + path + ": Invalid value: \"V\": a lowercase RFC"));
}

}  // namespace
}  // namespace muster::control::queue
