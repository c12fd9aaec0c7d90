// control/webhooks/conversion_test.cpp - ConversionReviews: there and back, and what cannot be.
#include "control/webhooks/conversion.h"

#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "api/json.h"
#include "api/parsed_yaml.h"

namespace muster::control::webhooks {
namespace {

using api::Value;

Value ask(const Value& objects, const std::string& version) {
    const Value review = Value::object(
        {{"apiVersion", "apiextensions.k8s.io/v1"},
         {"kind", "ConversionReview"},
         {"request",
          Value::object({{"uid", "u-1"}, {"desiredAPIVersion", version}, {"objects", objects}})}});
    const Converted converted = convert(api::to_json(review));
    CHECK(converted.status == 200);
    CHECK(converted.body["response"]["uid"].text_or("") == "u-1");
    return converted.body["response"];
}

/// The objects in the other version and back again.
Value there_and_back(const Value& object, const std::string& there) {
    const Value first = ask(Value::array({object}), there);
    CHECK(first["result"]["status"].text_or("") == "Success");
    CHECK(first["convertedObjects"][0]["apiVersion"].text_or("") == there);
    const Value second = ask(first["convertedObjects"], object["apiVersion"].text());
    CHECK(second["result"]["status"].text_or("") == "Success");
    return second["convertedObjects"][0];
}

TEST_CASE("what is converted there and back is what it was") {
    for (
        const char* text :
        {"{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: q}, spec: "
         "{cohort: c, flavorFungibility: {whenCanBorrow: TryNextFlavor}, queueingStrategy: "
         "StrictFIFO}}",
         "{apiVersion: kueue.x-k8s.io/v1beta1, kind: LocalQueue, metadata: {name: q, namespace: "
         "n}, spec: {clusterQueue: q}, status: {flavorUsage: [{name: f, resources: [{name: cpu, "
         "total: 1}]}]}}",
         "{apiVersion: kueue.x-k8s.io/v1beta1, kind: MultiKueueCluster, metadata: {name: w}, spec: "
         "{kubeConfig: {location: w, locationType: Secret}}, status: {conditions: []}}",
         "{apiVersion: kueue.x-k8s.io/v1beta1, kind: MultiKueueCluster, metadata: {name: w}, spec: "
         "{kubeConfig: {location: '', locationType: ''}, clusterProfileRef: {name: p}}}",
         "{apiVersion: kueue.x-k8s.io/v1beta1, kind: Cohort, metadata: {name: c}, spec: "
         "{parentName: p}}",
         "{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, metadata: {name: w, namespace: "
         "n}, spec: {queueName: q, priorityClassName: high, priorityClassSource: "
         "kueue.x-k8s.io/workloadpriorityclass}, status: {admission: {clusterQueue: q, "
         "podSetAssignments: [{name: main, topologyAssignment: {levels: "
         "[kubernetes.io/hostname], domains: [{count: 2, values: [node-1]}, {count: 1, values: "
         "[node-2]}]}}]}}}"}) {
        const Value object = api::parsed_yaml(text);
        CHECK(there_and_back(object, "kueue.x-k8s.io/v1beta2") == object);
    }
}

TEST_CASE("what a queue does when it may borrow survives its admission checks") {
    const Value queue = api::parsed_yaml(
        "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: q}, spec: "
        "{admissionChecks: [a], cohort: c, flavorFungibility: {whenCanBorrow: Borrow, "
        "whenCanPreempt: Preempt}}}");
    const Value response = ask(Value::array({queue}), "kueue.x-k8s.io/v1beta2");
    CHECK(response["convertedObjects"][0]["spec"] ==
          api::parsed_yaml("{cohortName: c, flavorFungibility: {whenCanBorrow: MayStopSearch, "
                           "whenCanPreempt: MayStopSearch}, admissionChecksStrategy: "
                           "{admissionChecks: [{name: a}]}}"));
}

TEST_CASE("places are compressed in v1beta2") {
    const Value workload = api::parsed_yaml(
        "{apiVersion: kueue.x-k8s.io/v1beta1, kind: Workload, metadata: {name: w}, status: "
        "{admission: {podSetAssignments: [{topologyAssignment: {levels: [host], domains: [{count: "
        "2, values: [node-1]}, {count: 2, values: [node-2]}]}}]}}}");
    const Value response = ask(Value::array({workload}), "kueue.x-k8s.io/v1beta2");
    const Value& places = response["convertedObjects"][0]["status"]["admission"]
                                  ["podSetAssignments"][0]["topologyAssignment"];
    CHECK(places["domains"].is_null());
    CHECK(places["slices"][0]["domainCount"].integer_or(0) == 2);
}

TEST_CASE("objects already in the wanted version, and kinds with one form, pass") {
    const Value flavor = api::parsed_yaml(
        "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ResourceFlavor, metadata: {name: f}}");
    CHECK(there_and_back(flavor, "kueue.x-k8s.io/v1beta2") == flavor);
    CHECK(there_and_back(flavor, "kueue.x-k8s.io/v1beta1") == flavor);
    CHECK(ask(Value::array(), "kueue.x-k8s.io/v1beta1")["result"]["status"].text_or("") ==
          "Success");
}

TEST_CASE("what cannot be converted is named, and nothing else is answered") {
    const auto told = [](const std::string& object, const std::string& version) {
        const Value good = api::parsed_yaml(
            "{apiVersion: kueue.x-k8s.io/v1beta1, kind: Cohort, metadata: {name: c}}");
        const Value response = ask(Value::array({good, api::parsed_yaml(object)}), version);
        CHECK(response["convertedObjects"].empty());
        CHECK(response["result"]["status"].text_or("") == "Failure");
        return response["result"]["message"].text();
    };
    CHECK(told("{apiVersion: kueue.x-k8s.io/v9, kind: Cohort, metadata: {name: x}}",
               "kueue.x-k8s.io/v1beta2") == "x: a Cohort has no version \"v9\"");
    CHECK(told("{apiVersion: kueue.x-k8s.io/v1beta1, kind: Cohort, metadata: {name: x}}",
               "ray.io/v1") ==
          "c: an object of \"kueue.x-k8s.io\" cannot become one of \"ray.io\"");
    CHECK(told("{apiVersion: v1, kind: Pod, metadata: {name: x}}", "kueue.x-k8s.io/v1beta2") ==
          "x: objects of kind \"Pod\" of \"\" are unknown");
    CHECK(told("7", "kueue.x-k8s.io/v1beta2") == ": objects of kind \"\" of \"\" are unknown");
}

TEST_CASE("what is no ConversionReview is told so") {
    for (const std::string& text :
         {std::string(), std::string("[1]"), std::string(R"({"kind":"ConversionReview"})"),
          std::string(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"})")}) {
        CHECK(convert(text).status == 400);
    }
}

}  // namespace
}  // namespace muster::control::webhooks
