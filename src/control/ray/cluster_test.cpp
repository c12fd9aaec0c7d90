// control/ray/cluster_test.cpp - what a RayCluster becomes, pass by pass.
#include "control/ray/cluster.h"

#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "api/json.h"
#include "control/conditions.h"
#include "control/ray/cluster_status.h"
#include "control/ray/names.h"
#include "control/ray/pods.h"
#include "control/ray/start_command.h"
#include "control/ray/upgrade.h"

namespace muster::control::ray {
namespace {

using api::Value;

const Time noon{1'700'000'000'000'000'000};

Value json(const std::string& text) {
    auto parsed = api::parse_json(text);
    REQUIRE(std::holds_alternative<api::Parsed>(parsed));
    return std::get<api::Parsed>(parsed).value;
}

Value small_cluster() {
    return json(R"({"apiVersion":"ray.io/v1","kind":"RayCluster",
      "metadata":{"name":"demo","namespace":"team","uid":"u-1","resourceVersion":"5","generation":1},
      "spec":{"rayVersion":"2.58.0",
        "headGroupSpec":{"rayStartParams":{"num-cpus":"0","log-color":"true"},
          "template":{"spec":{"containers":[{"name":"ray-head","image":"rayproject/ray:2.58.0",
            "resources":{"limits":{"cpu":"1500m","memory":"2G"},"requests":{"cpu":"1"}}}]}}},
        "workerGroupSpecs":[{"groupName":"small","replicas":2,"minReplicas":0,"maxReplicas":5,"rayStartParams":{},
          "template":{"spec":{"containers":[{"name":"w","image":"rayproject/ray:2.58.0",
            "resources":{"limits":{"cpu":"1","nvidia.com/gpu":2}}}]}}}]}})");
}

/// A cache, the controller, and the verbs of a story.
struct World {
    kube::Cache cache;
    Controller controller = cluster_controller();
    int version = 100;

    void put(const api::GroupResource& resource, Value value) {
        value.at("metadata").set("resourceVersion", std::to_string(++version));
        if (value["metadata"]["uid"].text_or("").empty()) {
            value.at("metadata").set("uid", "u-" + value["metadata"]["name"].text());
        }
        cache.put(kube::make_object(resource, std::move(value)));
    }
    Reconciled reconcile() { return controller.reconcile(cache, {clusters, "team", "demo"}, noon); }

