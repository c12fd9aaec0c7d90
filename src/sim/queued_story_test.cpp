// sim/queued_story_test.cpp - queued pods, groups, elastic jobs and what serves, against the real
// server and on bad days: drained, crashed, late, and whole in the end.

#include <doctest/doctest.h>

#include "sim/world.h"

namespace muster::sim {
namespace {

using api::Value;

constexpr Duration patience = minutes(30);

constexpr const char* ground = R"(
apiVersion: v1
kind: Namespace
metadata: {name: work}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: plain}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu]
    flavors: [{name: plain, resources: [{name: cpu, nominalQuota: 6}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {namespace: work, name: lq}
spec: {clusterQueue: all}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: work, name: web, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: b, resources: {requests: {cpu: 500m}}}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {namespace: work, name: db, labels: {kueue.x-k8s.io/queue-name: lq}}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: main, image: b, resources: {requests: {cpu: 500m}}}]}
---
apiVersion: batch/v1
kind: Job
metadata:
  namespace: work
  name: grows
  labels: {kueue.x-k8s.io/queue-name: lq}
  annotations: {kueue.x-k8s.io/elastic-job: "true"}
spec:
  completions: 8
  parallelism: 1
  backoffLimit: 100
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: b, resources: {requests: {cpu: 1}}}]
)";

std::string pod_path(const std::string& name) {
    return "/api/v1/namespaces/work/pods/" + name;
}

std::string pod_yaml(const std::string& name, const std::string& labels, const std::string& marks) {
    return "{apiVersion: v1, kind: Pod, metadata: {namespace: work, name: " + name +
           ", labels: {kueue.x-k8s.io/queue-name: lq" + labels + "}, annotations: {" + marks +
           "}}, spec: {restartPolicy: Never, containers: [{name: main, image: b, resources: "
           "{requests: {cpu: 1}}}]}}";
}

bool has_condition(const Value& object, std::string_view type) {
    for (const Value& condition : object["status"]["conditions"].items()) {
        if (condition["type"].text_or("") == type) return condition["status"].text() == "True";
    }
    return false;
}

/// A user of everything that queues by its pods, and an administrator who empties the queue once.
class QueuedStory {
public:
    explicit QueuedStory(World& world) : world_(world) {}

    void play() {
        world_.create(ground);
        for (const std::string name : {"one", "two"})
            keep(name);
        keep_gang();
        world_.pass(seconds(5));
        world_.merge(job, R"({"spec":{"parallelism":3}})");
        world_.pass(seconds(3));
        world_.merge(queue, R"({"spec":{"stopPolicy":"HoldAndDrain"}})");
        world_.until("a drained queue holds nothing", patience, [&] { return held() == 0; });
        world_.merge(queue, R"({"spec":{"stopPolicy":"None"}})");
        world_.until("the pods and the group come to their end", patience, [&] { return ended(); });
        world_.merge(job, R"({"spec":{"parallelism":2}})");
        world_.until("the elastic Job completes", patience,
                     [&] { return has_condition(world_.get(job), "Complete"); });
        if (world_.get(job)["status"]["succeeded"].integer_or(0) != 8)
            throw Broken{"the elastic Job is Complete but not done"};
        world_.until("what serves is ready", patience,
                     [&] { return ready(deployment) == 2 && ready(set) == 2; });
        world_.merge(set, R"({"spec":{"replicas":0}})");
        world_.until("a set of none holds no quota", patience, [&] { return held() == 2; });
        world_.until("its last pod is gone", patience,
                     [&] { return world_.get(set)["status"]["replicas"].integer_or(0) == 0; });
        world_.merge(set, R"({"spec":{"replicas":2}})");
        world_.until("the set is back", patience, [&] { return ready(set) == 2; });
    }

    /// All goes; `queue_first`: the queues and the flavor before what holds their quota.
    void end(bool queue_first) {
        world_.end_faults();
        if (queue_first) {
            world_.remove("/apis/kueue.x-k8s.io/v1beta2/namespaces/work/localqueues/lq");
            remove_queue();
            world_.pass(seconds(3));
        }
        world_.remove("/api/v1/namespaces/work");
        world_.until("the namespace is gone", patience,
                     [&] { return world_.get("/api/v1/namespaces/work").is_null(); });
        world_.until("no process runs any more", patience,
                     [&] { return world_.nodes().running() == 0; });
        for (const char* kind : {"/api/v1/pods", "/apis/kueue.x-k8s.io/v1beta2/workloads"}) {
            if (!world_.get(kind)["items"].empty()) throw Broken{std::string("left: ") + kind};
        }
        if (!queue_first) {
            world_.until("the queue says that nobody has anything of it", patience, [&] {
                const Value status = world_.get(queue)["status"];
                return status["admittedWorkloads"].integer_or(-1) == 0 &&
                       status["flavorsUsage"][0]["resources"][0]["total"].text() == "0";
            });
            remove_queue();
        }
        world_.until("the queue is gone, and its flavor", patience,
                     [&] { return world_.get(queue).is_null() && world_.get(flavor).is_null(); });
        for (const auto& [uid, starts] : world_.nodes().starts()) {
            if (starts > 1) throw Broken{"the process of pod " + uid + " was started twice"};
        }
    }

private:
    void remove_queue() {
        world_.remove(flavor);
        world_.remove(queue);
    }

