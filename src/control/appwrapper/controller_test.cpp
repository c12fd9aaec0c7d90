// control/appwrapper/controller_test.cpp - an AppWrapper from canrun to gone.
#include "control/appwrapper/controller.h"

#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "api/json.h"
#include "control/appwrapper/demand.h"
#include "control/appwrapper/status.h"

namespace muster::control::appwrapper {
namespace {

using api::Value;

const api::GroupResource maps{"", "configmaps"};
const api::GroupResource jobs{"batch", "jobs"};
const api::GroupResource pods{"", "pods"};

Value json(const std::string& text) {
    auto parsed = api::parse_json(text);
    REQUIRE(std::holds_alternative<api::Parsed>(parsed));
    return std::get<api::Parsed>(parsed).value;
}

Value wrapper(const std::string& scheduling = "{}", const std::string& completion = "") {
    return json(R"({"apiVersion":"workload.codeflare.dev/v1beta1","kind":"AppWrapper",
      "metadata":{"name":"aw","namespace":"team","uid":"u-aw"},
      "spec":{"schedulingSpec":)" +
                scheduling + R"(,"resources":{"GenericItems":[
        {"custompodresources":[{"replicas":2,"requests":{"cpu":1},"limits":{"cpu":2,"memory":"1G"}}],
         "completionstatus":")" +
                completion + R"(",
         "generictemplate":{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"work"},
           "spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[]}}}}},
        {"generictemplate":{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{}}}]}}})");
}

struct World {
    kube::Cache cache;
    Controller made = controller(codeflare);
    Time now{1'700'000'000'000'000'000};
    int version = 1;
    api::Key key{codeflare, "team", "aw"};

    void put(const api::GroupResource& resource, Value value) {
        value.at("metadata").set("resourceVersion", std::to_string(++version));
        if (value["metadata"]["uid"].is_null())
            value.at("metadata").set("uid", "u" + std::to_string(version));
        cache.put(kube::make_object(resource, std::move(value)));
    }
    const Value& object() { return cache.find(key)->value; }
    const Value& status() { return object()["status"]; }
    void set_status(Value next) {
        Value value = object();
        value.set("status", std::move(next));
        put(codeflare, value);
    }
    Reconciled once() { return made.reconcile(cache, key, now); }
    void carry_out(const Reconciled& result) {
        for (const Write& write : result.writes) {
            if (write.verb == Write::Verb::create || write.verb == Write::Verb::update)
                put(write.key.resource, write.body);
            if (write.verb == Write::Verb::remove) cache.remove(write.key);
            if (write.verb == Write::Verb::merge_patch) {
                Value value = object();
                value.at("metadata").set("finalizers", write.body["metadata"]["finalizers"]);
                put(codeflare, value);
            }
        }
    }
    void rest() {
        for (int i = 0; i < 10; ++i) {
            const Reconciled result = once();
            if (result.writes.empty()) return;
            carry_out(result);
        }
        FAIL("the controller does not come to rest");
    }
    void dispatch(Value object) {
        put(codeflare, std::move(object));
        set_status(can_run(this->object(), now));
        rest();
    }
    void put_pod(const std::string& name, const std::string& phase, const std::string& extra = "") {
        put(pods, json(R"({"metadata":{"name":")" + name +
                       R"(","namespace":"team","labels":{"appwrapper.mcad.ibm.com":"aw"}},
            "spec":{"containers":[{"resources":{"requests":{"cpu":"500m"}}}]},"status":{"phase":")" +
                       phase + "\"" + extra + "}}"));
    }
};

TEST_CASE(
    "the demand is what is declared, a missing request its limit; else what the template shows") {
    const auto declared = demand_of(wrapper());
    REQUIRE(declared.size() == 1);
    CHECK(declared[0].count == 2);
    const Value& asked = declared[0].pod_template["spec"]["containers"][0]["resources"]["requests"];
    CHECK(asked["cpu"].integer_or(0) == 1);
    CHECK(asked["memory"].text() == "1G");
    const auto inferred =
        demand_of(json(R"({"spec":{"resources":{"GenericItems":[{"generictemplate":
        {"kind":"Job","spec":{"parallelism":4,"completions":3,"template":{"spec":{"containers":[]}}}}}]}}})"));
    REQUIRE(inferred.size() == 1);
    CHECK(inferred[0].count == 3);
}

