// control/queue/slices_test.cpp - jobs that are scaled while they run.
#include "control/queue/slices.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "api/kueue/rules.h"
#include "control/queue/hooks.h"
#include "control/queue/job_rules.h"
#include "control/queue/pod_shape.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

struct Elastic : SmallQueues {
    kube::ObjectPtr elastic_job(const std::string& name, int parallelism, const std::string& cpu) {
        return put(
            jobs, "{apiVersion: batch/v1, kind: Job, metadata: {namespace: team, name: " + name +
                      ", generation: 1, labels: {kueue.x-k8s.io/queue-name: lq}, annotations: "
                      "{kueue.x-k8s.io/elastic-job: 'true'}}, spec: {suspend: true, parallelism: " +
                      std::to_string(parallelism) +
                      ", template: {spec: {schedulingGates: [{name: "
                      "kueue.x-k8s.io/elastic-job}], containers: [{name: main, resources: "
                      "{requests: {cpu: " +
                      cpu + "}}}]}}}}");
    }
    void scale(const std::string& name, int parallelism) {
        const auto job = job_now(name);
        const auto generation = job->value["metadata"]["generation"].as_integer() + 1;
        patch(job, "{metadata: {generation: " + std::to_string(generation) +
                       "}, spec: {parallelism: " + std::to_string(parallelism) + "}}");
    }
    /// A pod as the Job's controller makes it.
    void make_pod(const std::string& name, const std::string& job) {
        put(pods, "{metadata: {namespace: team, name: " + name +
                      ", labels: {kueue.x-k8s.io/podset: main}, ownerReferences: [{apiVersion: "
                      "batch/v1, kind: Job, name: " +
                      job + ", uid: " + job_now(job)->uid +
                      ", controller: true}]}, spec: {schedulingGates: [{name: "
                      "kueue.x-k8s.io/elastic-job}]}, status: {phase: Pending}}");
    }
    bool waits(const std::string& pod) {
        return has_gate(find(pods, "team", pod)->value, elastic_annotation);
    }
    std::vector<kube::ObjectPtr> slices(const std::string& job) {
        return slices_of(seen, job_now(job)->uid);
    }
    std::string used() {
        const Value& queue = find(cluster_queues, "", "cluster-queue")->value;
        return queue.path("status.flavorsUsage")[0]["resources"][0]["total"].text();
    }
};

TEST_CASE("a job that grows while it runs gets a second slice, charged with the growth only") {
    Elastic world;  // 9 cpu
    world.elastic_job("train", 2, "2");
    world.rest();
    REQUIRE(world.slices("train").size() == 1);
    const auto first = world.slices("train")[0];
    CHECK(is_admitted(first->value));
    CHECK(first->annotation(elastic_annotation) == "true");
    for (const char* pod : {"p0", "p1"})
        world.make_pod(pod, "train");
    world.rest();
    CHECK_FALSE(world.waits("p0"));
    CHECK_FALSE(world.waits("p1"));
    world.scale("train", 4);  // 8 of 9: two slices of 4 and 8 would not fit beside each other.
    world.make_pod("p2", "train");
    world.rest();
    const auto slices = world.slices("train");
    REQUIRE(slices.size() == 1);
    CHECK(slices[0]->key.name != first->key.name);
    CHECK(slices[0]->annotation(replaces_annotation) == "team/" + first->key.name);
    CHECK(slices[0]->annotation(slice_name_annotation) == first->key.name);
    const Value& set = slices[0]->value.path("status.admission.podSetAssignments")[0];
    CHECK(set["count"].as_integer() == 4);
    CHECK(set["resourceUsage"]["cpu"].text() == "8");
    const Value& finished =
        condition_of(world.find(workloads, "team", first->key.name)->value["status"], "Finished");
    CHECK(finished["reason"].text() == "WorkloadSliceReplaced");
    CHECK(finished["message"].text() ==
          "Replaced to accommodate a workload (UID: " + slices[0]->uid +
              ", JobUID: " + world.job_now("train")->uid + ") due to workload slice aggregation");
    CHECK_FALSE(world.waits("p2"));
    CHECK_FALSE(world.job_now("train")->value["spec"]["suspend"].boolean_or(true));
    CHECK(world.used() == "8");
}

TEST_CASE("growth that does not fit waits, and what runs goes on") {
    Elastic world;
    world.elastic_job("train", 2, "2");
    world.job("other", "cpu: 4");
    world.rest();
    world.scale("train", 3);
    world.make_pod("p0", "train");
    world.make_pod("p1", "train");
    world.make_pod("p2", "train");
    world.rest();
    REQUIRE(world.slices("train").size() == 2);
    CHECK_FALSE(is_admitted(world.slices("train")[1]->value));
    CHECK_FALSE(world.job_now("train")->value["spec"]["suspend"].boolean_or(true));
    CHECK(world.used() == "8");
    world.patch(world.job_now("other"),
                "{status: {conditions: [{type: Complete, status: 'True'}]}}");
    world.rest();
    CHECK(world.slices("train").size() == 1);
    CHECK(world.used() == "6");
    for (const char* pod : {"p0", "p1", "p2"})
        CHECK_FALSE(world.waits(pod));
}