    /// Makes a pod alone, again when an eviction has taken it away.
    void keep(const std::string& name) {
        if (world_.get(pod_path(name)).is_null()) world_.create(pod_yaml(name, "", ""));
    }

    Value pods_of_gang() {
        Value found = Value::array();
        const Value list = world_.get("/api/v1/namespaces/work/pods");
        for (const Value& pod : list["items"].items()) {
            if (pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"].text_or("") == "gang")
                found.push(pod);
        }
        return found;
    }

    /// Makes pods for the gang until it has three; those that failed are stood in for by others.
    void keep_gang() {
        std::int64_t there = 0;
        const Value members = pods_of_gang();
        for (const Value& pod : members.items()) {
            const bool leaves = pod["metadata"].has("deletionTimestamp");
            if (pod["status"]["phase"].text_or("") == "Succeeded" || !leaves) ++there;
        }
        for (; there < 3; ++there) {
            world_.create(pod_yaml("gang-" + std::to_string(members_++),
                                   ", kueue.x-k8s.io/pod-group-name: gang",
                                   "kueue.x-k8s.io/pod-group-total-count: '3'"));
        }
    }

    bool ended() {
        keep_gang();
        bool all = true;
        for (const std::string name : {"one", "two"}) {
            keep(name);
            const Value pod = world_.get(pod_path(name));
            all = all && pod["status"]["phase"].text_or("") == "Succeeded" &&
                  pod["metadata"]["finalizers"].empty();
        }
        const Value members = pods_of_gang();
        for (const Value& pod : members.items())
            all = all && pod["metadata"]["finalizers"].empty();
        const Value gang =
            world_.get("/apis/kueue.x-k8s.io/v1beta2/namespaces/work/workloads/gang");
        return all && has_condition(gang, "Finished");
    }

    /// Workloads that hold quota and run, or may.
    std::size_t held() {
        std::size_t count = 0;
        const Value list = world_.get("/apis/kueue.x-k8s.io/v1beta2/namespaces/work/workloads");
        for (const Value& each : list["items"].items()) {
            if (each["status"]["admission"].is_object() && !has_condition(each, "Finished"))
                ++count;
        }
        return count;
    }

    std::int64_t ready(const std::string& path) {
        return world_.get(path)["status"]["readyReplicas"].integer_or(0);
    }

    const std::string queue = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/all";
    const std::string flavor = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors/plain";
    const std::string job = "/apis/batch/v1/namespaces/work/jobs/grows";
    const std::string deployment = "/apis/apps/v1/namespaces/work/deployments/web";
    const std::string set = "/apis/apps/v1/namespaces/work/statefulsets/db";
    World& world_;
    int members_ = 0;  // Of the gang, made so far.
};

std::string play(std::uint64_t seed, const Faults& faults) {
    World world(seed, {{"n1", "8", "16Gi", 110}, {"n2", "4", "16Gi", 110}}, faults);
    try {
        QueuedStory story(world);
        story.play();
        story.end(seed % 2 == 0);
    } catch (const Broken& problem) {
        return problem.what + "\n" + world.dump("/kueue.x-k8s.io/workloads") +
               world.dump("/core/pods") + world.dump("/kueue.x-k8s.io/clusterqueues");
    }
    return {};
}

TEST_CASE("queued pods, groups, elastic jobs and what serves come through a drained queue") {
    CHECK(play(1, Faults::none()) == "");
}

TEST_CASE("so they do on bad days") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Random random(seed);
        Faults faults = Faults::draw(random);
        faults.node_loss_every = Duration{};  // Who lost a pod of a group has to make another.
        if (seed % 3 == 0) faults.crash_at_write = 20;
        CAPTURE(seed);
        CAPTURE(faults.text());
        CHECK(play(seed, faults) == "");
    }
}

}  // namespace
}  // namespace muster::sim
