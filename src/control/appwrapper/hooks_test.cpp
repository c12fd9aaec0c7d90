// control/appwrapper/hooks_test.cpp - what an AppWrapper must be to come in, and what may not
// change.
#include "control/appwrapper/hooks.h"

#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "api/json.h"
#include "api/kind.h"
#include "control/appwrapper/demand.h"

namespace muster::control::appwrapper {
namespace {

using api::AdmissionRequest;
using api::Value;

Value json(const std::string& text) {
    auto parsed = api::parse_json(text);
    REQUIRE(std::holds_alternative<api::Parsed>(parsed));
    return std::get<api::Parsed>(parsed).value;
}

AdmissionRequest create(const std::string& wrapped, const std::string& item_more = "") {
    AdmissionRequest request;
    request.kind = api::find_kind(codeflare.group, codeflare.plural);
    request.user = "ann";
    request.object = json(R"({"metadata":{"name":"aw","namespace":"team"},"spec":{"resources":{
      "GenericItems":[{)" +
                          item_more + R"("generictemplate":)" + wrapped + "}]}}}");
    return request;
}

std::string denial(const api::Admission& admission) {
    return admission.denied ? admission.denied->text : std::string();
}

TEST_CASE("a wrapped object must be of a kind that is served") {
    const auto told = denial(check_templates(
        create(R"({"apiVersion":"kubeflow.org/v1","kind":"NoJob","metadata":{"name":"a"}})")));
    CHECK(told.find("no matches for kind \"NoJob\" in version \"kubeflow.org/v1\"") !=
          std::string::npos);
    CHECK(told.find("spec.resources.GenericItems[0].generictemplate") != std::string::npos);
    AdmissionRequest guest = create(R"({"apiVersion":"kubeflow.org/v1","kind":"PyTorchJob",)"
                                    R"("metadata":{"name":"a"},"spec":{}})");
    guest.find = [](const api::Key&) { return Value(); };
    CHECK(denial(check_templates(guest)).find("no matches for kind") != std::string::npos);
    guest.find = [](const api::Key& key) {
        return key.name == "pytorchjobs.kubeflow.org" ? Value::object() : Value();
    };
    CHECK(denial(check_templates(guest)) == "");
}

TEST_CASE("a wrapped object is checked as if it were created by itself") {
    const auto told = denial(check_templates(create(
        R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"parallelism":"x"}})")));
    CHECK(told.find("generictemplate.spec.parallelism") != std::string::npos);
}

TEST_CASE("a wrapped object must lie in the wrapper's namespace, be namespaced and no wrapper") {
    CHECK(
        denial(
            check_templates(create(
                R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"other"}})")))
            .find("must be the namespace of the AppWrapper, \"team\"") != std::string::npos);
    CHECK(denial(check_templates(
                     create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}})")))
              .find("belongs to no namespace") != std::string::npos);
    CHECK(
        denial(
            check_templates(create(
                R"({"apiVersion":"mcad.ibm.com/v1beta1","kind":"AppWrapper","metadata":{"name":"a"}})")))
            .find("must not wrap an AppWrapper") != std::string::npos);
    CHECK(denial(check_templates(
                     create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})")))
              .empty());
}

TEST_CASE("rights are not to be had by wrapping them, not even by one who may do everything") {
    const std::string binding =
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":)"
        R"({"name":"a"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole",)"
        R"("name":"cluster-admin"}})";
    const std::string role =
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"a"},)"
        R"("rules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}]})";
    for (const std::string& wrapped : {binding, role}) {
        AdmissionRequest request = create(wrapped);
        CHECK(denial(check_templates(request)).find("must not wrap roles or bindings") !=
              std::string::npos);
        request.operation = AdmissionRequest::Operation::update;
        request.old =
            create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})").object;
        CHECK(denial(check_templates(request)).find("must not wrap roles or bindings") !=
              std::string::npos);
        // One that was taken by an earlier version is not dispatched.
        const auto problem = items_of(request.object).problem;
        REQUIRE(problem);
        CHECK(problem->message.find("must not wrap roles or bindings") != std::string::npos);
    }
}

TEST_CASE("whoever changes what is wrapped needs the right to create it") {
    AdmissionRequest request =
        create(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}})");
    request.operation = AdmissionRequest::Operation::update;
    request.old =
        create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})").object;
    request.allowed = [](std::string_view, const api::GroupResource& resource, std::string_view) {
        return resource.plural != "secrets";
    };
    CHECK(denial(check_rights(request)).find("cannot create resource \"secrets\"") !=
          std::string::npos);
    request.object = request.old;
    CHECK(denial(check_rights(request)).empty());
}

TEST_CASE("whoever creates a wrapper needs the right to create what it wraps") {
    AdmissionRequest request =
        create(R"({"apiVersion":"ray.io/v1","kind":"RayCluster","metadata":{"name":"a"}})");
    request.allowed = [](std::string_view verb, const api::GroupResource& resource,
                         std::string_view ns) {
        return !(verb == "create" && resource.plural == "rayclusters" && ns == "team");
    };
    CHECK(
        denial(check_rights(request))
            .find("user \"ann\" cannot create resource \"rayclusters\" in API group \"ray.io\"") !=
        std::string::npos);
    request.allowed = [](std::string_view, const api::GroupResource&, std::string_view) {
        return true;
    };
    CHECK(denial(check_rights(request)).empty());
}

TEST_CASE("what is wrapped may change until it is dispatched") {
    AdmissionRequest request =
        create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}})");
    request.operation = AdmissionRequest::Operation::update;
    request.old =
        create(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})").object;
    CHECK(denial(check_change(request)).empty());
    request.old.at("status").set("canrun", true);
    CHECK(denial(check_change(request)).find("has been dispatched") != std::string::npos);
    request.object.set("spec", request.old["spec"]);
    CHECK(denial(check_change(request)).empty());
}

TEST_CASE("replicas of an item are warned of, because nothing obeys them") {
    const std::string map = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})";
    CHECK(warn_of_replicas(create(map, R"("replicas":3,)")).warnings.size() == 1);
    CHECK(warn_of_replicas(create(map, R"("replicas":1,)")).warnings.empty());
    CHECK(warn_of_replicas(create(map)).warnings.empty());
}

}  // namespace
}  // namespace muster::control::appwrapper
