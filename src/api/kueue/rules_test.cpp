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

TEST_CASE("what is not obeyed yet is refused in words, its default is not") {
    const Value queue = queue_with(
        R"({"cohort":"team","preemption":{"withinClusterQueue":"LowerPriority"},
        "quotaManagement":{"a":1},"concurrentAdmissionPolicy":{"b":2}})");
    const std::vector<FieldError> errors = validate_cluster_queue(queue, nullptr);
    REQUIRE(errors.size() == 2);
    CHECK(errors[0].field == "spec.concurrentAdmissionPolicy");
    CHECK(errors[0].text ==
          "Forbidden: concurrent admission is not supported yet by this version of Muster");
    CHECK(errors[1].field == "spec.quotaManagement");
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
    CHECK(local("-1")[0].field == "spec.fairSharing.weight");
}

TEST_CASE("rules that exclude each other and odd weights are refused") {
    const std::vector<FieldError> errors =
        validate_cluster_queue(queue_with(R"({"cohort":"c","fairSharing":{"weight":"-1"},
        "preemption":{"reclaimWithinCohort":"Never","borrowWithinCohort":{"policy":"LowerPriority"}}})"),
                               nullptr);
    REQUIRE(errors.size() == 2);
    CHECK(errors[0].field == "spec.preemption");
    CHECK(errors[1].field == "spec.fairSharing.weight");
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

TEST_CASE("one pod set may start with fewer pods") {
    const auto faults = [](const std::string& sets) {
        return validate_workload(parsed(R"({"spec":{"podSets":)" + sets + "}}"), nullptr).size();
    };
    CHECK(faults(R"([{"name":"a","count":3,"minCount":1}])") == 0);
    CHECK(faults(R"([{"name":"a","count":3,"minCount":1},{"name":"b","count":2,"minCount":1}])") ==
          1);
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

TEST_CASE("pod sets are fixed while quota is reserved") {
    const Value reserved = parsed(R"({"spec":{"podSets":[{"name":"main","count":1}]},"status":{
        "conditions":[{"type":"QuotaReserved","status":"True"}]}})");
    Value changed = reserved;
    changed.at("spec").at("podSets").mutable_items()[0].set("count", 2);
    CHECK(validate_workload(reserved, &reserved).empty());
    CHECK(validate_workload(changed, &reserved).size() == 1);
}

}  // namespace
}  // namespace muster::api
