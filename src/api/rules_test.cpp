// api/rules_test.cpp - the CEL rules of the tables: all can be parsed, and each is asked where it
// stands, in the API server's words.
#include "api/rules.h"

#include <string>

#include <doctest/doctest.h>

#include "api/cel.h"
#include "api/definition.h"
#include "api/kind.h"
#include "api/parsed_text.h"

namespace muster::api {
namespace {

const Schema& schema_of_kind(std::string_view group, std::string_view plural,
                             std::string_view version) {
    return *find_kind(group, plural)->find_version(version)->schema;
}

/// "field: text" of each, one a line.
std::string refused(std::string_view plural, std::string_view now, std::string_view before = "",
                    std::string_view group = "kueue.x-k8s.io",
                    std::string_view version = "v1beta2") {
    const Value object = parsed(now);
    const Value old = before.empty() ? Value() : parsed(before);
    std::string all;
    for (const FieldError& error : broken_rules(schema_of_kind(group, plural, version), object,
                                                before.empty() ? nullptr : &old))
        all += error.field + ": " + error.text + "\n";
    return all;
}

TEST_CASE("every rule of the tables can be parsed") {
    int count = 0;
    for (const std::string_view name : all_definitions()) {
        for (const Rule& rule : rules_of(*schema_of(name))) {
            CAPTURE(rule.expression);
            CHECK(CelRule(rule.expression).error() == "");
            CHECK_FALSE(rule.message.empty());
            ++count;
        }
    }
    CHECK(count > 50);
}

TEST_CASE("a rule is asked of the value where it stands, and names it") {
    CHECK(refused("localqueues", R"({"spec":{"clusterQueue":"b"}})",
                  R"({"spec":{"clusterQueue":"a"}})") ==
          "spec.clusterQueue: Invalid value: \"b\": field is immutable\n");
    CHECK(refused("localqueues", R"({"spec":{"clusterQueue":"b"}})", R"({"spec":{}})").empty());
    CHECK(refused("topologies", R"({"spec":{"levels":[{"nodeLabel":"a"},{"nodeLabel":"a"}]}})") ==
          "spec.levels: Invalid value: must be unique\n");
    CHECK(refused("topologies", R"({"spec":{"levels":[{"nodeLabel":"kubernetes.io/hostname"},
        {"nodeLabel":"a"}]}})") ==
          "spec.levels: Invalid value: the kubernetes.io/hostname label can only be used at the "
          "lowest level of topology\n");
    CHECK(refused("workloads", R"({"spec":{"podSets":[{"name":"a","count":2,"minCount":3}]}})") ==
          "spec.podSets[0]: Invalid value: minCount should be positive and less or equal to "
          "count\n");
    CHECK(refused("workloads", R"({"spec":{"priorityClassRef":{"group":"kueue.x-k8s.io",
        "kind":"PriorityClass","name":"a"}}})") ==
          "spec: Invalid value: priority should not be nil when priorityClassRef is set\n"
          "spec.priorityClassRef: Invalid value: only the WorkloadPriorityClass kind is allowed "
          "for the kueue.x-k8s.io group\n");
}

TEST_CASE("a rule about the whole object names no field") {
    const std::string reserved =
        R"(,"status":{"conditions":[{"type":"QuotaReserved","status":"True"}]}})";
    CHECK(refused("workloads", R"({"spec":{"podSets":[],"queueName":"b"})" + reserved,
                  R"({"spec":{"podSets":[],"queueName":"a"})" + reserved) ==
          "<nil>: Invalid value: queueName is immutable while workload quota reserved\n");
}

TEST_CASE("a rule that cannot be said refuses, and says why") {
    CHECK(refused("resourceflavors", R"({"spec":{"topologyName":"a"}})") ==
          "spec: Invalid value: \"object\": no such key: nodeLabels evaluating rule: at least one "
          "nodeLabel is required when topology is set\n");
    CHECK(refused("resourceflavors",
                  R"({"spec":{"tolerations":[{"key":"a","tolerationSeconds":5}]}})") ==
          "spec.tolerations: Invalid value: \"array\": no such key: effect evaluating rule: effect "
          "must be 'NoExecute' when 'tolerationSeconds' is set\n");
}

TEST_CASE("what a RayJob does at its end is told in one of two ways") {
    const auto job = [](std::string_view strategy) {
        return refused("rayjobs", R"({"spec":{"deletionStrategy":)" + std::string(strategy) + "}}",
                       "", "ray.io", "v1");
    };
    CHECK(job(R"({"onSuccess":{"policy":"DeleteSelf"}})") ==
          "spec.deletionStrategy: Invalid value: deletionStrategy requires either BOTH onSuccess "
          "and onFailure, OR the deletionRules field (cannot be empty)\n");
    CHECK(job(R"({"deletionRules":[{"policy":"DeleteSelf","condition":{}}]})") ==
          "spec.deletionStrategy.deletionRules[0].condition: Invalid value: the deletion condition "
          "requires either the JobStatus or the JobDeploymentStatus field.\n");
    CHECK(job(R"({"onSuccess":{},"onFailure":{}})").empty());
}

}  // namespace
}  // namespace muster::api
