// api/kueue/rules_test.cpp - Kueue's objects: conversion, what is refused and in which words.
#include "api/kueue/rules.h"

#include <doctest/doctest.h>

#include "api/kind.h"
#include "api/parsed_text.h"

namespace muster::api {
namespace {

Value queue_with(std::string_view spec) {
    return parsed(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue","spec":)" +
                  std::string(spec) + "}");
}

TEST_CASE("a cluster queue goes to v1beta2 and back") {
    const Value old = queue_with(
        R"({"cohort":"c","flavorFungibility":{"whenCanBorrow":"Borrow","whenCanPreempt":"Preempt"},
        "admissionChecks":["a"]})");
    const Value now = convert_cluster_queue(old, "v1beta2");
    CHECK(now["apiVersion"].text() == "kueue.x-k8s.io/v1beta2");
    CHECK(now["spec"]["cohortName"].text() == "c");
    CHECK(now["spec"]["flavorFungibility"]["whenCanPreempt"].text() == "MayStopSearch");
    CHECK(now["spec"]["admissionChecksStrategy"]["admissionChecks"][0]["name"].text() == "a");
    const Value back = convert_cluster_queue(now, "v1beta1");
    CHECK(back["spec"]["cohort"].text() == "c");
    CHECK(back["spec"]["flavorFungibility"]["whenCanBorrow"].text() == "MayStopSearch");
}

TEST_CASE("a workload's priority class is a reference in v1beta2 and two texts in v1beta1") {
    const Value old = parsed(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","spec":{
        "priorityClassName":"high","priorityClassSource":"kueue.x-k8s.io/workloadpriorityclass"},
        "status":{"accumulatedPastExexcutionTimeSeconds":3}})");
    const Value now = convert_workload(old, "v1beta2");
    CHECK(now["spec"]["priorityClassRef"]["kind"].text() == "WorkloadPriorityClass");
    CHECK(now["status"]["accumulatedPastExecutionTimeSeconds"].integer_or(0) == 3);
    CHECK(convert_workload(now, "v1beta1") == old);
}

TEST_CASE("the queue objects of the documents are valid as they stand") {
    const Kind& kind = *find_kind("kueue.x-k8s.io", "clusterqueues");
    Value queue = queue_with(R"({"namespaceSelector":{},"resourceGroups":[{"coveredResources":
        ["cpu","memory","pods","nvidia.com/gpu"],"flavors":[{"name":"default-flavor","resources":[
        {"name":"cpu","nominalQuota":9},{"name":"memory","nominalQuota":"36Gi"},
        {"name":"pods","nominalQuota":5},{"name":"nvidia.com/gpu","nominalQuota":"0"}]}]}]})");
    for (const char* version : {"v1beta1", "v1beta2"}) {
        queue = convert_cluster_queue(queue, version);
        const Schema& schema = *kind.find_version(version)->schema;
        apply_defaults(schema, queue);
        CHECK(unknown_fields(schema, queue).empty());
        CHECK(validate(schema, queue).empty());
        CHECK(validate_cluster_queue(queue, nullptr).empty());
    }
    CHECK(queue["spec"]["queueingStrategy"].text() == "BestEffortFIFO");
    CHECK(queue["spec"]["flavorFungibility"]["whenCanBorrow"].text() == "MayStopSearch");
    CHECK(queue["spec"]["preemption"]["withinClusterQueue"].text() == "Never");
}