TEST_CASE("nothing is made before it may run") {
    World world;
    world.put(codeflare, wrapper());
    CHECK(world.once().writes.empty());
    world.set_status(backed_off(world.object(), "AppWrapperNotRunnable.",
                                "Insufficient resources to dispatch AppWrapper.", world.now));
    CHECK(world.once().writes.empty());
    CHECK(world.status()["state"].text() == "Pending");
    CHECK_FALSE(world.status().has("canrun"));
}

TEST_CASE("dispatch makes everything, labelled and owned, and says so as document 004 does") {
    World world;
    world.dispatch(wrapper());
    const kube::ObjectPtr job = world.cache.find({jobs, "team", "work"});
    REQUIRE(job != nullptr);
    CHECK(job->label("appwrapper.mcad.ibm.com") == "aw");
    CHECK(job->value.path("spec.template.metadata.labels")["resourceName"].text() == "work");
    CHECK(world.cache.find({maps, "team", "settings"}) != nullptr);
    CHECK(world.status()["state"].text() == "Running");
    CHECK(world.status()["queuejobstate"].text() == "Dispatched");
    CHECK(world.status()["sender"].text() == "before manageQueueJob - afterEtcdDispatching");
    CHECK(condition(world.status(), "Dispatched")["reason"].text() == "AppWrapperRunnable");
    CHECK(world.status()["conditions"].size() == 4);
}

TEST_CASE("labelled pods are counted and PodsRunning is said once") {
    World world;
    world.dispatch(wrapper());
    world.put_pod("a", "Running");
    world.put_pod("b", "Pending");
    world.rest();
    CHECK(world.status()["running"].integer_or(0) == 1);
    CHECK(world.status()["pending"].integer_or(0) == 1);
    CHECK(world.status()["totalcpu"].integer_or(0) == 500);
    CHECK(condition(world.status(), "Running")["reason"].text() == "PodsRunning");
}

TEST_CASE("an object in another namespace fails the wrapper, and nothing of it stays") {
    World world;
    Value bad = wrapper();
    bad.at("spec")
        .at("resources")
        .at("GenericItems")
        .mutable_items()[1]
        .at("generictemplate")
        .at("metadata")
        .set("namespace", "other");
    world.dispatch(bad);
    CHECK(world.status()["state"].text() == "Failed");
    CHECK(condition(world.status(), "Failed")["reason"].text() == "ItemCreationFailure.");
    CHECK(world.cache.find({jobs, "team", "work"}) == nullptr);
}

TEST_CASE("complete when all that was asked is done and no pod is left, held before") {
    World world;
    world.dispatch(wrapper("{}", "Complete, Failed"));
    world.put_pod("a", "Running");
    Value job = world.cache.find({jobs, "team", "work"})->value;
    job.set("status", json(R"({"conditions":[{"type":"Complete","status":"True"}]})"));
    world.put(jobs, job);
    world.rest();
    CHECK(world.status()["state"].text() == "RunningHoldCompletion");
    world.rest();
    CHECK(world.status()["running"].integer_or(0) == 1);
    world.put_pod("a", "Succeeded");
    world.rest();
    CHECK(world.status()["state"].text() == "Completed");
    CHECK(condition(world.status(), "Completed")["reason"].text() == "PodsCompleted");
    CHECK_FALSE(world.status().has("running"));
    CHECK_FALSE(world.status().has("totalcpu"));
    CHECK(world.status()["Succeeded"].integer_or(0) == 1);
}

TEST_CASE("too few running pods take it back after the waiting time, later and later") {
    World world;
    world.dispatch(
        wrapper(R"({"minAvailable":2,"requeuing":{"timeInSeconds":10,"maxNumRequeuings":2}})"));
    world.put_pod("a", "Running");
    world.rest();
    CHECK(world.status()["state"].text() == "Running");
    CHECK(world.once().look_again.has_value());
    world.now = world.now + seconds(10);
    world.rest();
    CHECK(world.status()["state"].text() == "Pending");
    CHECK(condition(world.status(), "PreemptCandidate")["message"].text() ==
          "Insufficient number of Running and Completed pods, minimum=2, running=1, completed=0.");
    CHECK(condition(world.status(), "Backoff")["reason"].text() == "PreemptionTriggered");
    CHECK(world.cache.find({jobs, "team", "work"}) == nullptr);
    CHECK(world.cache.find({maps, "team", "settings"}) == nullptr);
    CHECK(world.status()["numberOfRequeueings"].integer_or(0) == 1);
}