    /// Does what was asked, as a server would. Returns how many pods were created.
    int carry_out(const Reconciled& result) {
        int created = 0;
        for (const Write& write : result.writes) {
            if (write.verb == Write::Verb::create || write.verb == Write::Verb::update)
                put(write.key.resource, write.body);
            if (write.verb == Write::Verb::create && write.key.resource == pods) ++created;
            if (write.verb == Write::Verb::remove) cache.remove(write.key);
        }
        return created;
    }
    void rest() {
        for (int i = 0; i < 10; ++i) {
            const Reconciled result = reconcile();
            if (result.writes.empty()) return;
            carry_out(result);
        }
        FAIL("the controller does not come to rest");
    }
    void make_ready(const kube::ObjectPtr& pod) {
        Value value = pod->value;
        value.set(
            "status",
            json(
                R"({"phase":"Running","podIP":"10.0.0.9","conditions":[{"type":"Ready","status":"True"}]})"));
        put(pods, value);
    }
    void all_ready() {
        for (const kube::ObjectPtr& pod : cache.list(pods))
            make_ready(pod);
    }
    void change(const std::string& path, const Value& value) {
        Value cluster = cache.find({clusters, "team", "demo"})->value;
        cluster.at("spec").set(path, value);
        put(clusters, cluster);
    }
    std::string state() {
        return cache.find({clusters, "team", "demo"})->value["status"]["state"].text();
    }
};

TEST_CASE("the start line has sorted flags and takes amounts from the container") {
    const Value cluster = small_cluster();
    const Value& head = cluster["spec"]["headGroupSpec"];
    CHECK(start_command(NodeType::head, start_parameters(NodeType::head, head, "")) ==
          "ray start --head  --block  --dashboard-agent-listen-port=52365  "
          "--dashboard-host=0.0.0.0  --log-color=true  "
          "--memory=2000000000  --metrics-export-port=8080  --num-cpus=0 ");
    const Value& worker = cluster["spec"]["workerGroupSpecs"][0];
    CHECK(start_command(NodeType::worker, start_parameters(NodeType::worker, worker, "h:6379")) ==
          "ray start  --address=h:6379  --block  --dashboard-agent-listen-port=52365  "
          "--metrics-export-port=8080  "
          "--num-cpus=1  --num-gpus=2 ");
}

TEST_CASE("a new cluster gets its service and all pods in one pass") {
    World world;
    world.put(clusters, small_cluster());
    CHECK(world.carry_out(world.reconcile()) == 3);
    CHECK(world.cache.find({services, "team", "demo-head-svc"}) != nullptr);
    world.rest();
    CHECK(world.state().empty());
    const kube::ObjectPtr head = world.cache.list(pods)[0];
    CHECK(head->label("ray.io/node-type") == "head");
    CHECK(head->label("ray.io/identifier") == "demo-head");
    const Value& container = head->value["spec"]["containers"][0];
    CHECK(container["args"][0].text().starts_with(
        "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; ray start --head "));
    CHECK(container["readinessProbe"]["httpGet"]["path"].text() == "/api/healthz");
    CHECK(world.cache.list(pods)[1]->value["spec"]["initContainers"][0]["name"].text() ==
          "wait-gcs-ready");
}

TEST_CASE("a cluster of very many workers makes some hundred pods a pass") {
    World world;
    Value cluster = small_cluster();
    Value group = cluster["spec"]["workerGroupSpecs"][0];
    group.set("replicas", 2147483647);
    group.set("maxReplicas", 2147483647);
    Value other = group;
    other.set("groupName", "other");
    cluster.at("spec").set("workerGroupSpecs", Value::array({group, other}));
    world.put(clusters, cluster);
    CHECK(world.carry_out(world.reconcile()) == 500);  // With the head.
    CHECK(world.carry_out(world.reconcile()) == 500);
    // Two groups of 2^31 - 1 workers with one core, and the head's.
    CHECK(world.cache.find({clusters, "team", "demo"})->value["status"]["desiredCPU"].text() ==
          "4294967295");
}

TEST_CASE("ready when all pods are, and taken back when one dies") {
    World world;
    world.put(clusters, small_cluster());
    world.rest();
    world.all_ready();
    world.rest();
    CHECK(world.state() == "ready");
    Value dead = world.cache.list(pods)[2]->value;
    dead.at("status").set("phase", "Failed");
    world.put(pods, dead);
    world.rest();
    CHECK(world.state() == "unhealthy");
    CHECK(world.cache.list(pods).size() == 3);
    world.all_ready();
    world.rest();
    CHECK(world.state() == "ready");
}

TEST_CASE("scaling down takes the named workers, then those that are not ready") {
    World world;
    world.put(clusters, small_cluster());
    world.rest();
    world.make_ready(world.cache.list(pods)[0]);
    world.make_ready(world.cache.list(pods)[2]);
    const std::string not_ready = world.cache.list(pods)[1]->key.name;
    Value groups = small_cluster()["spec"]["workerGroupSpecs"];
    groups.mutable_items()[0].set("replicas", 1);
    world.change("workerGroupSpecs", groups);
    world.rest();
    CHECK(world.cache.find({pods, "team", not_ready}) == nullptr);
    CHECK(world.cache.list(pods).size() == 2);
}

TEST_CASE("suspending is written down before pods go, and ends when none is left") {
    World world;
    world.put(clusters, small_cluster());
    world.rest();
    world.change("suspend", true);
    const Reconciled first = world.reconcile();
    for (const Write& write : first.writes)
        CHECK(write.verb != Write::Verb::remove);
    world.carry_out(first);
    world.rest();
    CHECK(world.cache.list(pods).empty());
    CHECK(world.state() == "suspended");
    world.change("suspend", false);
    world.rest();
    CHECK(world.cache.list(pods).size() == 3);
}

TEST_CASE("an invalid spec shows in the status, makes nothing, and heals") {
    World world;
    world.put(clusters, small_cluster());
    Value groups = small_cluster()["spec"]["workerGroupSpecs"];
    groups.mutable_items()[0].set("minReplicas", 9);
    world.change("workerGroupSpecs", groups);
    world.rest();
    CHECK(world.state() == "failed");
    CHECK(world.cache.list(pods).empty());
    const Value& status = world.cache.find({clusters, "team", "demo"})->value["status"];
    CHECK(status["reason"].text().find("minReplicas (9) must not be above maxReplicas (5)") !=
          std::string::npos);
    world.change("workerGroupSpecs", small_cluster()["spec"]["workerGroupSpecs"]);
    world.rest();
    CHECK(world.cache.list(pods).size() == 3);
    CHECK(world.state().empty());
}

TEST_CASE("what is not built yet is refused in words") {
    for (const char* field : {"enableInTreeAutoscaling", "gcsFaultToleranceOptions"}) {
        World world;
        world.put(clusters, small_cluster());
        world.change(field, std::string_view(field).starts_with("enable")
                                ? Value(true)
                                : json(R"({"redisAddress":"x"})"));
        world.rest();
        CHECK(world.state() == "failed");
        CHECK(world.cache.list(pods).empty());
    }
}

TEST_CASE("what would be ignored without the autoscaler is refused in words") {
    const auto reason_with = [](const std::string& field, const Value& value) {
        World world;
        world.put(clusters, small_cluster());
        Value groups = small_cluster()["spec"]["workerGroupSpecs"];
        groups.mutable_items()[0].set(field, value);
        world.change("workerGroupSpecs", groups);
        world.rest();
        return world.cache.find({clusters, "team", "demo"})->value["status"]["reason"].text();
    };
    CHECK(reason_with("idleTimeoutSeconds", 5).find("idleTimeoutSeconds") != std::string::npos);
    CHECK(reason_with("priority", 5).find("priority") != std::string::npos);
    CHECK(reason_with("numOfHosts", 2).find("numOfHosts") != std::string::npos);
    CHECK(reason_with("priority", 0).empty());
    Value pod = small_cluster()["spec"]["workerGroupSpecs"][0]["template"];
    pod.at("spec")
        .at("containers")
        .mutable_items()[0]
        .set("env", json(R"([{"name":"RAY_REDIS_ADDRESS","value":"redis:6379"}])"));
    CHECK(reason_with("template", pod).find("GCS fault tolerance") != std::string::npos);
}

TEST_CASE("endpoints and address of a head service with an address of its own are told") {
    World world;
    Value cluster = small_cluster();
    cluster.at("spec").at("headGroupSpec").set("serviceType", "NodePort");
    world.put(clusters, cluster);
    world.rest();
    Value service = world.cache.find({services, "team", "demo-head-svc"})->value;
    CHECK(service["spec"]["type"].text() == "NodePort");
    service.at("spec").set("clusterIP", "10.96.0.7");
    for (Value& port : service.at("spec").at("ports").mutable_items()) {
        if (port["name"].text() == "dashboard") port.set("nodePort", 30265);
    }
    world.put(services, service);
    world.all_ready();
    world.rest();
    const Value& status = world.cache.find({clusters, "team", "demo"})->value["status"];
    CHECK(status["head"]["serviceIP"].text() == "10.96.0.7");
    CHECK(status["head"]["podIP"].text() == "10.0.0.9");
    CHECK(status["endpoints"]["dashboard"].text() == "30265");
    CHECK(status["endpoints"]["gcs-server"].text() == "6379");
    CHECK(status["endpoints"]["metrics"].text() == "8080");
}

TEST_CASE("another manager's cluster is left alone") {
    World world;
    world.put(clusters, small_cluster());
    world.change("managedBy", "kueue.x-k8s.io/multikueue");
    CHECK(world.reconcile().writes.empty());
}

TEST_CASE("a lost head is made anew, unless its job runs in it and it was ready once") {
    for (const bool keep : {false, true}) {
        World world;
        Value cluster = small_cluster();
        if (keep) cluster.at("metadata").at("annotations").set(keep_lost_head_annotation, "true");
        world.put(clusters, cluster);
        world.rest();
        world.all_ready();
        world.rest();
        Value dead = world.cache.list(pods)[0]->value;
        const std::string name = dead["metadata"]["name"].text();
        dead.at("status").set("phase", "Failed");
        world.put(pods, dead);
        world.rest();
        CHECK((world.cache.find({pods, "team", name}) != nullptr) == keep);
        CHECK(world.state() == "unhealthy");
        CHECK(world.cache.list(pods).size() == 3);
    }
}

TEST_CASE("a head that dies at once shows why, and its cluster is never called ready") {
    World world;
    world.put(clusters, small_cluster());
    world.rest();
    Value head = world.cache.list(pods)[0]->value;
    head.set("status", json(R"({"phase":"Running","conditions":[{"type":"Ready","status":"False"}],
      "containerStatuses":[{"name":"ray-head","ready":false,"restartCount":3,"state":{"waiting":{
        "reason":"CrashLoopBackOff","message":"back-off 40s restarting failed container"}}}]})"));
    world.put(pods, head);
    world.rest();
    CHECK(world.state().empty());
    const Value& status = world.cache.find({clusters, "team", "demo"})->value["status"];
    const Value& ready = find_condition(status["conditions"], "HeadPodReady");
    CHECK(ready["status"].text() == "False");
    CHECK(ready["reason"].text() == "CrashLoopBackOff");
    CHECK(ready["message"].text().starts_with("back-off"));
}

TEST_CASE("a head service with a name of the user's own is what workers and status speak of") {
    World world;
    Value cluster = small_cluster();
    cluster.at("spec")
        .at("headGroupSpec")
        .set("headService", json(R"({"metadata":{"name":"mine"}})"));
    world.put(clusters, cluster);
    world.rest();
    CHECK(world.cache.find({services, "team", "mine"}) != nullptr);
    const Value& worker = world.cache.list(pods)[1]->value["spec"]["containers"][0];
    CHECK(worker["args"][0].text().find("--address=mine.team.svc.cluster.local:6379") !=
          std::string::npos);
    CHECK(world.cache.find({clusters, "team", "demo"})
              ->value.path("status.head.serviceName")
              .text() == "mine");
}

TEST_CASE("a head service has no address of its own unless its type asks, or it is the user's") {
    const auto spec_of = [](const char* type, const char* own) {
        World world;
        Value cluster = small_cluster();
        Value& head = cluster.at("spec").at("headGroupSpec");
        if (*type != '\0') head.set("serviceType", type);
        if (*own != '\0') head.set("headService", json(own));
        world.put(clusters, cluster);
        world.rest();
        return world.cache.find({services, "team", "demo-head-svc"})->value["spec"];
    };
    CHECK(spec_of("", "")["clusterIP"].text() == "None");
    CHECK(spec_of("ClusterIP", "")["clusterIP"].text() == "None");
    CHECK(spec_of("ClusterIP", "")["publishNotReadyAddresses"].boolean_or(false));
    CHECK_FALSE(spec_of("NodePort", "").has("clusterIP"));
    CHECK_FALSE(spec_of("", R"({"spec":{}})").has("clusterIP"));
    CHECK(spec_of("NodePort", R"({"spec":{}})")["type"].text() == "NodePort");
    const Value own = spec_of("NodePort", R"({"spec":{"type":"LoadBalancer","ports":[
      {"name":"mine","port":1},{"name":"dashboard","port":2}]}})");
    CHECK(own["type"].text() == "LoadBalancer");
    REQUIRE(own["ports"].size() == 6);
    CHECK(own["ports"][0]["name"].text() == "mine");
    CHECK(own["ports"][1]["name"].text() == "client");
    CHECK(own["ports"][2]["name"].text() == "dashboard");
    CHECK(own["ports"][2]["port"].integer_or(0) == 8265);
}