TEST_CASE("what is not obeyed yet is taken; how admissions compete cannot be changed") {
    const Value queue = queue_with(
        R"({"cohort":"team","queueingStrategy":"StrictFIFO","quotaManagement":{"a":1},
        "concurrentAdmissionPolicy":{"migration":{"mode":"TryPreferredFlavors"}}})");
    CHECK(validate_cluster_queue(queue, nullptr).empty());
    CHECK(validate_cluster_queue(queue, &queue).empty());
    const Value other = queue_with(
        R"({"concurrentAdmissionPolicy":{"migration":{"mode":"RetainFirstAdmission"}}})");
    const std::vector<FieldError> errors = validate_cluster_queue(other, &queue);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].field == "spec.concurrentAdmissionPolicy");
    CHECK(errors[0].text ==
          R"(Invalid value: {"migration":{"mode":"RetainFirstAdmission"}}: field is immutable)");
    CHECK(validate_cluster_queue(queue_with("{}"), &queue).size() == 1);
}

TEST_CASE("checks hold for flavors that the queue has, and limits go over all groups") {
    const auto queue = [](const std::string& on, const std::string& more = "") {
        return queue_with(R"({"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"a",
            "resources":[{"name":"cpu","nominalQuota":1}]}]}],"admissionChecksStrategy":{
            "admissionChecks":[{"name":"c","onFlavors":[)" +
                          on + "]}]}" + more + "}");
    };
    CHECK(validate_cluster_queue(queue(R"("a")"), nullptr).empty());
    const Value wrong = queue(R"("a","b")");
    const std::vector<FieldError> errors = validate_cluster_queue(wrong, nullptr);
    REQUIRE(errors.size() == 1);
    CHECK(errors[0].field == "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]");
    CHECK(errors[0].text == R"(Unsupported value: "b": supported values: "a")");
    const Value held = queue(R"("b","a")", R"(,"stopPolicy":"Hold")");
    CHECK(validate_cluster_queue(held, &wrong).empty());
    const Value other = queue(R"("b")");
    CHECK(validate_cluster_queue(other, &wrong).size() == 1);
    Value large = queue_with("{}");
    Value& groups = large.at("spec").at("resourceGroups");
    for (int group = 0; group < 5; ++group) {
        Value flavors = Value::array();
        for (int i = 0; i < 52; ++i)
            flavors.push(
                Value::object({{"name", "f" + std::to_string(group) + "-" + std::to_string(i)}}));
        groups.push(Value::object({{"flavors", std::move(flavors)}}));
    }
    const std::vector<FieldError> totals = validate_cluster_queue(large, nullptr);
    REQUIRE(totals.size() == 1);
    CHECK(totals[0].field == "spec.resourceGroups");
    CHECK(totals[0].text ==
          "Invalid value: 260: total number of flavors across all resourceGroups must be ≤ 256, "
          "got 260");
}

TEST_CASE("what v1beta1 cannot say of a queue is not in it") {
    Value queue = queue_with(
        R"({"concurrentAdmissionPolicy":{"migration":{"mode":"RetainFirstAdmission"}},
        "quotaManagement":{"a":1},"stopPolicy":"Hold"})");
    queue.set("apiVersion", "kueue.x-k8s.io/v1beta2");
    CHECK(convert_cluster_queue(queue, "v1beta1") == queue_with(R"({"stopPolicy":"Hold"})"));
}