TEST_CASE("a job that shrinks gives its quota back in place") {
    Elastic world;
    world.elastic_job("train", 4, "2");
    world.rest();
    const std::string name = world.slices("train")[0]->key.name;
    world.scale("train", 1);
    world.rest();
    REQUIRE(world.slices("train").size() == 1);
    CHECK(world.slices("train")[0]->key.name == name);
    CHECK(world.slices("train")[0]->value["spec"]["podSets"][0]["count"].as_integer() == 1);
    CHECK(world.used() == "2");
    CHECK_FALSE(world.job_now("train")->value["spec"]["suspend"].boolean_or(true));
    world.scale("train", 3);  // From what it has left, not from what it once had.
    world.rest();
    CHECK(world.slices("train")[0]->key.name != name);
    CHECK(world.used() == "6");
}

TEST_CASE("a job that shrinks below what it had done says so in steps that are allowed") {
    Elastic world;
    world.elastic_job("train", 4, "2");
    world.patch(world.job_now("train"), "{spec: {completions: 6}}");
    world.rest();
    world.patch(world.job_now("train"), "{status: {succeeded: 4}}");
    world.rest();
    const auto done = [&] { return world.slices("train")[0]->value["status"]["reclaimablePods"]; };
    CHECK(done()[0]["count"].integer_or(0) == 2);
    CHECK(world.used() == "4");
    world.scale("train", 1);
    for (bool writes = true; writes;) {
        const Value before = world.slices("train")[0]->value;
        writes = world.turn();
        const Value after = world.slices("train")[0]->value;
        for (const api::FieldError& error : api::validate_workload(after, &before))
            FAIL_CHECK(error.field << ": " << error.text);
    }
    CHECK(world.slices("train")[0]->value["spec"]["podSets"][0]["count"].as_integer() == 1);
    CHECK(done().empty());
    CHECK(world.used() == "2");
}

TEST_CASE("a slice that waits forgets what is not done any more") {
    Elastic world;
    world.job("other", "cpu: 9");
    world.rest();
    world.elastic_job("train", 4, "2");
    world.rest();
    world.patch(world.slices("train")[0], "{status: {reclaimablePods: [{name: main, count: 2}]}}");
    world.scale("train", 1);
    world.rest();
    CHECK(world.slices("train")[0]->value["spec"]["podSets"][0]["count"].as_integer() == 1);
    CHECK(world.slices("train")[0]->value["status"]["reclaimablePods"].empty());
}

TEST_CASE("a waiting elastic job that is scaled keeps its slice") {
    Elastic world;
    world.job("other", "cpu: 9");
    world.rest();
    world.elastic_job("train", 1, "2");
    world.rest();
    world.scale("train", 3);
    world.rest();
    REQUIRE(world.slices("train").size() == 1);
    CHECK(world.slices("train")[0]->value["spec"]["podSets"][0]["count"].as_integer() == 3);
}

TEST_CASE("growth that is taken back before it was admitted leaves the slice as it was") {
    Elastic world;
    world.elastic_job("train", 2, "2");
    world.job("other", "cpu: 5");
    world.rest();
    const std::string name = world.slices("train")[0]->key.name;
    world.scale("train", 4);
    world.rest();
    CHECK(world.slices("train").size() == 2);
    world.scale("train", 2);
    world.rest();
    REQUIRE(world.slices("train").size() == 1);
    CHECK(world.slices("train")[0]->key.name == name);
}

TEST_CASE("an elastic job whose Workload is removed stops, and queues again") {
    Elastic world;
    world.elastic_job("train", 2, "2");
    world.rest();
    const auto slice = world.slices("train")[0];
    REQUIRE_FALSE(world.job_now("train")->value["spec"]["suspend"].boolean_or(true));
    world.make_pod("p0", "train");
    world.patch(world.find(pods, "team", "p0"),
                "{metadata: {annotations: {kueue.x-k8s.io/workload: " + slice->key.name +
                    "}}, spec: {nodeName: laptop}, status: {phase: Running}}");
    world.remove(slice->key);
    world.rest();
    CHECK(world.job_now("train")->value["spec"]["suspend"].boolean_or(false));
    CHECK(world.find(workloads, "team", slice->key.name)->uid == slice->uid);
    world.end_pod(world.find(pods, "team", "p0"), "Failed");
    world.rest();
    REQUIRE(world.slices("train").size() == 1);
    CHECK(world.slices("train")[0]->uid != slice->uid);
    CHECK_FALSE(world.job_now("train")->value["spec"]["suspend"].boolean_or(true));
}