Value ending(Value object, std::int64_t grace = 30) {
    object.at("metadata").set("deletionTimestamp", to_rfc3339(noon));
    object.at("metadata").set("deletionGracePeriodSeconds", grace);
    return object;
}

TEST_CASE("while a head is on its way out nothing new is made: it still answers by that name") {
    World world;
    world.put(clusters, small_cluster());
    world.rest();
    world.all_ready();
    world.rest();
    const kube::ObjectPtr head = world.cache.list(pods)[0];
    world.put(pods, ending(head->value));
    world.cache.remove(world.cache.list(pods)[1]->key);
    world.rest();
    CHECK(world.cache.list(pods).size() == 2);
    CHECK(world.state() == "unhealthy");
    const Reconciled waits = world.reconcile();
    REQUIRE(waits.look_again.has_value());
    // On a lost node it never goes; then its successor does not wait for it.
    const Reconciled later =
        world.controller.reconcile(world.cache, {clusters, "team", "demo"}, noon + seconds(30));
    CHECK(later.writes.size() == 2);
    world.cache.remove(head->key);
    world.rest();
    CHECK(world.cache.list(pods).size() == 3);
}

TEST_CASE("upgradeStrategy Recreate: a changed spec takes all pods, a changed number none") {
    World world;
    Value cluster = small_cluster();
    cluster.at("spec").set("upgradeStrategy", json(R"({"type":"Recreate"})"));
    world.put(clusters, cluster);
    world.rest();
    const auto names = [&world] {
        std::string text;
        for (const kube::ObjectPtr& pod : world.cache.list(pods))
            text += pod->value.path("spec.containers.0.image").text() + " ";
        return text;
    };
    Value groups = small_cluster()["spec"]["workerGroupSpecs"];
    groups.mutable_items()[0].set("replicas", 3);
    const Value head = world.cache.list(pods)[0]->value;
    world.change("workerGroupSpecs", groups);
    world.rest();
    CHECK(world.cache.list(pods).size() == 4);
    CHECK(world.cache.list(pods)[0]->value == head);
    Value container = groups.mutable_items()[0]["template"]["spec"]["containers"][0];
    container.set("image", "rayproject/ray:2.60.0");
    groups.mutable_items()[0]
        .at("template")
        .at("spec")
        .set("containers", Value::array({container}));
    world.change("workerGroupSpecs", groups);
    world.rest();
    CHECK(names() ==
          "rayproject/ray:2.58.0 rayproject/ray:2.60.0 rayproject/ray:2.60.0 "
          "rayproject/ray:2.60.0 ");
}