TEST_CASE("a cluster's kubeconfig and profile are two ways to one source in v1beta2") {
    const auto cluster = [](const std::string& version, const std::string& spec) {
        return parsed(R"({"apiVersion":"kueue.x-k8s.io/)" + version +
                      R"(","kind":"MultiKueueCluster","spec":)" + spec + "}");
    };
    const auto both = [&](const std::string& old, const std::string& now) {
        CHECK(convert_multi_kueue_cluster(cluster("v1beta1", old), "v1beta2") ==
              cluster("v1beta2", now));
        CHECK(convert_multi_kueue_cluster(cluster("v1beta2", now), "v1beta1") ==
              cluster("v1beta1", old));
    };
    both(R"({"kubeConfig":{"location":"a","locationType":"Path"}})",
         R"({"clusterSource":{"kubeConfig":{"location":"a","locationType":"Path"}}})");
    both(R"({"kubeConfig":{"location":"","locationType":""},"clusterProfileRef":{"name":"p"}})",
         R"({"clusterSource":{"clusterProfileRef":{"name":"p"}}})");
    // Nothing that leads anywhere: the rule of v1beta2 is the server's to say.
    CHECK(convert_multi_kueue_cluster(cluster("v1beta1", R"({"kubeConfig":{"location":""}})"),
                                      "v1beta2") == cluster("v1beta2", R"({"clusterSource":{}})"));
    const Kind& kind = *find_kind("kueue.x-k8s.io", "multikueueclusters");
    for (const char* version : {"v1beta1", "v1beta2"}) {
        Value made = convert_multi_kueue_cluster(
            cluster("v1beta1", R"({"kubeConfig":{"location":"a"}})"), version);
        const Schema& schema = *kind.find_version(version)->schema;
        apply_defaults(schema, made);
        CHECK(unknown_fields(schema, made).empty());
        CHECK(validate(schema, made).empty());
        const char* source = version[6] == '1' ? "spec" : "spec.clusterSource";
        CHECK(made.path(source)["kubeConfig"]["locationType"].text() == "Secret");
    }
}

TEST_CASE("who is in no cohort neither borrows nor lends, and nobody lends more than is his own") {
    const char* groups = R"("resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"a",
        "resources":[{"name":"cpu","nominalQuota":1,"borrowingLimit":1,"lendingLimit":2}]}]}])";
    const auto faults = [&](const std::string& cohort) {
        std::vector<std::string> texts;
        for (const FieldError& error : validate_cluster_queue(
                 queue_with("{" + cohort + std::string(groups) + "}"), nullptr)) {
            texts.push_back(error.text);
        }
        return texts;
    };
    const std::string nil = "must be nil when cohort is empty";
    const std::string own = "Invalid value: 2: must be less than or equal to the nominalQuota";
    CHECK(faults("") ==
          std::vector<std::string>{"Invalid value: 1: " + nil, "Invalid value: 2: " + nil, own});
    CHECK(faults(R"("cohort":"c",)") == std::vector<std::string>{own});
}

TEST_CASE("queues may go by use, and local queues have weights that make sense") {
    CHECK(
        validate_cluster_queue(
            queue_with(R"({"admissionScope":{"admissionMode":"UsageBasedAdmissionFairSharing"}})"),
            nullptr)
            .empty());
    const auto local = [](const char* weight) {
        Value queue = Value::object({{"spec", Value::object({{"clusterQueue", "q"}})}});
        queue.at("spec").at("fairSharing").set("weight", weight);
        return validate_local_queue(queue, nullptr);
    };
    CHECK(local("2.5").empty());
    CHECK(local("0").empty());
    REQUIRE(local("-1").size() == 1);
    CHECK(local("-1")[0].field == "spec.fairSharing");
}

TEST_CASE("rules that exclude each other and odd weights are refused") {
    const std::vector<FieldError> errors =
        validate_cluster_queue(queue_with(R"({"cohort":"c","fairSharing":{"weight":"-1"},
        "preemption":{"reclaimWithinCohort":"Never","borrowWithinCohort":{"policy":"LowerPriority"}}})"),
                               nullptr);
    REQUIRE(errors.size() == 2);
    CHECK(errors[0].field == "spec.preemption");
    CHECK(errors[1].field == "spec.fairSharing");
}

TEST_CASE("a cohort names its parent alike in both versions") {
    const Value old = parsed(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Cohort",
        "spec":{"parentName":"root"}})");
    const Value now = convert_cohort(old, "v1beta2");
    CHECK(now["apiVersion"].text() == "kueue.x-k8s.io/v1beta2");
    CHECK(now["spec"]["parentName"].text() == "root");
    CHECK(convert_cohort(now, "v1beta1") == old);
    CHECK(validate_cohort(now, nullptr).empty());
    const Schema& schema = *find_kind("kueue.x-k8s.io", "cohorts")->find_version("v1beta1")->schema;
    CHECK(unknown_fields(schema, old).empty());
}

