// control/queue/wakes_test.cpp - whatever lets go of quota, or of pods, wakes who waits for that.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "control/queue/group_members.h"
#include "control/queue/slices.h"
#include "control/queue/small_queues.h"

namespace muster::control::queue {
namespace {

using api::Value;

struct Wakes : SmallQueues {
    using SmallQueues::SmallQueues;

    const Controller& controller_named(const std::string& name) {
        const auto found = std::find_if(controllers.begin(), controllers.end(),
                                        [&](const Controller& each) { return each.name == name; });
        REQUIRE(found != controllers.end());
        return *found;
    }
    /// Whether a controller looks at `key` after that change.
    bool wakes(const std::string& controller, const api::Key& key, const kube::ObjectPtr& before,
               const kube::ObjectPtr& after) {
        const api::GroupResource& resource = (after != nullptr ? after : before)->key.resource;
        for (const Watch& watch : controller_named(controller).watches) {
            if (watch.resource != resource) continue;
            const auto keys = watch.wakes(seen, before.get(), after.get());
            if (std::find(keys.begin(), keys.end(), key) != keys.end()) return true;
        }
        return false;
    }
    kube::ObjectPtr member(const std::string& name) {
        return put(pods, "{metadata: {namespace: team, name: " + name +
                             ", finalizers: [kueue.x-k8s.io/managed], labels: "
                             "{kueue.x-k8s.io/managed: 'true', kueue.x-k8s.io/queue-name: lq, "
                             "kueue.x-k8s.io/pod-group-name: gang}, annotations: "
                             "{kueue.x-k8s.io/pod-group-total-count: '2', "
                             "kueue.x-k8s.io/role-hash: main}}, spec: {schedulingGates: [{name: "
                             "kueue.x-k8s.io/admission}], containers: [{name: main, resources: "
                             "{requests: {cpu: 1}}}]}, status: {phase: Pending}}");
    }
    void run_and_end(const std::string& name) {
        patch(find(pods, "team", name),
              "{spec: {nodeName: laptop, schedulingGates: null}, status: {phase: Running}}");
        remove({pods, "team", name});
        end_pod(find(pods, "team", name), "Failed");
    }
    kube::ObjectPtr running_pod(const std::string& name, const kube::Object& owner,
                                const std::string& workload) {
        pod(name, owner, "cpu: 1");
        patch(find(pods, "team", name),
              "{metadata: {annotations: {kueue.x-k8s.io/workload: " + workload + "}}}");
        return find(pods, "team", name);
    }
};

TEST_CASE("pods of a group that end in a namespace that goes are let go") {
    Wakes world;
    world.member("a");
    world.member("b");
    world.rest();
    const kube::ObjectPtr gang = world.find(workloads, "team", "gang");
    REQUIRE(gang != nullptr);
    REQUIRE(is_admitted(gang->value));
    world.run_and_end("a");
    world.rest();
    REQUIRE(world.find(pods, "team", "a") != nullptr);  // As in Kueue: another must stand in.
    const kube::ObjectPtr before = world.find(namespaces, "", "team");
    CHECK_FALSE(world.wakes("v1/pod-kueue-controller", gang->key, nullptr, before));
    world.remove(before->key);
    CHECK(world.wakes("v1/pod-kueue-controller", gang->key, before,
                      world.find(namespaces, "", "team")));
    world.rest();
    CHECK(world.find(pods, "team", "a") == nullptr);
    CHECK(world.find(pods, "team", "b") != nullptr);  // Nothing has ended it yet.
}

TEST_CASE("a RayJob keeps its quota until the pods of its cluster are gone, and hears of that") {
    Wakes world;
    const auto job = world.put(ray_jobs, R"({apiVersion: ray.io/v1, kind: RayJob,
        metadata: {namespace: team, name: train, labels: {kueue.x-k8s.io/queue-name: lq}},
        spec: {suspend: true, submissionMode: HTTPMode, shutdownAfterJobFinishes: true,
          rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [
            {name: ray, resources: {requests: {cpu: 1}}}]}}}}}})");
    world.rest();
    const std::string name = world.workload_of("train")->key.name;
    REQUIRE(is_admitted(world.workload_of("train")->value));
    const auto cluster = world.put(ray_clusters, R"({apiVersion: ray.io/v1, kind: RayCluster,
        metadata: {namespace: team, name: ray, ownerReferences: [{apiVersion: ray.io/v1,
          kind: RayJob, name: train, controller: true, uid: )" +
                                                     job->uid + "}]}, spec: {}}");
    const auto pod = world.running_pod("head", *cluster, name);
    world.patch(world.workload_of("train"), "{spec: {active: false}}");
    world.erase(cluster->key);  // In the background: before its pods.
    world.rest();
    CHECK(world.find(ray_jobs, "team", "train")->value["spec"]["suspend"].boolean_or(false));
    CHECK(has_admission(world.workload_of("train")->value));
    world.erase(pod->key);
    CHECK(world.wakes("ray.io/rayjob-kueue-controller", job->key, pod, nullptr));
    world.rest();
    CHECK_FALSE(has_admission(world.workload_of("train")->value));
}

TEST_CASE("the last slice of an elastic RayJob hears of the end of pods that name the first") {
    Wakes world;
    const std::string slice = R"({apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload,
        metadata: {namespace: team, name: second, annotations: {
          kueue.x-k8s.io/workload-slice-name: first}, labels: {kueue.x-k8s.io/job-uid: gone}},
        spec: {queueName: lq, podSets: [{name: main, count: 1, template: {spec: {containers: []}}}]}})";
    const auto second = world.put(workloads, slice);
    const auto cluster = world.put(ray_clusters, R"({apiVersion: ray.io/v1, kind: RayCluster,
        metadata: {namespace: team, name: ray}, spec: {}})");
    const auto pod = world.running_pod("worker", *cluster, "first");
    world.erase(cluster->key);
    CHECK(has_living_pods(world.seen, *second));
    world.erase(pod->key);
    CHECK_FALSE(has_living_pods(world.seen, *second));
    CHECK(world.wakes("kueue-workload-controller", second->key, pod, nullptr));
}