TEST_CASE("a wrapper that is taken back counts no pods: they go with its objects") {
    World world;
    world.dispatch(wrapper(R"({"minAvailable":2,"requeuing":{"timeInSeconds":10}})"));
    world.put_pod("a", "Running");
    world.put_pod("b", "Failed");
    world.rest();
    REQUIRE(world.status()["running"].integer_or(0) == 1);
    world.now = world.now + seconds(10);
    world.rest();
    REQUIRE(world.status()["state"].text() == "Pending");
    for (const char* field : {"pending", "running", "failed", "Succeeded", "totalcpu"}) {
        CAPTURE(field);
        CHECK_FALSE(world.status().has(field));
    }
}

TEST_CASE("the dispatch limit counts from the dispatch") {
    World world;
    world.dispatch(wrapper(R"({"dispatchDuration":{"limit":60}})"));
    world.put_pod("a", "Running");
    world.rest();
    world.now = world.now + seconds(59);
    world.rest();
    CHECK(world.status()["state"].text() == "Running");
    world.now = world.now + seconds(1);
    world.rest();
    CHECK(world.status()["state"].text() == "Failed");
    CHECK(condition(world.status(), "PreemptCandidate")["message"].text() ==
          "Dispatch deadline exceeded. allowed to run for 60 seconds");
    CHECK_FALSE(world.status().has("running"));
}

TEST_CASE("deletion takes processes first and data when they are gone") {
    World world;
    world.dispatch(wrapper());
    Value ending = world.object();
    ending.at("metadata").set("deletionTimestamp", to_rfc3339(world.now));
    world.put(codeflare, ending);
    const Reconciled first = world.once();
    REQUIRE(first.writes.size() == 1);
    CHECK(first.writes[0].key.resource == jobs);
    CHECK(first.writes[0].propagation == "Foreground");
    world.carry_out(first);
    const Reconciled second = world.once();
    REQUIRE(second.writes.size() == 1);
    CHECK(second.writes[0].key.resource == maps);
    world.carry_out(second);
    world.rest();
    CHECK(world.object()["metadata"]["finalizers"].empty());
}

TEST_CASE("without minAvailable the items' own minavailable count") {
    World world;
    Value object = wrapper(R"({"requeuing":{"timeInSeconds":10}})");
    object.at("spec").at("resources").at("GenericItems").mutable_items()[0].set("minavailable", 2);
    world.dispatch(object);
    world.put_pod("a", "Running");
    world.now = world.now + seconds(10);
    world.rest();
    CHECK(condition(world.status(), "PreemptCandidate")["reason"].text() == "MinPodsNotRunning");
}

TEST_CASE("pods that no node can take show in the status, and take the wrapper back") {
    World world;
    world.dispatch(wrapper(R"({"requeuing":{"timeInSeconds":10}})"));
    world.put_pod("a", "Pending",
                  R"(,"conditions":[{"type":"PodScheduled","status":"False",
                     "reason":"Unschedulable","message":"0/1 nodes"}])");
    world.rest();
    const Value& waiting = world.status()["pendingpodconditions"];
    REQUIRE(waiting.size() == 1);
    CHECK(waiting[0]["podname"].text() == "a");
    CHECK(waiting[0]["conditions"][0]["reason"].text() == "Unschedulable");
    world.now = world.now + seconds(10);
    world.rest();
    const Value& candidate = condition(world.status(), "PreemptCandidate");
    CHECK(candidate["reason"].text() == "PodsFailedScheduling");
    CHECK(candidate["message"].text() == "Pods failed scheduling failed=1, running=0.");
}

TEST_CASE("a pod made by what was wrapped counts, also without the label") {
    World world;
    world.dispatch(wrapper(R"({"minAvailable":1,"requeuing":{"timeInSeconds":10}})"));
    const kube::ObjectPtr job = world.cache.find({jobs, "team", "work"});
    world.put(pods, json(R"({"metadata":{"name":"made","namespace":"team","ownerReferences":[
      {"apiVersion":"batch/v1","kind":"Job","name":"work","uid":")" +
                         job->uid + R"("}]},"spec":{},"status":{"phase":"Running"}})"));
    world.now = world.now + seconds(20);
    world.rest();
    CHECK(world.status()["state"].text() == "Running");
    CHECK_FALSE(world.status().has("running"));
}