/// "FIELD: text" of each error.
std::vector<std::string> faults_of(const Value& workload, const Value* old = nullptr) {
    std::vector<std::string> faults;
    for (const FieldError& error : validate_workload(workload, old))
        faults.push_back(error.field + ": " + error.text);
    return faults;
}

using Faults = std::vector<std::string>;

TEST_CASE("one pod set may start with fewer pods, and none of a job that grows and shrinks") {
    const auto faults = [](const std::string& sets, const std::string& metadata = "{}") {
        return faults_of(
            parsed(R"({"metadata":)" + metadata + R"(,"spec":{"podSets":)" + sets + "}}"));
    };
    const char* one = R"([{"name":"a","count":3,"minCount":1},{"name":"b","count":1}])";
    const char* elastic = R"({"annotations":{"kueue.x-k8s.io/elastic-job":"true"}})";
    CHECK(faults(one).empty());
    CHECK(faults(R"([{"name":"a","count":3,"minCount":1},{"name":"b","count":2,"minCount":1}])") ==
          Faults{"spec.podSets: Invalid value: 2: at most one podSet can use minCount"});
    CHECK(faults(one, elastic) == Faults{"spec.podSets: Invalid value: 1: partial admission and "
                                         "elastic job cannot be used together"});
    CHECK(faults(R"([{"name":"a","count":3}])", elastic).empty());
    CHECK(faults(one, R"({"annotations":{"kueue.x-k8s.io/elastic-job":"false"}})").empty());
}

TEST_CASE("the resource pods is nobody's to ask for or to limit") {
    const Value workload = parsed(R"({"spec":{"podSets":[{"name":"a","template":{"spec":{
        "resources":{"limits":{"pods":1}},"initContainers":[{"resources":{"limits":{"cpu":-1}}}],
        "containers":[{"resources":{"requests":{"pods":1,"cpu":1}}}]}}}]}})");
    const std::string spec = "spec.podSets[0].template.spec.";
    const std::string reserved =
        R"(: Invalid value: "pods": the key is reserved for internal kueue use)";
    CHECK(faults_of(workload) ==
          Faults{spec + "initContainers[0].resources.limits[cpu]: Invalid value: -1: must be "
                        "greater than or equal to 0",
                 spec + "containers[0].resources.requests[pods]" + reserved,
                 spec + "resources.limits[pods]" + reserved});
}

TEST_CASE("what a pod set was given is the same for each of its pods") {
    const auto faults = [](const std::string& usage, const std::string& reserved = "True") {
        return faults_of(parsed(
            R"({"spec":{"podSets":[{"name":"main","count":3}]},"status":{"conditions":[
            {"type":"QuotaReserved","status":")" +
            reserved + R"("}],"admission":{"clusterQueue":"q","podSetAssignments":[)" + usage +
            "]}}}"));
    };
    const std::string at = "status.admission.podSetAssignments[0].";
    CHECK(faults(R"({"name":"main","count":3,"resourceUsage":{"cpu":"3m","memory":"6"}})").empty());
    CHECK(faults(R"({"name":"main","count":3,"resourceUsage":{"cpu":"1","memory":"1Ki"}})") ==
          Faults{at + R"(resourceUsage[cpu]: Invalid value: "1": is not a multiple of 3)",
                 at + R"(resourceUsage[memory]: Invalid value: "1Ki": is not a multiple of 3)"});
    CHECK(faults(R"({"name":"main","resourceUsage":{"cpu":"1"}})").empty());
    CHECK(faults(R"({"name":"main","count":0,"resourceUsage":{"cpu":"1"}})").empty());
    CHECK(faults(R"({"name":"main","count":3,"resourceUsage":{"cpu":"1"}})", "False").empty());
    CHECK(faults(R"({"name":"other"})") == Faults{at + R"(name: Not found: "other")"});
}

