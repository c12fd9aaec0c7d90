// control/cluster/gc_test.cpp - dependents follow their owners, and nobody goes by mistake.
#include "control/cluster/gc.h"

#include <doctest/doctest.h>

#include "control/cluster/resources.h"
#include "control/cluster/small_cluster.h"

namespace muster::control::cluster {
namespace {

struct Family : SmallCluster {
    GarbageCollector collector;

    Family() { followers = {&collector}; }

    kube::ObjectPtr owner(const std::string& name, const std::string& uid) {
        return put(jobs, "{apiVersion: batch/v1, kind: Job, metadata: {name: " + name +
                             ", namespace: default, uid: " + uid + "}}");
    }
    static std::string reference(const std::string& kind, const std::string& name,
                                 const std::string& uid) {
        return "{apiVersion: " + std::string(kind == "Job" ? "batch/v1" : "v1") +
               ", kind: " + kind + ", name: " + name + ", uid: " + uid +
               ", blockOwnerDeletion: true}";
    }
    kube::ObjectPtr dependent(const std::string& name, const std::string& references) {
        return put(config_maps, "{metadata: {name: " + name +
                                    ", namespace: default, ownerReferences: [" + references +
                                    "]}}");
    }
    kube::ObjectPtr map(const std::string& name) const {
        return find(config_maps, "default", name);
    }
    void collect() { rest(collector); }
};

TEST_CASE("what a deleted owner owned goes, through all generations") {
    Family family;
    const kube::ObjectPtr job = family.owner("a", "u-a");
    const kube::ObjectPtr child = family.dependent("child", Family::reference("Job", "a", "u-a"));
    family.dependent("grandchild", Family::reference("ConfigMap", "child", child->uid));
    family.dependent("stranger", "");
    family.collect();
    CHECK(family.map("child") != nullptr);
    family.remove(job->key);
    family.collect();
    CHECK(family.map("child") == nullptr);
    CHECK(family.map("grandchild") == nullptr);
    CHECK(family.map("stranger") != nullptr);
}

TEST_CASE("an object of another namespace that names an owner does not hold up its deletion") {
    for (const char* propagation : {"Foreground", "Orphan"}) {
        Family family;
        const kube::ObjectPtr job = family.owner("a", "u-a");
        family.put(config_maps,
                   "{metadata: {name: stranger, namespace: other, finalizers: [a.b/stays], "
                   "ownerReferences: [" +
                       Family::reference("Job", "a", "u-a") + "]}}");
        family.remove(job->key, propagation);
        family.collect();
        CHECK(family.find(jobs, "default", "a") == nullptr);
        CHECK(family.find(config_maps, "other", "stranger") != nullptr);
    }
}

TEST_CASE("one owner of two that stays keeps the dependent and loses the other's reference") {
    Family family;
    family.owner("a", "u-a");
    family.owner("b", "u-b");
    family.dependent("child", Family::reference("Job", "a", "u-a") + ", " +
                                  Family::reference("Job", "b", "u-b"));
    family.collect();
    family.remove({jobs, "default", "a"});
    family.collect();
    REQUIRE(family.map("child") != nullptr);
    const api::Value& owners = family.map("child")->value["metadata"]["ownerReferences"];
    REQUIRE(owners.size() == 1);
    CHECK(owners[0]["uid"].text() == "u-b");
}

TEST_CASE("an owner that was never seen is asked for, and only the server's no is believed") {
    Family family;
    family.dependent("child", Family::reference("Job", "a", "u-a"));
    const Reconciled first = family.collector.plan(family.seen, family.now);
    CHECK(first.writes.empty());
    REQUIRE(first.looks.size() == 1);
    CHECK(first.looks[0] == api::Key{jobs, "default", "a"});
    family.owner("a", "u-a");  // Its watch was late.
    family.collector.looked(first.looks[0], family.find(jobs, "default", "a").get());
    family.collect();
    CHECK(family.map("child") != nullptr);

    family.dependent("orphan", Family::reference("Job", "never", "u-n"));
    family.collect();
    CHECK(family.map("orphan") == nullptr);
}

TEST_CASE("an owner of the same name but another uid is not the owner") {
    Family family;
    family.owner("a", "u-old");
    family.dependent("child", Family::reference("Job", "a", "u-old"));
    family.collect();
    family.owner("a", "u-new");
    family.collect();
    CHECK(family.map("child") == nullptr);
    CHECK(family.find(jobs, "default", "a") != nullptr);
}

TEST_CASE("owners of kinds that are not served keep what they own") {
    Family family;
    family.dependent("child", "{apiVersion: example.org/v1, kind: Thing, name: x, uid: u-x}");
    family.collect();
    CHECK(family.map("child") != nullptr);
}

TEST_CASE("foreground deletion removes the owner after its dependents") {
    Family family;
    const kube::ObjectPtr job = family.owner("a", "u-a");
    const kube::ObjectPtr pod =
        family.put(pods, "{metadata: {name: p, namespace: default, ownerReferences: [" +
                             Family::reference("Job", "a", "u-a") +
                             "]}, spec: {nodeName: n1}, status: {phase: Running}}");
    family.collect();
    family.remove(job->key, "Foreground");
    family.collect();
    CHECK(family.find(jobs, "default", "a") != nullptr);
    REQUIRE(family.find(pods, "default", "p") != nullptr);
    CHECK(family.find(pods, "default", "p")->is_terminating());
    family.end_pod(pod, "Failed");
    family.collect();
    CHECK(family.find(jobs, "default", "a") == nullptr);
}

TEST_CASE("orphaning frees the dependents before the owner goes") {
    Family family;
    const kube::ObjectPtr job = family.owner("a", "u-a");
    family.dependent("child", Family::reference("Job", "a", "u-a"));
    family.collect();
    family.remove(job->key, "Orphan");
    family.collect();
    CHECK(family.find(jobs, "default", "a") == nullptr);
    REQUIRE(family.map("child") != nullptr);
    CHECK(family.map("child")->value["metadata"]["ownerReferences"].empty());
}

TEST_CASE("nothing is collected from a cache that is not synced") {
    Family family;
    family.seen = kube::Cache();
    family.dependent("child", Family::reference("Job", "a", "u-a"));
    const Reconciled result = family.collector.plan(family.seen, family.now);
    CHECK(result.looks.empty());
    CHECK(result.writes.empty());
}

TEST_CASE("an owner of a kind that nobody knows keeps what it has, until the kind comes") {
    Family family;
    family.dependent("m", "{apiVersion: e.io/v1, kind: Tab, name: t, uid: u-t}");
    family.collect();
    CHECK(family.map("m") != nullptr);
    api::Kind kind;
    kind.group = "e.io";
    kind.kind = "Tab";
    kind.plural = "tabs";
    family.seen.add_kind(std::move(kind));
    family.put({"apiextensions.k8s.io", "customresourcedefinitions"},
               "{metadata: {name: tabs.e.io, uid: u-d}}");
    family.collect();
    CHECK(family.map("m") == nullptr);
}

}  // namespace
}  // namespace muster::control::cluster