TEST_CASE("without upgradeStrategy a changed template is for new pods only") {
    World world;
    world.put(clusters, small_cluster());
    world.rest();
    Value head_group = small_cluster()["spec"]["headGroupSpec"];
    head_group.set("rayStartParams", json(R"({"num-cpus":"1"})"));
    const Value before = world.cache.list(pods)[0]->value;
    world.change("headGroupSpec", head_group);
    world.rest();
    CHECK(world.cache.list(pods)[0]->value == before);
}

TEST_CASE("the hash of a spec does not see the order of its members nor what changes by scaling") {
    const Value one = json(R"({"headGroupSpec":{"rayStartParams":{"a":"1","b":"2"}},
      "workerGroupSpecs":[{"groupName":"w","replicas":1}]})");
    const Value same = json(R"({"workerGroupSpecs":[{"replicas":5,"groupName":"w",
      "scaleStrategy":{"workersToDelete":["x"]}}],"suspend":true,
      "headGroupSpec":{"rayStartParams":{"b":"2","a":"1"}}})");
    CHECK(spec_hash(one) == spec_hash(same));
    Value other = one;
    other.at("headGroupSpec").at("rayStartParams").set("a", "2");
    CHECK(spec_hash(one) != spec_hash(other));
}

TEST_CASE("the pods of a cluster that goes are hurried, those of one that stays are not") {
    World world;
    world.put(clusters, small_cluster());
    world.rest();
    const std::vector<kube::ObjectPtr> made = world.cache.list(pods);
    world.put(pods, ending(made[0]->value));
    for (const Write& write : world.reconcile().writes)
        CHECK(write.verb != Write::Verb::remove);
    world.put(pods, ending(made[1]->value));
    Value hooked = ending(made[2]->value);
    hooked.at("spec")
        .at("containers")
        .mutable_items()[0]
        .set("lifecycle", json(R"({"preStop":{}})"));
    world.put(pods, hooked);
    world.cache.remove({clusters, "team", "demo"});
    const Reconciled result = world.reconcile();
    REQUIRE(result.writes.size() == 2);
    CHECK(result.writes[0].key == made[0]->key);
    CHECK(result.writes[0].grace_seconds == 5);
    // Deleted with less already, or not deleted at all (its owner went without it): left alone.
    world.put(pods, ending(made[0]->value, 5));
    world.put(pods, made[1]->value);
    CHECK(world.reconcile().writes.empty());
}

TEST_CASE("the annotation ray.io/enable-serve-service puts a service before the pods") {
    World world;
    Value cluster = small_cluster();
    cluster.at("metadata").at("annotations").set("ray.io/enable-serve-service", "true");
    world.put(clusters, cluster);
    world.rest();
    const kube::ObjectPtr service = world.cache.find({services, "team", "demo-serve-svc"});
    REQUIRE(service != nullptr);
    CHECK(service->value.path("spec.ports.0.port").integer_or(0) == 8000);
    for (const kube::ObjectPtr& pod : world.cache.list(pods))
        CHECK(pod->label("ray.io/serve") == "true");
}

}  // namespace
}  // namespace muster::control::ray