TEST_CASE("whoever has quota has an admission") {
    const Value reserved = parsed(R"({"spec":{"podSets":[{"name":"main"}]},"status":{
        "conditions":[{"type":"QuotaReserved","status":"True"}]}})");
    CHECK(faults_of(reserved) == Faults{"status.admission: Required value: must be set while the "
                                        "QuotaReserved condition is true"});
    CHECK(faults_of(reserved, &reserved).empty());
}

TEST_CASE("labels of pods are labels, and slices have a size") {
    const auto faults = [](const std::string& pod_set) {
        return faults_of(parsed(R"({"spec":{"podSets":[{"name":"main",)" + pod_set + "}]}}"));
    };
    CHECK(faults(R"("template":{"metadata":{"labels":{"a":"b"},"annotations":{"c":"d e"}}})")
              .empty());
    const Faults labels = faults(R"("template":{"metadata":{"labels":{"a":"b c"}}})");
    REQUIRE(labels.size() == 1);
    CHECK(labels[0].starts_with("spec.podSets[0].template.metadata.labels: Invalid value"));
    const std::string at = "spec.podSets[0].topologyRequest.";
    const std::string rack = R"("topologyRequest":{"podSetSliceRequiredTopology":"rack")";
    CHECK(faults(rack + R"(,"podSetSliceSize":2})").empty());
    CHECK(faults(rack + "}") == Faults{at + "podSetSliceSize: Required value: must be set when "
                                            "podSetSliceRequiredTopology is specified"});
    CHECK(faults(rack + R"(,"podSetSliceSize":0})") ==
          Faults{at + "podSetSliceSize: Invalid value: 0: must be greater than 0"});
    CHECK(faults(R"("topologyRequest":{"podSetSliceSize":2})") ==
          Faults{at + "podSetSliceSize: Forbidden: may not be set when "
                      "podSetSliceRequiredTopology is not specified"});
    CHECK(faults(R"("topologyRequest":{"podsetSliceRequiredTopologyConstraints":[{"size":0}]})") ==
          Faults{at + "podsetSliceRequiredTopologyConstraints[0].size: Invalid value: 0: must be "
                      "greater than 0"});
}

TEST_CASE("a workload goes to a cluster that was nominated") {
    const auto workload = [](const std::string& status, const std::string& annotations = "{}") {
        return parsed(R"({"metadata":{"annotations":)" + annotations +
                      R"(},"spec":{"podSets":[{"name":"main","count":1}]},"status":)" + status +
                      "}");
    };
    const Value nominated = workload(R"({"nominatedClusterNames":["a","b"]})");
    const Value there = workload(R"({"clusterName":"c"})");
    CHECK(faults_of(workload(R"({"clusterName":"b"})"), &nominated).empty());
    CHECK(faults_of(there, &nominated) ==
          Faults{R"(status.clusterName: Invalid value: "c": when setting clusterName it must be )"
                 "one of the nominatedClusterNames"});
    const Value nowhere = workload("{}");
    CHECK(faults_of(there, &nowhere).size() == 1);
    CHECK(faults_of(there, &there).empty());
    CHECK(faults_of(nowhere, &there).empty());
    CHECK(faults_of(workload(R"({"clusterName":"c"})",
                             R"({"kueue.x-k8s.io/workload-slice-replacement-for":"ns/w"})"),
                    &nowhere)
              .empty());
}

