// control/webhooks/configuration_test.cpp - what the cluster is told of the webhooks.
#include "control/webhooks/configuration.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "api/crd.h"
#include "api/parsed_yaml.h"
#include "api/patch.h"
#include "control/queue/names.h"

namespace muster::control::webhooks {
namespace {

using api::Value;

Value configured(Phase phase, const queue::JobRules& rules = {}, const Address& address = {},
                 const std::string& authorities = "pem") {
    return configuration(phase, webhooks_for(rules), rules, address, authorities);
}

Value webhook(const Value& configuration, const std::string& name) {
    for (const Value& each : configuration["webhooks"].items()) {
        if (each["name"].text_or("") == name) return each;
    }
    return {};
}

std::set<std::string> names(const Value& configuration) {
    std::set<std::string> found;
    for (const Value& each : configuration["webhooks"].items())
        CHECK(found.insert(each["name"].text()).second);
    return found;
}

TEST_CASE("the webhooks have the originals' names, paths and rules") {
    CHECK(names(configured(Phase::mutating)) == std::set<std::string>{"mappwrapper.kb.io",
                                                                      "mclusterqueue.kb.io",
                                                                      "mdeployment.kb.io",
                                                                      "mjaxjob.kb.io",
                                                                      "mjob.kb.io",
                                                                      "mjobset.kb.io",
                                                                      "mleaderworkerset.kb.io",
                                                                      "mleaderworkersetpod.kb.io",
                                                                      "mmpijob.kb.io",
                                                                      "mpaddlejob.kb.io",
                                                                      "mpod.kb.io",
                                                                      "mpytorchjob.kb.io",
                                                                      "mraycluster.kb.io",
                                                                      "mrayjob.kb.io",
                                                                      "mresourceflavor.kb.io",
                                                                      "msparkapplication.kb.io",
                                                                      "mstatefulset.kb.io",
                                                                      "mtfjob.kb.io",
                                                                      "mtrainjob.kb.io",
                                                                      "mworkload.kb.io",
                                                                      "mxgboostjob.kb.io"});
    CHECK(names(configured(Phase::validating)) ==
          std::set<std::string>{
              "vappwrapper.kb.io",     "vclusterqueue.kb.io",     "vcohort.kb.io",
              "vdeployment.kb.io",     "vjaxjob.kb.io",           "vjob.kb.io",
              "vjobset.kb.io",         "vlocalqueue.kb.io",       "vleaderworkerset.kb.io",
              "vmpijob.kb.io",         "vpaddlejob.kb.io",        "vpod.kb.io",
              "vpytorchjob.kb.io",     "vraycluster.kb.io",       "vrayjob.kb.io",
              "vresourceflavor.kb.io", "vsparkapplication.kb.io", "vstatefulset.kb.io",
              "vtfjob.kb.io",          "vtrainjob.kb.io",         "vworkload.kb.io",
              "vxgboostjob.kb.io"});
    CHECK(webhook(configured(Phase::validating), "vworkload.kb.io") == api::parsed_yaml(R"(
name: vworkload.kb.io
clientConfig:
  service: {namespace: muster-system, name: muster-webhook-service, port: 443,
            path: /validate-kueue-x-k8s-io-v1beta2-workload}
  caBundle: cGVt
rules:
- {apiGroups: [kueue.x-k8s.io], apiVersions: [v1beta2], operations: [CREATE, UPDATE],
   resources: [workloads, workloads/status], scope: '*'}
failurePolicy: Fail
matchPolicy: Equivalent
namespaceSelector: {}
objectSelector: {}
sideEffects: None
timeoutSeconds: 10
admissionReviewVersions: [v1]
)"));
    const Value pod = webhook(configured(Phase::mutating), "mpod.kb.io");
    CHECK(pod["clientConfig"]["service"]["path"].text_or("") == "/mutate--v1-pod");
    CHECK(pod["reinvocationPolicy"].text_or("") == "Never");
    CHECK(webhook(configured(Phase::validating), "vappwrapper.kb.io")["rules"].size() == 2);
}

TEST_CASE("jobs are asked about where they are queued, and never in Muster's own namespace") {
    Address address;
    address.service_namespace = "queues";
    const Value selector =
        webhook(configured(Phase::mutating, {}, address), "mjob.kb.io")["namespaceSelector"];
    CHECK(selector == api::parsed_yaml(R"(
matchExpressions:
- {key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kueue-system]}
- {key: kubernetes.io/metadata.name, operator: NotIn, values: [queues]}
)"));
}

TEST_CASE("of what serves only what names a queue is asked about, unless the settings name it") {
    const Value exists = api::parsed_yaml(
        "{matchExpressions: [{key: kueue.x-k8s.io/queue-name, operator: Exists}]}");
    for (const char* name : {"mpod.kb.io", "mdeployment.kb.io", "mstatefulset.kb.io"})
        CHECK(webhook(configured(Phase::mutating), name)["objectSelector"] == exists);
    CHECK(webhook(configured(Phase::mutating), "mjob.kb.io")["objectSelector"] == Value::object());
    const Value grouped = webhook(configured(Phase::mutating), "mleaderworkersetpod.kb.io");
    CHECK(grouped["objectSelector"] == api::parsed_yaml("{matchExpressions: [{key: "
                                                        "leaderworkerset.sigs.k8s.io/name, "
                                                        "operator: Exists}]}"));
    CHECK(grouped["clientConfig"]["service"]["path"].text_or("") == "/mutate--v1-pod");
    queue::JobRules rules;
    rules.frameworks = {{"pod", "batch/job"}};
    const Value named = configured(Phase::mutating, rules);
    CHECK(names(named) == std::set<std::string>{"mclusterqueue.kb.io", "mjob.kb.io", "mpod.kb.io",
                                                "mresourceflavor.kb.io", "mworkload.kb.io"});
    CHECK(webhook(named, "mpod.kb.io")["objectSelector"] == Value::object());
}

TEST_CASE("outside of a cluster the webhooks have a URL") {
    Address address;
    address.url = "https://127.0.0.1:9443";
    const Value client =
        webhook(configured(Phase::validating, {}, address), "vjob.kb.io")["clientConfig"];
    CHECK(client == api::parsed_yaml(
                        "{url: 'https://127.0.0.1:9443/validate-batch-v1-job', caBundle: cGVt}"));
}

TEST_CASE("of a configuration only the webhooks are corrected") {
    const Value wanted = configured(Phase::mutating);
    Value present = wanted;
    present.at("metadata").set("labels", api::parsed_yaml("{app: ours}"));
    CHECK(!corrected(present, wanted));
    present.at("webhooks").mutable_items().pop_back();
    const auto made = corrected(present, wanted);
    REQUIRE(made);
    CHECK((*made)["webhooks"] == wanted["webhooks"]);
    CHECK((*made)["metadata"]["labels"]["app"].text_or("") == "ours");
}

TEST_CASE("a configuration goes with its owner, the others' owners stay") {
    const Value wanted = owned(configured(Phase::mutating), "muster-operator", "u1");
    Value present = configured(Phase::mutating);
    present.at("metadata")
        .set("ownerReferences", api::parsed_yaml("[{kind: Namespace, name: theirs, uid: u0}, "
                                                 "{kind: ClusterRole, name: muster-operator, "
                                                 "uid: of-before}]"));
    const auto made = corrected(present, wanted);
    REQUIRE(made);
    const auto& owners = (*made)["metadata"]["ownerReferences"].items();
    REQUIRE(owners.size() == 2);
    CHECK(owners[0]["uid"].text_or("") == "u1");
    CHECK(owners[1]["name"].text_or("") == "theirs");
    CHECK(!corrected(*made, wanted));
    CHECK(!corrected(*made, configured(Phase::mutating)));
}

Value crd(const Address& address) {
    api::Conversion conversion;
    conversion.service_namespace = address.service_namespace;
    conversion.service_name = address.service_name;
    Value made = api::crd_of(*api::find_kind("kueue.x-k8s.io", "cohorts"), conversion);
    made.at("metadata").set("resourceVersion", "7");
    return made;
}

Value patched(const Value& crd, const Value& patch) {
    auto result = api::merge_patch(crd, patch);
    REQUIRE(std::holds_alternative<Value>(result));
    return std::get<Value>(result);
}

TEST_CASE("a CRD hears whom to believe, once") {
    const auto plan = plan_conversion(crd({}), {}, "pem");
    REQUIRE(plan.patch);
    CHECK((*plan.patch)["metadata"]["resourceVersion"].text_or("") == "7");
    const Value after = patched(crd({}), *plan.patch);
    CHECK(after.path("spec.conversion.webhook.clientConfig.caBundle").text_or("") == "cGVt");
    CHECK(!plan_conversion(after, {}, "pem").patch);
    CHECK(plan_conversion(after, {}, "another").patch);
}

TEST_CASE("a CRD changes from service to URL and back") {
    Address outside;
    outside.url = "https://127.0.0.1:9443";
    const Value there = patched(crd({}), *plan_conversion(crd({}), outside, "pem").patch);
    CHECK(there.path("spec.conversion.webhook.clientConfig") ==
          api::parsed_yaml("{url: 'https://127.0.0.1:9443/convert', caBundle: cGVt}"));
    const Value back = patched(there, *plan_conversion(there, {}, "pem").patch);
    CHECK(back.path("spec.conversion.webhook.clientConfig.url").is_null());
    CHECK(!plan_conversion(back, {}, "pem").patch);
}

TEST_CASE("a CRD that names another service is left to it") {
    Address kueue;
    kueue.service_namespace = "kueue-system";
    kueue.service_name = "kueue-webhook-service";
    const auto plan = plan_conversion(crd(kueue), {}, "pem");
    CHECK(plan.kept == ConversionPlan::Kept::somebody_elses);
    CHECK(plan.asked == "kueue-system/kueue-webhook-service");
    CHECK(!plan.patch);
    CHECK(plan_conversion(crd(kueue), kueue, "pem").patch);
}

TEST_CASE("a CRD without conversion gets one") {
    Value plain = crd({});
    plain.at("spec").set("conversion", api::parsed_yaml("{strategy: None}"));
    CHECK(patched(plain, *plan_conversion(plain, {}, "pem").patch)
              .path("spec.conversion.strategy")
              .text_or("") == "Webhook");
}

TEST_CASE("the kinds with two forms are those of Kueue") {
    std::set<std::string> plurals;
    for (const api::GroupResource& resource : converted_kinds())
        plurals.insert(resource.plural);
    CHECK(plurals == std::set<std::string>{"clusterqueues", "cohorts", "localqueues",
                                           "multikueueclusters", "workloads"});
}

}  // namespace
}  // namespace muster::control::webhooks
