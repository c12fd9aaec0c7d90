// sim/cluster_story_test.cpp - what a cluster does around its objects, against the real server and
// on bad days.
#include <doctest/doctest.h>

#include "sim/world.h"

namespace muster::sim {
namespace {

using api::Value;

constexpr Duration patience = minutes(30);

constexpr const char* objects = R"(
apiVersion: v1
kind: Namespace
metadata: {name: work}
---
apiVersion: v1
kind: Service
metadata: {namespace: work, name: web}
spec:
  selector: {app: web}
  ports: [{port: 80, targetPort: http}]
---
apiVersion: v1
kind: Pod
metadata: {namespace: work, name: web-0, labels: {app: web}}
spec:
  containers: [{name: main, image: busybox, ports: [{name: http, containerPort: 8080}]}]
---
apiVersion: batch/v1
kind: Job
metadata: {namespace: work, name: plain}
spec:
  completions: 6
  parallelism: 3
  backoffLimit: 100
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, resources: {requests: {cpu: 1}}}]
---
apiVersion: batch/v1
kind: Job
metadata: {namespace: work, name: numbered}
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimit: 100
  ttlSecondsAfterFinished: 30
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: busybox, resources: {requests: {cpu: 3}}}]
)";

class ClusterStory {
public:
    explicit ClusterStory(World& world) : world_(world) {}

    void play() {
        world_.create(objects);
        world_.until("the service has its endpoint", patience, [&] {
            const Value slices =
                world_.get("/apis/discovery.k8s.io/v1/namespaces/work/endpointslices");
            const Value& endpoint = slices["items"][0]["endpoints"][0];
            return endpoint["conditions"]["ready"].boolean_or(false) ||
                   world_.get("/api/v1/namespaces/work/pods/web-0")["status"]["phase"].text() ==
                       "Failed";
        });
        world_.until("the plain Job completes", patience, [&] { return completed("plain", 6); });
        world_.until("the numbered Job completes", patience, [&] {
            const Value job = job_of("numbered");
            return completed("numbered", 4) || job.is_null();
        });
        world_.until("the numbered Job is removed after its time", patience,
                     [&] { return job_of("numbered").is_null(); });
        world_.until("its pods are removed too", patience,
                     [&] { return pods_of("numbered") == 0; });
        if (pods_of("plain") == 0) throw Broken{"pods of the plain Job are gone"};
    }

    void end() {
        world_.end_faults();
        world_.remove("/apis/batch/v1/namespaces/work/jobs/plain");
        world_.until("pods of a deleted Job go", patience, [&] { return pods_of("plain") == 0; });
        world_.remove("/api/v1/namespaces/work");
        world_.until("the namespace is gone", patience,
                     [&] { return world_.get("/api/v1/namespaces/work").is_null(); });
        for (const char* kind :
             {"/api/v1/pods", "/api/v1/services", "/apis/discovery.k8s.io/v1/endpointslices",
              "/apis/batch/v1/jobs", "/api/v1/configmaps"}) {
            const Value list = world_.get(kind);
            for (const Value& item : list["items"].items()) {
                if (item["metadata"]["namespace"].text() == "work")
                    throw Broken{"left in the deleted namespace: " + std::string(kind) + " " +
                                 item["metadata"]["name"].text()};
            }
        }
        world_.until("no process runs any more", patience,
                     [&] { return world_.nodes().running() == 0; });
        for (const auto& [uid, starts] : world_.nodes().starts()) {
            if (starts > 1) throw Broken{"the process of pod " + uid + " was started twice"};
        }
    }

    std::size_t started() const { return world_.nodes().starts().size(); }

private:
    Value job_of(const std::string& name) {
        return world_.get("/apis/batch/v1/namespaces/work/jobs/" + name);
    }

    std::size_t pods_of(const std::string& job) {
        const Value list = world_.get("/api/v1/namespaces/work/pods");
        std::size_t count = 0;
        for (const Value& pod : list["items"].items())
            count += pod["metadata"]["labels"]["job-name"].text() == job ? 1 : 0;
        return count;
    }

    bool completed(const std::string& name, std::int64_t completions) {
        const Value status = job_of(name)["status"];
        const std::int64_t succeeded = status["succeeded"].integer_or(0);
        if (succeeded > completions) throw Broken{name + " has succeeded too often"};
        for (const Value& condition : status["conditions"].items()) {
            if (condition["status"].text() != "True") continue;
            if (condition["type"].text() == "Failed") throw Broken{name + " has failed"};
            if (condition["type"].text() != "Complete") continue;
            if (succeeded != completions) throw Broken{name + " is Complete but not done"};
            return true;
        }
        return false;
    }

    World& world_;
};

/// What is broken, and the hash of the trace.
std::pair<std::string, std::uint64_t> play(std::uint64_t seed, const Faults& faults,
                                           std::size_t& started) {
    World world(seed, {{"n1", "8", "16Gi", 110}, {"n2", "4", "16Gi", 110}}, faults);
    std::string broken;
    try {
        ClusterStory story(world);
        story.play();
        story.end();
        started = story.started();
    } catch (const Broken& problem) {
        broken = problem.what;
    }
    return {broken, world.trace()};
}

TEST_CASE("on a calm day each pod of each Job runs exactly once and nothing is left over") {
    std::size_t started = 0;
    const auto [broken, trace] = play(1, Faults::none(), started);
    CHECK(broken == "");
    CHECK(started == 11);  // web-0, six and four.
}

TEST_CASE("the cluster's controllers come through bad days") {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        Random random(seed);
        const Faults faults = Faults::draw(random);
        CAPTURE(seed);
        CAPTURE(faults.text());
        std::size_t started = 0;
        const auto [broken, trace] = play(seed, faults, started);
        CHECK(broken == "");
        if (faults.node_loss_every == Duration{} && broken.empty()) CHECK(started == 11);
    }
}

}  // namespace
}  // namespace muster::sim