TEST_CASE("pods that are done stay done, except of what an elastic job gave up") {
    const auto workload = [](const std::string& done, int count, const std::string& elastic) {
        return parsed(R"({"metadata":{"annotations":{"kueue.x-k8s.io/elastic-job":")" + elastic +
                      R"("}},"spec":{"podSets":[{"name":"main","count":)" + std::to_string(count) +
                      R"(}]},"status":{"conditions":[{"type":"QuotaReserved","status":"True"}],
            "admission":{"podSetAssignments":[{"name":"main","count":3}]},"reclaimablePods":)" +
                      done + "}}");
    };
    const char* two = R"([{"name":"main","count":2}])";
    const char* one = R"([{"name":"main","count":1}])";
    const Value before = workload(two, 3, "false");
    CHECK(faults_of(workload(one, 3, "false"), &before) ==
          Faults{"status.reclaimablePods[main].count: Invalid value: 1: cannot be less than 2"});
    CHECK(faults_of(workload("[]", 3, "false"), &before) ==
          Faults{"status.reclaimablePods[main]: Required value: cannot be removed"});
    const Value elastic = workload(two, 2, "true");
    CHECK(faults_of(workload(one, 2, "true"), &elastic).empty());
    // What the job had told before it shrank stands until it is lowered; more is never told.
    const Value shrinks = workload(two, 3, "true");
    CHECK(faults_of(workload(two, 1, "true"), &shrinks).empty());
    CHECK(faults_of(workload("[]", 1, "true"), &shrinks).empty());
    CHECK(
        faults_of(workload(R"([{"name":"main","count":3}])", 1, "true"), &shrinks) ==
        Faults{
            "status.reclaimablePods[main].count: Invalid value: 3: should be less or equal to 1"});
    CHECK_FALSE(faults_of(workload(two, 1, "false"), &shrinks).empty());
    CHECK(faults_of(workload(R"([{"name":"x","count":1}])", 2, "true")) ==
          Faults{"status.reclaimablePods[x].name: Unsupported value: \"x\": supported values: "
                 "\"main\""});
}

TEST_CASE("quotas must match the covered resources, and each name stands once") {
    const Value queue = queue_with(R"({"resourceGroups":[
        {"coveredResources":["cpu","memory"],"flavors":[
          {"name":"a","resources":[{"name":"memory","nominalQuota":1},{"name":"cpu","nominalQuota":-1}]},
          {"name":"b","resources":[{"name":"cpu","nominalQuota":1},{"name":"pods","nominalQuota":1}]}]},
        {"coveredResources":["cpu"],"flavors":[{"name":"a","resources":[{"name":"cpu","nominalQuota":1}]}]}
        ]})");
    std::vector<std::string> fields;
    for (const FieldError& error : validate_cluster_queue(queue, nullptr)) {
        fields.push_back(error.field);
    }
    const std::vector<std::string> expected = {
        "spec.resourceGroups[0].flavors[0].resources[0].name",
        "spec.resourceGroups[0].flavors[0].resources[1].name",
        "spec.resourceGroups[0].flavors[0].resources[1].nominalQuota",
        "spec.resourceGroups[0].flavors[1].resources[1].name",
        "spec.resourceGroups[1].coveredResources[0]",
        "spec.resourceGroups[1].flavors[0].name"};
    CHECK(fields == expected);
}

/// A Workload that holds quota, with `status` beside.
Value holding(const std::string& pod_sets, const std::string& status) {
    return parsed(R"({"spec":{"podSets":)" + pod_sets + R"(},"status":{"conditions":[{)" +
                  R"("type":"QuotaReserved","status":"True"}])" + status + "}}");
}

TEST_CASE("pod sets are fixed while quota is reserved, but for pods that are given up") {
    const std::string admission = R"(,"admission":{"podSetAssignments":[{"name":"main"}]})";
    const auto with = [&](const std::string& sets) { return holding(sets, admission); };
    const Value reserved = with(R"([{"name":"main","count":2}])");
    CHECK(faults_of(reserved, &reserved) == Faults{});
    CHECK(faults_of(with(R"([{"name":"main","count":1}])"), &reserved) == Faults{});
    CHECK(
        faults_of(with(R"([{"name":"main","count":3}])"), &reserved) ==
        Faults{R"(spec.podSets.0: Invalid value: {"count":3,"name":"main"}: field is immutable)"});
    CHECK(faults_of(with(R"([{"name":"main","count":2},{"name":"b","count":1}])"), &reserved)[0]
              .starts_with("spec.podSets: Invalid value: [{"));
    const Value waiting = parsed(R"({"spec":{"podSets":[{"name":"main","count":2}]}})");
    CHECK(faults_of(with(R"([{"name":"main","count":3}])"), &waiting) == Faults{});
}

