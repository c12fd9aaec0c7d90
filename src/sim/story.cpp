// sim/story.cpp - the main job, step by step.
#include "sim/story.h"

#include "sim/world.h"

namespace muster::sim {
namespace {

using api::Value;

/// Under faults things take longer; without progress for this long something is lost.
constexpr Duration patience = minutes(20);

constexpr const char* queues = R"(
apiVersion: kueue.x-k8s.io/v1beta1
kind: ResourceFlavor
metadata: {name: default-flavor}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: cluster-queue}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: [cpu, memory, pods, nvidia.com/gpu]
    flavors:
    - name: default-flavor
      resources:
      - {name: cpu, nominalQuota: 9}
      - {name: memory, nominalQuota: 36Gi}
      - {name: pods, nominalQuota: 5}
      - {name: nvidia.com/gpu, nominalQuota: 5}
---
apiVersion: v1
kind: Namespace
metadata: {name: sandbox}
---
apiVersion: kueue.x-k8s.io/v1beta1
kind: LocalQueue
metadata:
  namespace: sandbox
  name: local-queue-test
  annotations: {kueue.x-k8s.io/default-queue: "true"}
spec: {clusterQueue: cluster-queue}
)";

std::string wrapper(const std::string& name) {
    return R"(
apiVersion: workload.codeflare.dev/v1beta1
kind: AppWrapper
metadata: {namespace: default, name: )" +
           name + R"(}
spec:
  resources:
    GenericItems:
    - custompodresources:
      - {replicas: 1, requests: {cpu: 1, memory: 2G}, limits: {cpu: 1, memory: 2G}}
      - {replicas: 1, requests: {cpu: 2, memory: 2G}, limits: {cpu: 2, memory: 2G}}
      generictemplate:
        apiVersion: ray.io/v1alpha1
        kind: RayCluster
        metadata: {name: )" +
           name + R"(}
        spec:
          headGroupSpec:
            rayStartParams: {}
            template:
              spec:
                containers:
                - name: head
                  image: rayproject/ray
                  resources: {requests: {cpu: 1, memory: 2G}, limits: {cpu: 1, memory: 2G}}
          workerGroupSpecs:
          - groupName: small
            replicas: 1
            minReplicas: 1
            maxReplicas: 1
            rayStartParams: {}
            template:
              spec:
                containers:
                - name: w
                  image: rayproject/ray
                  resources: {requests: {cpu: 2, memory: 2G}, limits: {cpu: 2, memory: 2G}}
    - generictemplate:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: )" +
           name + R"(-settings}
        data: {epochs: "20"}
)";
}

constexpr const char* other_work = R"(
apiVersion: v1
kind: Pod
metadata: {namespace: default, name: other-work}
spec:
  containers:
  - {name: main, image: busybox, resources: {requests: {cpu: 3050m, memory: 2918400Ki}}}
)";

constexpr const char* training = R"(
apiVersion: ray.io/v1
kind: RayJob
metadata: {namespace: sandbox, name: digits}
spec:
  entrypoint: python train.py
  shutdownAfterJobFinishes: true
  rayClusterSpec:
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers:
          - {name: head, image: rayproject/ray, resources: {requests: {cpu: 1, memory: 1G}}}
    workerGroupSpecs:
    - groupName: small
      replicas: 2
      minReplicas: 2
      maxReplicas: 2
      rayStartParams: {}
      template:
        spec:
          containers:
          - {name: w, image: rayproject/ray, resources: {requests: {cpu: 1, memory: 1G}}}
)";

std::string job(const std::string& name, const std::string& requests) {
    return R"(
apiVersion: batch/v1
kind: Job
metadata: {namespace: sandbox, name: )" +
           name + R"(}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: busybox, resources: {requests: {)" +
           requests + R"(}, limits: {)" + requests + R"(}}}
)";
}

class Story {
public:
    explicit Story(World& world) : world_(world) {}