TEST_CASE("jobs are managed when their namespace gets the label for it") {
    Settings settings;
    settings.jobs.namespaces = {.labels = {{"queued", "yes"}}, .expressions = {}};
    Wakes world(settings);
    const auto job = world.job("train", "cpu: 1");
    world.rest();
    REQUIRE(world.workload_of("train") == nullptr);
    const auto before = world.find(namespaces, "", "team");
    world.patch(before, "{metadata: {labels: {queued: 'yes'}}}");
    const auto after = world.find(namespaces, "", "team");
    CHECK(world.wakes("batch/job-kueue-controller", job->key, before, after));
    CHECK(world.wakes("batch/job-kueue-controller", job->key, nullptr, after));
    CHECK_FALSE(world.wakes("batch/job-kueue-controller", job->key, after, after));
    world.rest();
    CHECK(is_admitted(world.workload_of("train")->value));
}

TEST_CASE("an AppWrapper hears of the end of each kind that counts as what it runs") {
    Wakes world;
    const auto wrapper = world.wrapper("one", "kueue.x-k8s.io/queue-name: lq");
    for (const JobKind& kind : job_kinds()) {
        if (kind.start != JobKind::Start::unsuspended || is_app_wrapper(kind.resource)) continue;
        CAPTURE(kind.kind);
        const auto owned =
            world.put(kind.resource,
                      "{metadata: {namespace: team, name: wrapped, ownerReferences: "
                      "[{apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper, name: "
                      "one, controller: true, uid: " +
                          wrapper->uid + "}]}, spec: {}}");
        REQUIRE(owns_jobs(world.seen, wrapper->uid));
        world.erase(owned->key);
        CHECK(world.wakes("workload.codeflare.dev/appwrapper-kueue-controller", wrapper->key, owned,
                          nullptr));
    }
}

}  // namespace
}  // namespace muster::control::queue