TEST_CASE("an admission is fixed once it is there, but for the places of its pods") {
    const std::string sets = R"([{"name":"main","count":2}])";
    const auto with = [&](const std::string& queue, const std::string& more = "") {
        return holding(sets, R"(,"admission":{"clusterQueue":")" + queue +
                                 R"(","podSetAssignments":[{"name":"main")" + more + "}]}");
    };
    const Value admitted = with("a");
    CHECK(faults_of(admitted, &admitted) == Faults{});
    CHECK(faults_of(with("a", R"(,"topologyAssignment":{"levels":["h"]})"), &admitted) == Faults{});
    CHECK(faults_of(with("a", R"(,"delayedTopologyRequest":"Pending")"), &admitted) == Faults{});
    const Faults moved = faults_of(with("b"), &admitted);
    REQUIRE(moved.size() == 1);
    CHECK(moved[0].starts_with("status.admission: Invalid value: {\"clusterQueue\":\"b\""));
    CHECK(moved[0].ends_with(": field is immutable"));
    CHECK(faults_of(with("a", R"(,"count":1)"), &admitted).size() == 1);
    const Value waiting = parsed(R"({"spec":{"podSets":)" + sets + "}}");
    CHECK(faults_of(with("b"), &waiting) == Faults{});
    CHECK(faults_of(waiting, &admitted) == Faults{});
}

TEST_CASE("what a check wants of the pods is fixed once the check is ready") {
    const auto checked = [](const std::string& state, const std::string& node) {
        return parsed(R"({"spec":{"podSets":[{"name":"main"}]},"status":{"admissionChecks":[{)"
                      R"("name":"first","state":"Ready"},{"name":"k","state":")" +
                      state + R"(","podSetUpdates":[{"name":"main","nodeSelector":{"n":")" + node +
                      R"("}}]}]}})");
    };
    const Value ready = checked("Ready", "a");
    CHECK(faults_of(ready, &ready) == Faults{});
    CHECK(faults_of(checked("Ready", "b"), &ready) ==
          Faults{R"(status.admissionChecks[1].podSetUpdates: Invalid value: [{"name":"main",)"
                 R"("nodeSelector":{"n":"b"}}]: field is immutable)"});
    CHECK(faults_of(checked("Retry", "b"), &ready) == Faults{});
    const Value pending = checked("Pending", "a");
    CHECK(faults_of(checked("Ready", "b"), &pending) == Faults{});
}

TEST_CASE("who keeps a workload out of its queue is said when it is made") {
    const auto gated = [](const std::string& gates) {
        return parsed(R"({"metadata":{"annotations":{"kueue.x-k8s.io/admission-gated-by":")" +
                      gates + R"("}},"spec":{"podSets":[{"name":"main"}]}})");
    };
    const std::string at = "metadata.annotations[kueue.x-k8s.io/admission-gated-by]: ";
    const Value both = gated("a.io/x,a.io/y");
    CHECK(faults_of(both) == Faults{});
    CHECK(faults_of(gated("a.io/y"), &both) == Faults{});
    CHECK(faults_of(gated("a.io/z"), &both) ==
          Faults{at + "Forbidden: can only remove gates, not add new ones"});
    const Value none = gated("");
    CHECK(faults_of(both, &none) ==
          Faults{at + "Forbidden: cannot add admission gate after creation"});
    CHECK(faults_of(gated("a.io/" + std::string(60, 'x'))) ==
          Faults{at + "Too long: may not be more than 63 bytes"});
}

}  // namespace
}  // namespace muster::api