TEST_CASE("slices go with their job when its last pod is gone") {
    Elastic world;
    world.elastic_job("train", 2, "2");
    world.rest();
    const std::string first = world.slices("train")[0]->key.name;
    world.scale("train", 3);
    world.make_pod("p0", "train");
    world.rest();
    world.patch(world.find(pods, "team", "p0"),
                "{metadata: {annotations: {kueue.x-k8s.io/workload: " + first +
                    "}}, spec: {nodeName: laptop}, status: {phase: Running}}");
    world.erase(world.job_now("train")->key);
    world.remove({pods, "team", "p0"});
    world.rest();
    CHECK(world.seen.list(workloads, "team").size() == 1);  // Its process still uses the quota.
    const auto pod = world.find(pods, "team", "p0");
    world.end_pod(pod, "Failed");
    const Controller orphans = world.controllers[world.controllers.size() - 2];
    std::vector<api::Key> woken;
    for (const Watch& watch : orphans.watches) {
        if (watch.resource != pods) continue;
        for (api::Key& key : watch.wakes(world.seen, pod.get(), nullptr))
            woken.push_back(std::move(key));
    }
    CHECK(std::find(woken.begin(), woken.end(), world.seen.list(workloads, "team")[0]->key) !=
          woken.end());
    world.rest();
    CHECK(world.seen.list(workloads, "team").empty());
}

TEST_CASE("growth takes the flavor that the job has, or waits for it") {
    Elastic world;
    world.put(flavors, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: second}}");
    world.put(cluster_queues,
              R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: cluster-queue},
        spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [
          {name: default-flavor, resources: [{name: cpu, nominalQuota: 4}]},
          {name: second, resources: [{name: cpu, nominalQuota: 9}]}]}]}})");
    world.elastic_job("train", 2, "2");
    world.rest();
    world.scale("train", 3);
    world.rest();
    CHECK(world.slices("train").size() == 2);  // There would be room in the second flavor.
    world.scale("train", 1);
    world.rest();
    world.scale("train", 2);
    world.rest();
    REQUIRE(world.slices("train").size() == 1);
    const Value& set =
        world.slices("train")[0]->value.path("status.admission.podSetAssignments")[0];
    CHECK(set["flavors"]["cpu"].text() == "default-flavor");
}

TEST_CASE(
    "what is elastic is said when a job is made, by kinds that can be, without partial admission") {
    const auto job = [](const std::string& annotations, const std::string& suspend) {
        return std::get<std::vector<api::Parsed>>(api::parse_yaml(
            "{metadata: {name: j, namespace: team, annotations: {" + annotations +
            "}}, spec: {suspend: " + suspend + ", parallelism: 4}}"))[0]
            .value;
    };
    const std::string elastic = "kueue.x-k8s.io/elastic-job: 'true'";
    api::AdmissionRequest request;
    request.kind = api::find_kind("batch", "jobs");
    request.find = [](const api::Key&) { return Value(); };
    request.object = job(elastic, "true");
    CHECK_FALSE(check_new_job(request).denied);
    request.object = job(elastic + ", kueue.x-k8s.io/job-min-parallelism: '2'", "true");
    CHECK(check_new_job(request).denied->text ==
          "metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: Invalid value: \"2\": partial "
          "admission and elastic job cannot be used together");
    request.operation = api::AdmissionRequest::Operation::update;
    request.object = job(elastic, "true");
    request.old = job("", "true");
    CHECK(check_changed_job(request).denied->text ==
          "metadata.annotations[kueue.x-k8s.io/elastic-job]: Invalid value: true: field is "
          "immutable");
    request.operation = api::AdmissionRequest::Operation::create;
    request.object = job(elastic, "true");
    request.object.at("spec")
        .at("template")
        .at("metadata")
        .at("annotations")
        .set("kueue.x-k8s.io/podset-required-topology", "rack");
    CHECK(check_new_job(request).denied->text ==
          "spec.template.metadata.annotations.kueue.x-k8s.io/podset-required-topology: Forbidden: "
          "required topology is not supported with elastic jobs");
    request.kind = api::find_kind("workload.codeflare.dev", "appwrappers");
    request.object = job(elastic, "true");
    CHECK(
        check_new_job(request).denied->text ==
        "metadata.annotations[kueue.x-k8s.io/elastic-job]: Forbidden: elastic job is not supported "
        "for \"workload.codeflare.dev/v1beta1, Kind=AppWrapper\"");
    for (const char* serving : {"deployments", "statefulsets"}) {
        request.kind = api::find_kind("apps", serving);
        CHECK(check_new_job(request).denied);
    }
}

}  // namespace
}  // namespace muster::control::queue
