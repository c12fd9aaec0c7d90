// api/schema_test.cpp - the engine on the tables: unknown fields, pruning, defaults, checks.
#include "api/schema.h"

#include <doctest/doctest.h>

#include "api/definition.h"
#include "api/kind.h"
#include "api/parsed_text.h"

namespace muster::api {
namespace {

TEST_CASE("every definition parses and every kind has its schemas") {
    CHECK(all_definitions().size() > 300);
    for (const std::string_view name : all_definitions())
        CHECK(schema_of(name));
    for (const auto* kinds : {&all_kinds(), &review_kinds()}) {
        for (const Kind& kind : *kinds) {
            CHECK(kind.find_version(kind.storage) != nullptr);
            for (const Version& version : kind.versions) {
                CHECK(version.schema->find_field("metadata") != nullptr);
                CHECK((!kind.has_status || version.schema->find_field("status") != nullptr));
            }
        }
    }
}

TEST_CASE("kinds are found by plural and by name, in their group only") {
    REQUIRE(find_kind("", "pods") != nullptr);
    CHECK(find_kind("", "pods") == find_kind_named("", "Pod"));
    CHECK(find_kind("batch", "jobs")->namespaced);
    CHECK(find_kind("", "jobs") == nullptr);
    CHECK(find_schema("v1", "DeleteOptions") != nullptr);
    CHECK(find_schema("authorization.k8s.io/v1", "SelfSubjectAccessReview") != nullptr);
    CHECK(find_schema("v1", "Nonsense") == nullptr);
    CHECK(to_text(Key{{"batch", "jobs"}, "sandbox", "train"}) == "jobs.batch/sandbox/train");
}

TEST_CASE("unknown fields are named by their path and pruned") {
    Value pod = parsed(R"({"kind":"Pod","spce":1,"metadata":{"name":"a","labels":{"x":"y"}},
        "spec":{"containers":[{"name":"a"},{"name":"b","imgae":"x","env":[{"nme":"q"}]}]}})");
    const Schema& schema = *find_kind("", "pods")->versions[0].schema;
    const std::vector<std::string> expected = {"spce", "spec.containers[1].imgae",
                                               "spec.containers[1].env[0].nme"};
    CHECK(unknown_fields(schema, pod) == expected);
    prune(schema, pod);
    CHECK(unknown_fields(schema, pod).empty());
    CHECK(pod["spec"]["containers"][1]["name"].text() == "b");
}

TEST_CASE("what needs no pruning and no default goes on being shared") {
    const Schema& schema = *find_kind("", "pods")->versions[0].schema;
    Value sealed = parsed(R"({"metadata":{"name":"a"},"spec":{"containers":[
        {"name":"c","ports":[{"containerPort":1,"protocol":"TCP"}]}]}})");
    apply_defaults(schema, sealed);
    sealed.seal();
    Value pod = sealed;
    prune(schema, pod);
    apply_defaults(schema, pod);
    CHECK(pod.is_same(sealed));

    pod.at("metadata").set("other", 1);
    pod.at("spec")
        .at("containers")
        .mutable_items()[0]
        .at("ports")
        .push(Value::object({{"containerPort", 2}}));
    prune(schema, pod);
    apply_defaults(schema, pod);
    CHECK_FALSE(pod["metadata"].has("other"));
    CHECK(pod["spec"]["containers"][0]["ports"][1]["protocol"].text() == "TCP");
    CHECK(sealed["spec"]["containers"][0]["ports"].size() == 1);
}

TEST_CASE("wrong types, enums and quantities are refused in the API server's words") {
    const Schema& schema = *find_kind("", "pods")->versions[0].schema;
    const Value pod = parsed(R"({"spec":{"restartPolicy":"Sometimes","priority":"high",
        "containers":[{"resources":{"limits":{"cpu":"much"}}}]}})");
    const std::vector<FieldError> errors = validate(schema, pod);
    REQUIRE(errors.size() == 3);
    CHECK(errors[0].field == "spec.restartPolicy");
    CHECK(errors[0].text ==
          R"(Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure")");
    CHECK(errors[1].reason == "FieldValueTypeInvalid");
    CHECK(errors[2].field == "spec.containers[0].resources.limits[cpu]");
}

TEST_CASE("defaults fill what is absent, at every depth") {
    Value pod = parsed(R"({"spec":{"containers":[{"ports":[{"containerPort":1}]}]}})");
    const Kind& kind = *find_kind("", "pods");
    apply_defaults(*kind.versions[0].schema, pod);
    kind.defaulting(pod);
    CHECK(pod["spec"]["containers"][0]["ports"][0]["protocol"].text() == "TCP");
    CHECK(pod["spec"]["terminationGracePeriodSeconds"].integer_or(0) == 30);
    CHECK(pod["spec"]["containers"][0]["imagePullPolicy"].text() == "Always");
}

TEST_CASE("quantities and times are kept in one form, what is none stays as it is") {
    Value pod =
        parsed(R"({"spec":{"containers":[{"resources":{"requests":{"cpu":1,"memory":"1024Mi"},
        "limits":{"cpu":"2000m","memory":"much"}}}]},
        "status":{"startTime":"2026-01-01T02:00:00+01:00"}})");
    canonicalize(*find_kind("", "pods")->versions[0].schema, pod);
    const Value& resources = pod["spec"]["containers"][0]["resources"];
    CHECK((resources["requests"]["cpu"] == Value("1")));
    CHECK(resources["requests"]["memory"].text() == "1Gi");
    CHECK(resources["limits"]["cpu"].text() == "2");
    CHECK(resources["limits"]["memory"].text() == "much");
    CHECK(pod["status"]["startTime"].text() == "2026-01-01T01:00:00Z");
}

TEST_CASE(
    "what Go's types do not tell from nothing is dropped, what stands behind a pointer is not") {
    Value deployment =
        parsed(R"({"metadata":{"labels":{}},"spec":{"replicas":0,"paused":false,"template":{"spec":
        {"tolerations":[],"nodeSelector":{},"volumes":[{"name":"v","emptyDir":{"medium":""}}],
        "containers":[{"name":"","args":[],"resources":{"limits":{}}}]}}}})");
    canonicalize(*find_kind("apps", "deployments")->versions[0].schema, deployment);
    CHECK(to_json(deployment) ==
          R"({"metadata":{},"spec":{"replicas":0,"template":{"spec":{"volumes":[{"name":"v",)"
          R"("emptyDir":{}}],"containers":[{"name":"","resources":{}}]}}}})");
}

TEST_CASE("times of conditions stand there before they are said, and no affinity has no settings") {
    Value deployment = parsed(R"({"status":{"conditions":[{"type":"A"}]}})");
    find_kind("apps", "deployments")->defaulting(deployment);
    const Value& condition = deployment["status"]["conditions"][0];
    CHECK((condition.has("lastUpdateTime") && condition.has("lastTransitionTime")));
    Value service = parsed(R"({"spec":{"sessionAffinityConfig":{"clientIP":{}}}})");
    find_kind("", "services")->defaulting(service);
    CHECK_FALSE(service["spec"].has("sessionAffinityConfig"));
}

TEST_CASE("a secret's plain texts become data") {
    Value secret = parsed(R"({"stringData":{"a":"hello"}})");
    find_kind("", "secrets")->defaulting(secret);
    CHECK(to_json(secret) == R"({"type":"Opaque","data":{"a":"aGVsbG8="}})");
}

}  // namespace
}  // namespace muster::api
