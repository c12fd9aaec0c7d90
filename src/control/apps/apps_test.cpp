// control/apps/apps_test.cpp - ReplicaSets, Deployments and StatefulSets in a small cluster: roll
// out, roll back, scale, crash, and what never happens on the way.
#include "control/apps/apps.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "control/apps/pod_family.h"
#include "control/cluster/small_cluster.h"
#include "control/fold_pod.h"

namespace muster::control::apps {
namespace {

struct AppsStory : cluster::SmallCluster {
    Controller deployment = deployment_controller();
    Controller replica_set = replica_set_controller();
    Controller stateful_set = stateful_set_controller();
    std::optional<Duration> look_again;

    void step(const Controller& controller, const api::GroupResource& resource, bool& more) {
        for (const kube::ObjectPtr& object : seen.list(resource)) {
            const Reconciled result = controller.reconcile(seen, object->key, now);
            carry_out(result);
            if (result.look_again) look_again = result.look_again;
            more = more || !result.writes.empty();
        }
    }
    void run() {
        for (int round = 0; round < 100; ++round) {
            bool more = false;
            step(deployment, deployments, more);
            step(replica_set, replica_sets, more);
            step(stateful_set, stateful_sets, more);
            if (!more) return;
        }
        FAIL("the controllers do not come to rest");
    }
    std::vector<kube::ObjectPtr> alive() const { return active_of(seen.list(pods)); }
    std::vector<std::string> names() const {
        std::vector<std::string> found;
        for (const kube::ObjectPtr& pod : alive())
            found.push_back(pod->key.name);
        return found;
    }
    void make_ready(const kube::ObjectPtr& pod) {
        if (is_ready_pod(*pod)) return;
        patch(pod,
              "{spec: {nodeName: n1}, status: {phase: Running, conditions: [{type: Ready, "
              "status: 'True', lastTransitionTime: '" +
                  to_rfc3339(now) + "'}]}}");
    }
    void all_ready() {
        for (const kube::ObjectPtr& pod : alive())
            make_ready(pod);
    }
    void end_terminating() {
        for (const kube::ObjectPtr& pod : seen.list(pods)) {
            if (pod->is_terminating()) end_pod(pod, "Failed");
        }
    }
    /// Everything that starts is ready at once, everything that ends is gone at once.
    void settle() {
        for (int round = 0; round < 200; ++round) {
            const std::int64_t before = version();
            run();
            all_ready();
            end_terminating();
            run();
            if (version() == before) return;
        }
        FAIL("the story does not come to rest");
    }
    std::int64_t version() const {
        std::int64_t last = 0;
        for (const auto& resource : {pods, replica_sets, deployments, stateful_sets}) {
            for (const kube::ObjectPtr& object : seen.list(resource))
                last = std::max(last, object->version);
        }
        return last * 1000 + static_cast<std::int64_t>(seen.list(pods).size());
    }
    kube::ObjectPtr web() const { return find(deployments, "default", "web"); }
    std::string condition(const char* type) const {
        const api::Value& found = condition_of(web()->value["status"], type);
        return found["status"].text() + " " + found["reason"].text();
    }
};

std::string deployment_of(const std::string& replicas, const std::string& more,
                          const std::string& image = "a") {
    return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: default, "
           "generation: 1}, spec: {replicas: " +
           replicas + ", selector: {matchLabels: {app: web}}, " + more +
           " template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: " +
           image + "}]}}}}";
}

const std::string rolling =
    "strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 1}},";

std::string image_of(const kube::Object& pod) {
    return pod.value["spec"]["containers"][0]["image"].text();
}

TEST_CASE("a Deployment makes one ReplicaSet whose pods make it available") {
    AppsStory story;
    story.put(deployments, deployment_of("3", rolling));
    story.run();
    REQUIRE(story.seen.list(replica_sets).size() == 1);
    CHECK(story.alive().size() == 3);
    CHECK(story.condition("Available") == "False MinimumReplicasUnavailable");
    CHECK(story.condition("Progressing") == "True ReplicaSetUpdated");
    story.settle();
    CHECK(story.condition("Available") == "True MinimumReplicasAvailable");
    CHECK(story.condition("Progressing") == "True NewReplicaSetAvailable");
    CHECK(story.web()->value["status"]["availableReplicas"].integer_or(0) == 3);
    CHECK(story.web()->annotation("deployment.kubernetes.io/revision") == "1");
    CHECK(story.has_event("ScalingReplicaSet"));
    const kube::ObjectPtr pod = story.alive()[0];
    CHECK(pod->value["metadata"]["labels"].has(pod_template_hash));
}

TEST_CASE("a rolling update never has too many pods nor too few available, and rolls back") {
    for (unsigned seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        std::mt19937 random(seed);
        AppsStory story;
        story.put(deployments, deployment_of("5", rolling));
        story.settle();
        story.patch(story.web(),
                    "{spec: {template: {spec: {containers: [{name: main, image: b}]}}}}");
        for (int round = 0; round < 400; ++round) {
            bool more = false;
            const unsigned what = random() % 4;
            if (what == 0) story.step(story.deployment, deployments, more);
            if (what == 1) story.step(story.replica_set, replica_sets, more);
            if (what == 2 && !story.alive().empty())
                story.make_ready(story.alive()[random() % story.alive().size()]);
            if (what == 3) story.end_terminating();
            const auto pods_now = story.alive();
            CHECK(pods_now.size() <= 6);
            CHECK(std::count_if(pods_now.begin(), pods_now.end(),
                                [](const auto& pod) { return is_ready_pod(*pod); }) >= 4);
        }
        story.settle();
        CHECK(story.alive().size() == 5);
        for (const kube::ObjectPtr& pod : story.alive())
            CHECK(image_of(*pod) == "b");
        CHECK(story.web()->annotation("deployment.kubernetes.io/revision") == "2");
        story.patch(story.web(),
                    "{spec: {template: {spec: {containers: [{name: main, image: a}]}}}}");
        story.settle();
        CHECK(story.seen.list(replica_sets).size() == 2);
        CHECK(image_of(*story.alive()[0]) == "a");
        CHECK(story.web()->annotation("deployment.kubernetes.io/revision") == "3");
    }
}

TEST_CASE("a broken update stops, says so after its deadline, and heals") {
    AppsStory story;
    story.put(deployments, deployment_of("4", rolling + " progressDeadlineSeconds: 60,"));
    story.settle();
    story.patch(story.web(),
                "{spec: {template: {spec: {containers: [{name: main, image: broken}]}}}}");
    story.run();
    for (int round = 0; round < 10; ++round) {
        story.end_terminating();
        story.run();
    }
    const auto pods_now = story.alive();
    CHECK(std::count_if(pods_now.begin(), pods_now.end(),
                        [](const auto& pod) { return is_ready_pod(*pod); }) == 3);
    CHECK(story.look_again);
    story.now = story.now + seconds(61);
    story.run();
    CHECK(story.condition("Progressing") == "False ProgressDeadlineExceeded");
    CHECK(story.condition("Available") == "True MinimumReplicasAvailable");
    story.patch(story.web(), "{spec: {template: {spec: {containers: [{name: main, image: a}]}}}}");
    story.settle();
    CHECK(story.condition("Progressing") == "True NewReplicaSetAvailable");
    CHECK(story.alive().size() == 4);
}

TEST_CASE("Recreate starts nothing before the last old pod is gone") {
    AppsStory story;
    story.put(deployments, deployment_of("2", "strategy: {type: Recreate},"));
    story.settle();
    story.patch(story.web(), "{spec: {template: {spec: {containers: [{name: main, image: b}]}}}}");
    story.run();
    CHECK(story.alive().empty());
    CHECK(story.seen.list(pods).size() == 2);
    CHECK(story.seen.list(replica_sets).size() == 1);
    story.settle();
    REQUIRE(story.alive().size() == 2);
    CHECK(image_of(*story.alive()[0]) == "b");
}

TEST_CASE("scaling, also in the middle of an update and to nothing, reaches the number") {
    AppsStory story;
    story.put(deployments, deployment_of("10", rolling));
    story.settle();
    story.patch(story.web(), "{spec: {template: {spec: {containers: [{name: main, image: b}]}}}}");
    story.run();
    story.patch(story.web(), "{spec: {replicas: 20}}");
    story.run();
    CHECK(story.alive().size() > 16);
    CHECK(story.alive().size() <= 21);
    story.settle();
    CHECK(story.alive().size() == 20);
    story.patch(story.web(), "{spec: {replicas: 0}}");
    story.settle();
    CHECK(story.alive().empty());
    story.patch(story.web(), "{spec: {replicas: 2}}");
    story.settle();
    CHECK(story.alive().size() == 2);
}

TEST_CASE("a paused Deployment scales but does not change its pods; old history goes") {
    AppsStory story;
    story.put(deployments, deployment_of("2", rolling + " revisionHistoryLimit: 1,"));
    story.settle();
    story.patch(story.web(),
                "{spec: {paused: true, replicas: 3, template: {spec: {containers: "
                "[{name: main, image: b}]}}}}");
    story.settle();
    CHECK(story.alive().size() == 3);
    CHECK(image_of(*story.alive()[0]) == "a");
    story.patch(story.web(), "{spec: {paused: false}}");
    story.settle();
    for (const char* image : {"c", "d", "e"}) {
        story.patch(story.web(), std::string("{spec: {template: {spec: {containers: [{name: main, "
                                             "image: ") +
                                     image + "}]}}}}");
        story.settle();
    }
    CHECK(story.seen.list(replica_sets).size() == 2);
    CHECK(image_of(*story.alive()[0]) == "e");
}

TEST_CASE("a ReplicaSet adopts what nobody has, and lets go of what it no longer selects") {
    AppsStory story;
    story.put(pods,
              "{apiVersion: v1, kind: Pod, metadata: {name: lost, namespace: default, labels: "
              "{app: x}}, spec: {containers: [{name: main}]}, status: {phase: Running}}");
    story.put(
        replica_sets,
        "{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: x, namespace: default}, spec: "
        "{replicas: 2, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: "
        "x}}, spec: {containers: [{name: main, image: a}]}}}}");
    story.settle();
    REQUIRE(story.alive().size() == 2);
    const kube::ObjectPtr lost = story.find(pods, "default", "lost");
    REQUIRE(lost != nullptr);
    CHECK(lost->value["metadata"]["ownerReferences"][0]["name"].text() == "x");
    story.patch(lost, "{metadata: {labels: {app: quarantine}}}");
    story.settle();
    CHECK(story.alive().size() == 3);
    CHECK(story.find(pods, "default", "lost")->value["metadata"]["ownerReferences"].empty());
    const kube::ObjectPtr kept = story.alive()[1];
    story.patch(kept,
                "{metadata: {annotations: {controller.kubernetes.io/pod-deletion-cost: '100'}}}");
    story.patch(story.find(replica_sets, "default", "x"), "{spec: {replicas: 1}}");
    story.settle();
    CHECK(story.find(pods, "default", kept->key.name) != nullptr);
}

std::string stateful(const std::string& more) {
    return "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db, namespace: default, "
           "generation: 1}, spec: {replicas: 3, serviceName: db, selector: {matchLabels: {app: "
           "db}}, " +
           more +
           " template: {metadata: {labels: {app: db}}, spec: {containers: [{name: main, image: "
           "a}]}}}}";
}

TEST_CASE("a StatefulSet starts in order, one after the other is ready, and shrinks backwards") {
    AppsStory story;
    story.put(stateful_sets, stateful(""));
    story.run();
    CHECK(story.names() == std::vector<std::string>{"db-0"});
    story.run();
    CHECK(story.alive().size() == 1);
    story.all_ready();
    story.run();
    CHECK(story.names() == std::vector<std::string>{"db-0", "db-1"});
    story.settle();
    CHECK(story.alive().size() == 3);
    const api::Value& pod = story.find(pods, "default", "db-2")->value;
    CHECK(pod["spec"]["hostname"].text() == "db-2");
    CHECK(pod["spec"]["subdomain"].text() == "db");
    CHECK(pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"].text() == "2");
    const kube::ObjectPtr set = story.find(stateful_sets, "default", "db");
    CHECK(set->value["status"]["readyReplicas"].integer_or(0) == 3);
    CHECK(set->value["status"]["currentRevision"] == set->value["status"]["updateRevision"]);
    story.patch(set, "{spec: {replicas: 1}}");
    story.run();
    CHECK(story.find(pods, "default", "db-2")->is_terminating());
    CHECK_FALSE(story.find(pods, "default", "db-1")->is_terminating());
    story.settle();
    CHECK(story.names() == std::vector<std::string>{"db-0"});
}

TEST_CASE("a StatefulSet replaces a pod under its own name, and Parallel starts all at once") {
    AppsStory story;
    story.put(stateful_sets, stateful("podManagementPolicy: Parallel, ordinals: {start: 5},"));
    story.run();
    CHECK(story.names() == std::vector<std::string>{"db-5", "db-6", "db-7"});
    story.settle();
    story.remove({pods, "default", "db-6"});
    story.run();
    CHECK(story.alive().size() == 2);
    story.settle();
    CHECK(story.names() == std::vector<std::string>{"db-5", "db-6", "db-7"});
}

TEST_CASE("a StatefulSet of very many makes some hundred pods a pass") {
    AppsStory story;
    std::string many = stateful("podManagementPolicy: Parallel,");
    many.replace(many.find("replicas: 3"), 11, "replicas: 2147483647");
    story.put(stateful_sets, many);
    bool more = false;
    story.step(story.stateful_set, stateful_sets, more);
    CHECK(story.alive().size() == 500);
    story.step(story.stateful_set, stateful_sets, more);
    CHECK(story.alive().size() == 1000);
}

TEST_CASE("a StatefulSet updates from the highest down, one at a time, and not below a partition") {
    AppsStory story;
    story.put(stateful_sets,
              stateful("updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}},"));
    story.settle();
    const auto set = [&] { return story.find(stateful_sets, "default", "db"); };
    story.patch(set(), "{spec: {template: {spec: {containers: [{name: main, image: b}]}}}}");
    story.run();
    std::set<std::string> going;
    for (const kube::ObjectPtr& pod : story.seen.list(pods)) {
        if (pod->is_terminating()) going.insert(pod->key.name);
    }
    CHECK(going == std::set<std::string>{"db-2"});
    story.settle();
    CHECK(image_of(*story.find(pods, "default", "db-0")) == "a");
    CHECK(image_of(*story.find(pods, "default", "db-1")) == "b");
    CHECK(set()->value["status"]["updatedReplicas"].integer_or(0) == 2);
    story.remove({pods, "default", "db-0"});
    story.settle();
    CHECK(image_of(*story.find(pods, "default", "db-0")) == "a");
    story.patch(set(), "{spec: {updateStrategy: {rollingUpdate: {partition: 0}}}}");
    story.settle();
    CHECK(image_of(*story.find(pods, "default", "db-0")) == "b");
    CHECK(set()->value["status"]["currentRevision"] == set()->value["status"]["updateRevision"]);
    CHECK(story.seen.list(controller_revisions).size() == 2);
}

}  // namespace
}  // namespace muster::control::apps
