// control/queue/ray_slices_test.cpp - Ray clusters and jobs that are scaled while they run.
#include <doctest/doctest.h>

#include "control/queue/pod_shape.h"
#include "control/queue/slices.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

const std::string elastic_marks =
    "labels: {kueue.x-k8s.io/queue-name: lq}, annotations: {kueue.x-k8s.io/elastic-job: 'true'}";

std::string groups(const std::string& small, const std::string& large) {
    const std::string pod =
        "template: {spec: {schedulingGates: [{name: kueue.x-k8s.io/elastic-job}], containers: "
        "[{name: ray, resources: {requests: {cpu: 1}}}]}}";
    return "headGroupSpec: {" + pod +
           "}, workerGroupSpecs: [{groupName: small, replicas: " + small + ", " + pod +
           "}, {groupName: large, replicas: " + large + ", " + pod + "}]";
}

struct Ray : SmallQueues {  // 9 cpu
    kube::ObjectPtr cluster(const std::string& small, const std::string& large,
                            const std::string& owner = "") {
        return put(ray_clusters,
                   "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {namespace: "
                   "team, name: ray, " +
                       (owner.empty() ? elastic_marks : owner) + "}, spec: {" +
                       (owner.empty() ? "suspend: true, " : "") + groups(small, large) + "}}");
    }
    void scale(const std::string& group, int replicas) {
        const auto object = find(ray_clusters, "team", "ray");
        Value all = object->value["spec"]["workerGroupSpecs"];
        for (Value& each : all.mutable_items()) {
            if (each["groupName"].text_or("") == group) each.set("replicas", replicas);
        }
        patch(object, api::to_json(Value::object(
                          {{"spec", Value::object({{"workerGroupSpecs", std::move(all)}})}})));
    }
    void make_pod(const std::string& name, const kube::Object& owner, const std::string& set) {
        put(pods, "{metadata: {namespace: team, name: " + name +
                      ", labels: {kueue.x-k8s.io/podset: " + set +
                      "}, ownerReferences: [{apiVersion: ray.io/v1, kind: RayCluster, name: " +
                      owner.key.name + ", uid: " + owner.uid +
                      ", controller: true}]}, spec: {schedulingGates: [{name: "
                      "kueue.x-k8s.io/elastic-job}]}, status: {phase: Pending}}");
    }
    bool waits(const std::string& pod) {
        return has_gate(find(pods, "team", pod)->value, elastic_annotation);
    }
    std::vector<kube::ObjectPtr> slices(const kube::Object& job) {
        return slices_of(seen, job.uid);
    }
    std::string used() {
        const Value& queue = find(cluster_queues, "", "cluster-queue")->value;
        return queue.path("status.flavorsUsage")[0]["resources"][0]["total"].text();
    }
};

TEST_CASE(
    "a running elastic RayCluster grows by a slice for all its groups, and shrinks in place") {
    Ray world;
    const auto cluster = world.cluster("1", "2");
    world.rest();
    REQUIRE(world.slices(*cluster).size() == 1);
    const auto first = world.slices(*cluster)[0];
    CHECK(is_admitted(first->value));
    CHECK(world.used() == "4");
    for (const char* pod : {"l0", "l1", "l2"})
        world.make_pod(pod, *cluster, "large");
    world.rest();
    CHECK_FALSE(world.waits("l0"));
    CHECK_FALSE(world.waits("l1"));
    CHECK(world.waits("l2"));  // Two were admitted.
    world.scale("large", 5);
    world.rest();
    REQUIRE(world.slices(*cluster).size() == 1);
    const auto second = world.slices(*cluster)[0];
    CHECK(second->annotation(replaces_annotation) == "team/" + first->key.name);
    CHECK(admitted_count(second->value, "large") == 5);
    CHECK(admitted_count(second->value, "small") == 1);
    CHECK_FALSE(world.waits("l2"));
    CHECK(world.used() == "7");
    CHECK_FALSE(world.find(ray_clusters, "team", "ray")->value["spec"]["suspend"].boolean_or(true));
    world.scale("large", 1);
    world.rest();
    CHECK(world.slices(*cluster)[0]->key.name == second->key.name);
    CHECK(world.used() == "3");
    world.scale("small", 9);  // More than there is: it waits, and what runs goes on.
    world.rest();
    CHECK(world.slices(*cluster).size() == 2);
    CHECK(world.used() == "3");
    CHECK_FALSE(world.find(ray_clusters, "team", "ray")->value["spec"]["suspend"].boolean_or(true));
}

TEST_CASE("an elastic RayJob is scaled in the cluster that it has made") {
    Ray world;
    const auto job = world.put(
        ray_jobs,
        "{apiVersion: ray.io/v1, kind: RayJob, metadata: {namespace: team, name: train, " +
            elastic_marks +
            "}, spec: {suspend: true, submissionMode: HTTPMode, "
            "shutdownAfterJobFinishes: true, rayClusterSpec: {" +
            groups("1", "1") + "}}}");
    world.rest();
    REQUIRE(world.slices(*job).size() == 1);
    CHECK(is_admitted(world.slices(*job)[0]->value));
    CHECK(world.used() == "3");
    const auto cluster = world.cluster(
        "1", "1",
        "ownerReferences: [{apiVersion: ray.io/v1, kind: RayJob, name: train, uid: " + job->uid +
            ", controller: true}]");
    world.rest();
    for (const char* pod : {"w0", "w1"})
        world.make_pod(pod, *cluster, "small");
    world.rest();
    CHECK(world.waits("w1"));
    world.scale("small", 2);
    world.rest();
    REQUIRE(world.slices(*job).size() == 1);
    CHECK(admitted_count(world.slices(*job)[0]->value, "small") == 2);
    CHECK_FALSE(world.waits("w1"));
    CHECK(world.used() == "4");
    world.scale("small", 0);
    world.rest();
    CHECK(world.used() == "2");
}

}  // namespace
}  // namespace muster::control::queue
