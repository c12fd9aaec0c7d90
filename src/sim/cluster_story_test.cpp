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

/// A user who cannot keep still: deletes pods, suspends, resumes, resizes and deletes Jobs in every
/// way, and in the end wants each Job done exactly as asked.
class RestlessUser {
public:
    RestlessUser(World& world, std::uint64_t seed) : world_(world), random_(seed) {}

    void play() {
        for (const char* name : {"a", "b", "c"})
            world_.create(job(name));
        for (int act = 0; act < 40; ++act) {
            world_.pass(milliseconds(static_cast<std::int64_t>(random_.below(4000))));
            meddle();
        }
        world_.end_faults();
        for (const char* name : {"a", "b", "c"}) {
            if (world_.get(path(name)).is_null()) world_.create(job(name));
            world_.merge(path(name), R"({"spec":{"suspend":false}})");
        }
        for (const std::string name : {"a", "b", "c"})
            world_.until("Job " + name + " completes", patience, [&] { return is_done(name); });
        check_leftovers();
    }

private:
    static std::string path(const std::string& name) {
        return "/apis/batch/v1/namespaces/default/jobs/" + name;
    }
    std::string job(const std::string& name) {
        const bool indexed = random_.below(2) == 0;
        return "{apiVersion: batch/v1, kind: Job, metadata: {namespace: default, name: " + name +
               "}, spec: {completions: 4, parallelism: 2, backoffLimit: 1000, completionMode: " +
               (indexed ? "Indexed" : "NonIndexed") + ", podReplacementPolicy: " +
               (random_.below(2) == 0 ? "Failed" : "TerminatingOrFailed") +
               ", template: {spec: {restartPolicy: Never, containers: [{name: main, image: b, "
               "resources: {requests: {cpu: 1}}}]}}}}";
    }

    void meddle() {
        const std::string name(1, static_cast<char>('a' + random_.below(3)));
        switch (random_.below(7)) {
            case 0:
            case 1: {
                const Value list = world_.get("/api/v1/namespaces/default/pods");
                if (list["items"].empty()) return;
                const Value& pod = list["items"][random_.below(list["items"].size())];
                world_.remove("/api/v1/namespaces/default/pods/" + pod["metadata"]["name"].text());
                return;
            }
            case 2:
                world_.merge(path(name), R"({"spec":{"suspend":true}})");
                return;
            case 3:
                world_.merge(path(name), R"({"spec":{"suspend":false}})");
                return;
            case 4:
                world_.merge(path(name), R"({"spec":{"parallelism":)" +
                                             std::to_string(random_.below(4)) + "}}");
                return;
            case 5: {
                const char* how[] = {"Background", "Foreground", "Orphan"};
                world_.remove(path(name), how[random_.below(3)]);
                return;
            }
            default:
                if (world_.get(path(name)).is_null()) world_.create(job(name));
        }
    }

    bool is_done(const std::string& name) {
        world_.merge(path(name), R"({"spec":{"parallelism":2}})");
        const Value job_now = world_.get(path(name));
        if (job_now.is_null()) world_.create(job(name));  // A deletion from before came true.
        const Value& status = job_now["status"];
        const std::int64_t succeeded = status["succeeded"].integer_or(0);
        if (succeeded > 4) throw Broken{"Job " + name + " has succeeded too often"};
        for (const Value& condition : status["conditions"].items()) {
            if (condition["status"].text() != "True") continue;
            if (condition["type"].text() == "Failed") throw Broken{"Job " + name + " has failed"};
            if (condition["type"].text() == "Complete") {
                if (succeeded != 4) throw Broken{"Job " + name + " is Complete but not done"};
                return true;
            }
        }
        return false;
    }

    /// Whatever is left has a living owner, or was orphaned on purpose; none is held for ever.
    void check_leftovers() {
        world_.until("no pod is held by a Job that has let it go", patience, [&] {
            const Value list = world_.get("/api/v1/namespaces/default/pods");
            for (const Value& pod : list["items"].items()) {
                if (!pod["metadata"]["deletionTimestamp"].is_null()) return false;
                const std::string phase = pod["status"]["phase"].text();
                const bool over = phase == "Succeeded" || phase == "Failed";
                if (over && !pod["metadata"]["finalizers"].empty()) return false;
                const Value& owner = pod["metadata"]["ownerReferences"][0];
                if (owner.is_null()) continue;
                const Value owner_now = world_.get(path(owner["name"].text()));
                if (!(owner_now["metadata"]["uid"] == owner["uid"])) return false;
            }
            return true;
        });
        for (const auto& [uid, starts] : world_.nodes().starts()) {
            if (starts > 1) throw Broken{"the process of pod " + uid + " was started twice"};
        }
    }

    World& world_;
    Random random_;
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
        if (faults.node_loss_every != Duration{} || !broken.empty()) continue;
        // A create that was given up, done anew and comes late makes a pod again that has gone.
        CHECK(started >= 11);
        if (faults.late_write == 0) CHECK(started == 11);
    }
}

TEST_CASE("whatever a restless user does on a bad day, Jobs end exactly as asked") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        Random random(seed);
        const Faults faults = seed % 4 == 0 ? Faults::none() : Faults::draw(random);
        CAPTURE(seed);
        CAPTURE(faults.text());
        World world(seed, {{"n1", "4", "16Gi", 110}, {"n2", "2", "16Gi", 110}}, faults);
        std::string broken;
        try {
            RestlessUser user(world, seed);
            user.play();
        } catch (const Broken& problem) {
            broken = problem.what;
        }
        CHECK(broken == "");
    }
}

}  // namespace
}  // namespace muster::sim