    void play() {
        world_.create(queues);
        world_.create(other_work);
        world_.until("other work runs", patience, [&] { return phase("other-work") == "Running"; });
        const int losses = world_.nodes().losses();
        world_.create(wrapper("one"));
        world_.until("the first cluster is ready", patience,
                     [&] { return cluster_state("one") == "ready"; });
        world_.create(wrapper("two"));
        // Who loses the node loses what filled it: then there may be room for both.
        const auto is_filled = [&] { return world_.nodes().losses() == losses; };
        world_.until("the second waits", patience, [&] {
            return wrapper_of("two")["queuejobstate"].text() == "Backoff" || !is_filled();
        });
        world_.pass(minutes(1));
        if (is_filled() && !world_.get(cluster_path("two")).is_null())
            throw Broken{"the waiting wrapper has made its cluster"};
        world_.remove(wrapper_path("one"));
        world_.until("the second is ready", patience,
                     [&] { return cluster_state("two") == "ready"; });
        // Its capacity was free when its processes were gone; its objects may take longer.
        world_.until("the first wrapper is gone", patience,
                     [&] { return world_.get(wrapper_path("one")).is_null(); });
        world_.remove(wrapper_path("two"));
        world_.create(training);
        world_.create(job("too-big", "cpu: 1, nvidia.com/gpu: 6"));
        world_.create(job("small", "cpu: 500m"));
        world_.until("the training job succeeds", patience, [&] {
            return world_
                       .get("/apis/ray.io/v1/namespaces/sandbox/rayjobs/digits")
                           ["status"]["jobDeploymentStatus"]
                       .text() == "Complete";
        });
        world_.until("the small job completes", patience, [&] {
            return world_.get("/apis/batch/v1/namespaces/sandbox/jobs/small")["status"]["succeeded"]
                       .integer_or(0) == 1;
        });
    }

    /// With a calm sky everything comes to its end and nothing is left over.
    void end() {
        world_.end_faults();
        world_.remove("/apis/batch/v1/namespaces/sandbox/jobs/too-big");
        world_.remove("/api/v1/namespaces/default/pods/other-work");
        world_.until("every Ray cluster is gone", patience,
                     [&] { return count("/apis/ray.io/v1/rayclusters") == 0; });
        world_.until("quota is given back", patience, [&] {
            const Value queue =
                world_.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cluster-queue");
            return queue["status"]["reservingWorkloads"].integer_or(0) == 0 &&
                   queue["status"]["pendingWorkloads"].integer_or(0) == 0;
        });
        world_.until("no process runs any more", patience,
                     [&] { return world_.nodes().running() == 0; });
        for (const auto& [uid, starts] : world_.nodes().starts()) {
            if (starts > 1) throw Broken{"the process of pod " + uid + " was started twice"};
        }
    }

private:
    static std::string wrapper_path(const std::string& name) {
        return "/apis/workload.codeflare.dev/v1beta1/namespaces/default/appwrappers/" + name;
    }
    static std::string cluster_path(const std::string& name) {
        return "/apis/ray.io/v1/namespaces/default/rayclusters/" + name;
    }
    Value wrapper_of(const std::string& name) { return world_.get(wrapper_path(name))["status"]; }
    std::string cluster_state(const std::string& name) {
        return world_.get(cluster_path(name))["status"]["state"].text();
    }
    std::string phase(const std::string& pod) {
        // Other work whose node was lost is put there again, as its owner would.
        const Value found = world_.get("/api/v1/namespaces/default/pods/" + pod);
        if (found["status"]["phase"].text_or("") == "Failed")
            world_.remove("/api/v1/namespaces/default/pods/" + pod);
        if (found.is_null()) world_.create(other_work);
        return found["status"]["phase"].text();
    }
    std::size_t count(const std::string& path) { return world_.get(path)["items"].size(); }

    World& world_;
};

}  // namespace

Outcome play_story(std::uint64_t seed, const Faults& faults) {
    World world(seed, {{"laptop", "8", "8118372Ki", 110}}, faults);
    Outcome outcome;
    const Time begun = world.now();
    try {
        Story story(world);
        story.play();
        story.end();
    } catch (const Broken& broken) {
        outcome.broken = broken.what;
        for (const char* kind : {"workload.codeflare.dev", "ray.io", "kueue.x-k8s.io", "batch",
                                 "core/pods", "core/nodes", "core/services", "discovery.k8s.io"}) {
            outcome.left += world.dump("/" + std::string(kind) + "/");
        }
    }
    outcome.trace = world.trace();
    outcome.simulated = world.now() - begun;
    outcome.faults = world.faults_made();
    outcome.changes = world.changes();
    outcome.writes = world.writes();
    return outcome;
}

}  // namespace muster::sim