/// The waiting times that a wrapper goes through, one taking back after the other.
std::vector<std::int64_t> waits(const std::string& requeuing) {
    Value object = wrapper(R"({"minAvailable":1,"requeuing":)" + requeuing + "}");
    std::vector<std::int64_t> seen;
    for (int i = 0; i < 4; ++i) {
        object.set("status", preempted(object, "MinPodsNotRunning", "few", Time{1}));
        seen.push_back(object["status"]["requeueingTimeInSeconds"].integer_or(-1));
    }
    return seen;
}

TEST_CASE("waiting times grow as growthType says, up to maxTimeInSeconds") {
    using Waits = std::vector<std::int64_t>;
    CHECK(waits(R"({"timeInSeconds":10,"growthType":"exponential"})") == Waits{10, 20, 40, 80});
    CHECK(waits(R"({"timeInSeconds":10,"growthType":"exponential","maxTimeInSeconds":25})") ==
          Waits{10, 20, 25, 25});
    CHECK(waits(R"({"timeInSeconds":10,"growthType":"linear"})") == Waits{10, 20, 30, 40});
    CHECK(waits(R"({"timeInSeconds":10,"initialTimeInSeconds":3,"growthType":"linear"})") ==
          Waits{3, 6, 9, 12});
    CHECK(waits(R"({"timeInSeconds":10,"growthType":"none"})") == Waits{10, 10, 10, 10});
    CHECK(waits(R"({"timeInSeconds":10,"growthType":"misspelled"})") == Waits{10, 10, 10, 10});
}

TEST_CASE("after maxNumRequeuings it is given up: Deleted, and nothing of it stays") {
    World world;
    world.dispatch(
        wrapper(R"({"minAvailable":1,"requeuing":{"timeInSeconds":10,"maxNumRequeuings":1}})"));
    world.now = world.now + seconds(10);
    world.rest();
    CHECK(world.status()["state"].text() == "Pending");
    world.set_status(can_run(world.object(), world.now));
    world.rest();
    CHECK(world.status()["state"].text() == "Running");
    world.now = world.now + seconds(10);
    world.rest();
    CHECK(world.status()["state"].text() == "Deleted");
    CHECK(world.cache.find({jobs, "team", "work"}) == nullptr);
    CHECK(world.cache.find(world.key) != nullptr);
}

TEST_CASE("numRequeuings says how many there were before") {
    World world;
    world.dispatch(wrapper(
        R"({"minAvailable":1,"requeuing":{"timeInSeconds":10,"maxNumRequeuings":2,"numRequeuings":2}})"));
    world.now = world.now + seconds(10);
    world.rest();
    CHECK(world.status()["state"].text() == "Deleted");
}

TEST_CASE("pods that outlive their item are killed after forcefulDeletionAfterSeconds") {
    World world;
    world.dispatch(wrapper(R"({"requeuing":{"forcefulDeletionAfterSeconds":5}})"));
    world.put_pod("a", "Running");
    Value ending = world.object();
    ending.at("metadata").set("deletionTimestamp", to_rfc3339(world.now));
    world.put(codeflare, ending);
    Value job = world.cache.find({jobs, "team", "work"})->value;
    job.at("metadata").set("deletionTimestamp", to_rfc3339(world.now));
    world.put(jobs, job);
    const Reconciled early = world.once();
    CHECK(early.writes.empty());
    REQUIRE(early.look_again.has_value());
    CHECK(*early.look_again == seconds(5));
    world.now = world.now + seconds(5);
    const Reconciled late = world.once();
    REQUIRE(late.writes.size() == 1);
    CHECK(late.writes[0].key.name == "a");
    CHECK(late.writes[0].grace_seconds == 0);
}

TEST_CASE("two items of one kind and name cannot both be made: the second fails the wrapper") {
    World world;
    Value object = wrapper();
    Value& items = object.at("spec").at("resources").at("GenericItems");
    items.push(items[1]);
    world.dispatch(object);
    CHECK(world.status()["state"].text() == "Failed");
    CHECK(condition(world.status(), "Failed")["message"].text().find("twice") != std::string::npos);
    CHECK(world.cache.find({jobs, "team", "work"}) == nullptr);
}

}  // namespace
}  // namespace muster::control::appwrapper
