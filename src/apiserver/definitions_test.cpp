// apiserver/definitions_test.cpp - kinds that users bring: from the definition to the last object.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const std::string tabs = "/apis/stable.example.com/v1/namespaces/default/crontabs";

/// The definition of CronTabs, with more in its version and spec.
std::string cron_tab(const std::string& version = "", const std::string& names = "",
                     const std::string& spec_schema = "") {
    return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
           R"("metadata":{"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com",)"
           R"("scope":"Namespaced","names":{"plural":"crontabs","kind":"CronTab",)"
           R"("shortNames":["ct"])" +
           names + R"(},"versions":[{"name":"v1","served":true,"storage":true,)" + version +
           R"("schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",)" +
           spec_schema +
           R"("properties":{"cron":{"type":"string"},"replicas":{"type":"integer","default":1,)"
           R"("minimum":0}}},"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}}]}})";
}

const std::string with_all =
    R"("subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas",)"
    R"("statusReplicasPath":".status.replicas"}},)"
    R"("additionalPrinterColumns":[{"name":"Cron","type":"string","jsonPath":".spec.cron"}],)"
    R"("selectableFields":[{"jsonPath":".spec.cron"}],)";

std::string tab(const std::string& name, const std::string& spec = R"("cron":"* *")") {
    return R"({"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":")" + name +
           R"("},"spec":{)" + spec + "}}";
}

std::string condition(const api::Value& crd, const std::string& type) {
    for (const api::Value& each : crd["status"]["conditions"].items()) {
        if (each["type"].text() == type) return each["status"].text();
    }
    return "";
}

TEST_CASE("a definition of one of Kubernetes' groups says whether it was approved") {
    TestServer server;
    const auto judged = [&](const std::string& group, const std::string& annotation) {
        const std::string name = "tabs." + group;
        server.post(crds, R"({"metadata":{"name":")" + name +
                              R"(","annotations":{"api-approved.kubernetes.io":")" + annotation +
                              R"("}},"spec":{"group":")" + group +
                              R"(","scope":"Namespaced","names":{"plural":"tabs","kind":"Tab"},)"
                              R"("versions":[{"name":"v1","served":true,"storage":true,"schema":)"
                              R"({"openAPIV3Schema":{"type":"object"}}}]}})");
        const api::Value crd = server.get(crds + "/" + name)->json();
        for (const api::Value& each : crd["status"]["conditions"].items()) {
            if (each["type"].text() == "KubernetesAPIApprovalPolicyConformant")
                return each["status"].text() + " " + each["message"].text();
        }
        return std::string("-");
    };
    CHECK(judged("a.k8s.io", "https://example.com/1") == "True approved in https://example.com/1");
    CHECK(judged("b.k8s.io", "unapproved, a test") == "False not approved: \"unapproved, a test\"");
    CHECK(judged("c.kubernetes.io", "because") ==
          "False protected groups must have approval annotation \"api-approved.kubernetes.io\" "
          "with either a URL or a reason starting with \"unapproved\", see "
          "https://github.com/kubernetes/enhancements/pull/1111");
    CHECK(judged("d.example.com", "https://example.com/1") == "-");
}

TEST_CASE("an added kind is served as any other") {
    TestServer server;
    CHECK(server.post(tabs, tab("a"))->status == 404);
    const ReplyPtr made = server.post(crds, cron_tab(with_all));
    REQUIRE_MESSAGE(made->status == 201, made->text);
    CHECK(condition(made->json(), "Established") == "True");
    CHECK(made->json()["status"]["acceptedNames"]["listKind"].text() == "CronTabList");
    CHECK(made->json()["status"]["storedVersions"] == api::Value::array({"v1"}));
    const ReplyPtr first = server.post(tabs, tab("a"));
    REQUIRE_MESSAGE(first->status == 201, first->text);
    CHECK(first->json()["spec"]["replicas"].integer_or(0) == 1);
    CHECK(first->json()["metadata"]["generation"].integer_or(0) == 1);
    CHECK(server.get(tabs)->json()["kind"].text() == "CronTabList");
    CHECK(server.get(tabs + "?fieldSelector=spec.cron%3D%2A%20%2A")->json()["items"].size() == 1);
    CHECK(server.merge(tabs + "/a", R"({"spec":{"replicas":-1}})")->status == 422);
    CHECK(server.merge(tabs + "/a/status", R"({"status":{"replicas":2}})")->status == 200);
    // The schema allows it, but its Scale could not show it.
    const ReplyPtr less = server.merge(tabs + "/a/status", R"({"status":{"replicas":-1}})");
    CHECK(less->status == 422);
    CHECK(less->text.find("should be a non-negative integer") != std::string::npos);
    CHECK(server.get(tabs + "/a")->json()["status"]["replicas"].integer_or(0) == 2);
    const ReplyPtr scaled = server.merge(tabs + "/a/scale", R"({"spec":{"replicas":5}})");
    CHECK(scaled->json()["status"]["replicas"].integer_or(0) == 2);
    CHECK(server.get(tabs + "/a")->json()["spec"]["replicas"].integer_or(0) == 5);
    const ReplyPtr table = server.get_as(tabs, "application/json;as=Table;g=meta.k8s.io;v=v1");
    CHECK(table->json()["columnDefinitions"][1]["name"].text() == "Cron");
    CHECK(table->json()["rows"][0]["cells"][1].text() == "* *");
    CHECK(server.post(tabs + "?fieldValidation=Strict", tab("b", R"("no":1)"))->status == 400);
    CHECK(!server.post(tabs, tab("b", R"("no":1)"))->json()["spec"].has("no"));
    CHECK(server.remove(tabs + "/a")->status == 200);
    CHECK(server.get(tabs + "/a")->status == 404);
}

TEST_CASE("discovery and OpenAPI tell of added kinds, and no longer of removed ones") {
    TestServer server;
    const std::string before = server.get("/openapi/v3")->text;
    server.post(crds, cron_tab(with_all));
    const api::Value list = server.get("/apis/stable.example.com/v1")->json();
    REQUIRE(list["resources"].size() == 3);
    CHECK(list["resources"][0]["shortNames"] == api::Value::array({"ct"}));
    CHECK(server.get("/apis")->text.find("stable.example.com") != std::string::npos);
    const api::Value document = server.get("/openapi/v3/apis/stable.example.com/v1")->json();
    const api::Value& schema = document["components"]["schemas"]["com.example.stable.v1.CronTab"];
    CHECK(schema["properties"]["spec"]["properties"]["cron"]["type"].text() == "string");
    CHECK(schema["x-kubernetes-group-version-kind"][0]["kind"].text() == "CronTab");
    CHECK(server.get("/openapi/v3")->text != before);
    server.remove(crds + "/crontabs.stable.example.com");
    CHECK(server.get("/apis/stable.example.com/v1")->status == 404);
    CHECK(server.get("/openapi/v3")->text == before);
}

TEST_CASE("server-side apply knows the lists of an added kind") {
    TestServer server;
    const std::string rows =
        R"("properties":{"rows":{"type":"array","x-kubernetes-list-type":"map",)"
        R"("x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],)"
        R"("properties":{"name":{"type":"string"},"n":{"type":"integer"}}}}}})";
    std::string crd = cron_tab();
    const std::string plain = R"("properties":{"cron":)";
    crd.replace(crd.find(plain), crd.find(R"(},"status")") - crd.find(plain),
                rows.substr(0, rows.size() - 1));
    REQUIRE(server.post(crds, crd)->status == 201);
    const std::string head =
        R"({"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a"},"spec":)";
    const auto apply = [&](const std::string& who, const std::string& spec) {
        return server.apply(tabs + "/a?fieldManager=" + who, head + spec + "}");
    };
    REQUIRE(apply("one", R"({"rows":[{"name":"x","n":1}]})")->status == 201);
    REQUIRE(apply("two", R"({"rows":[{"name":"y","n":2}]})")->status == 200);
    CHECK(server.get(tabs + "/a")->json()["spec"]["rows"].size() == 2);
    CHECK(apply("two", R"({"rows":[{"name":"x","n":3}]})")->status == 409);
    CHECK(apply("one", R"({"rows":[]})")->json()["spec"]["rows"].size() == 1);
}

TEST_CASE("a definition takes its objects with it, also those that wait") {
    TestServer server;
    server.post(crds, cron_tab());
    server.post(tabs, tab("a"));
    server.post(tabs, tab("held"));
    server.merge(tabs + "/held", R"({"metadata":{"finalizers":["example.com/mine"]}})");
    const auto watch = std::make_shared<Reply>();
    server.server.handle(server.request("GET", tabs + "?watch=1"), watch);
    server.loop.run();
    const ReplyPtr removed = server.remove(crds + "/crontabs.stable.example.com");
    CHECK(condition(removed->json(), "Terminating") == "True");
    CHECK(server.get(tabs)->json()["items"].size() == 1);
    const ReplyPtr late = server.post(tabs, tab("late"));
    CHECK(late->status == 405);
    CHECK(late->message().find("terminating") != std::string::npos);
    CHECK(server.merge(tabs + "/held", R"({"metadata":{"finalizers":null}})")->status == 200);
    CHECK(server.get(tabs)->status == 404);
    CHECK(server.get(crds + "/crontabs.stable.example.com")->status == 404);
    CHECK(watch->story() == "ADDED a, ADDED held, DELETED a, MODIFIED held, DELETED held");
    CHECK(watch->finished);
    REQUIRE(server.post(crds, cron_tab())->status == 201);
    CHECK(server.get(tabs)->json()["items"].size() == 0);
    CHECK(server.post(tabs, tab("a"))->status == 201);
}

TEST_CASE("a definition that is deleted twice goes with its last finalizer") {
    TestServer server;
    std::string crd = cron_tab();
    const std::string named = R"("name":"crontabs.stable.example.com")";
    crd.replace(crd.find(named), named.size(), named + R"(,"finalizers":["a.b/c"])");
    server.post(crds, crd);
    const std::string path = crds + "/crontabs.stable.example.com";
    server.remove(path);
    server.remove(path);
    CHECK(server.get(path)->json()["metadata"]["finalizers"] == api::Value::array({"a.b/c"}));
    server.merge(path, R"({"metadata":{"finalizers":null}})");
    CHECK(server.get(path)->status == 404);
}

TEST_CASE("added kinds are there again after a restart") {
    const auto disk = std::make_shared<store::MemoryDisk>();
    {
        TestServer server({}, disk);
        server.post(crds, cron_tab());
        server.post(tabs, tab("a"));
    }
    TestServer server({}, disk);
    CHECK(server.get(tabs + "/a")->json()["spec"]["cron"].text() == "* *");
    CHECK(server.post(tabs, tab("b"))->status == 201);
}

TEST_CASE("names that others have are not given twice, until they are free") {
    TestServer server;
    server.post(crds, cron_tab());
    std::string other = cron_tab("", R"(,"singular":"crontab2")");
    for (const auto& [from, to] :
         {std::pair("crontabs.stable", "tabs.stable"), std::pair("\"crontabs\"", "\"tabs\"")}) {
        other.replace(other.find(from), std::string(from).size(), to);
    }
    const ReplyPtr second = server.post(crds, other);
    REQUIRE_MESSAGE(second->status == 201, second->text);
    CHECK(condition(second->json(), "NamesAccepted") == "False");
    CHECK(condition(second->json(), "Established") == "False");
    const std::string path = "/apis/stable.example.com/v1/tabs";
    CHECK(server.get(path)->status == 404);
    server.remove(crds + "/crontabs.stable.example.com");
    CHECK(condition(server.get(crds + "/tabs.stable.example.com")->json(), "Established") ==
          "True");
    CHECK(server.get(path)->status == 200);
}

TEST_CASE("a definition that cannot be is refused with all its faults") {
    TestServer server;
    const auto refused = [&](std::string crd, const std::string& from, const std::string& to,
                             const std::string& wanted) {
        crd.replace(crd.find(from), from.size(), to);
        const ReplyPtr reply = server.post(crds, crd);
        CHECK_MESSAGE(reply->status == 422, reply->text);
        CHECK_MESSAGE(reply->message().find(wanted) != std::string::npos, reply->text);
    };
    const std::string good = cron_tab();
    refused(good, "crontabs.stable", "other.stable", "must be spec.names.plural+\".\"+spec.group");
    refused(good, "\"Namespaced\"", "\"World\"", "spec.scope: Unsupported value: \"World\"");
    refused(good, "\"storage\":true", "\"storage\":false", "must have exactly one version marked");
    refused(good, "\"CronTab\"", "\"Cron Tab\"", "may have mixed case, but should otherwise match");
    refused(good, "\"v1\",\"served\"", "\"V1\",\"served\"", "spec.versions[0].name");
    refused(good, R"({"type":"string"})", R"({"type":"text"})", "properties[cron].type");
    refused(good, R"("group":"stable.example.com")", R"("group":"stable")", "at least one dot");
}

TEST_CASE("changes of a definition are seen at once") {
    TestServer server;
    server.post(crds, cron_tab());
    server.post(tabs, tab("a"));
    const auto watch = std::make_shared<Reply>();
    server.server.handle(server.request("GET", tabs + "?watch=1"), watch);
    server.loop.run();
    const std::string field =
        R"({"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":)"
        R"({"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":)"
        R"({"cron":{"type":"string"},"zone":{"type":"string","default":"UTC"}}}}}}}]}})";
    const std::string path = crds + "/crontabs.stable.example.com";
    REQUIRE(server.merge(path, field)->status == 200);
    CHECK(watch->finished);
    const api::Value read = server.get(tabs + "/a")->json();
    CHECK(read["spec"]["zone"].text() == "UTC");
    CHECK(!read["spec"].has("replicas"));
    CHECK(server.get(tabs)->json()["items"][0] == read);
    CHECK(server.merge(path, R"({"spec":{"scope":"Cluster"}})")->status == 422);
}

TEST_CASE("versions differ in name only when nothing converts them") {
    TestServer server;
    std::string crd = cron_tab();
    const std::string schema = R"("schema":{"openAPIV3Schema":{"type":"object",)"
                               R"("x-kubernetes-preserve-unknown-fields":true}}})";
    crd.replace(
        crd.rfind("}]}}"), 4,
        R"(},{"name":"v1beta1","served":true,"storage":false,"deprecated":true,)" + schema + "]}}");
    REQUIRE(server.post(crds, crd)->status == 201);
    server.post(tabs, tab("a"));
    const ReplyPtr old =
        server.get("/apis/stable.example.com/v1beta1/namespaces/default/crontabs/a");
    CHECK(old->json()["apiVersion"].text() == "stable.example.com/v1beta1");
    CHECK(old->headers.get("Warning").find("is deprecated") != std::string::npos);
    const api::Value group = server.get("/apis/stable.example.com")->json();
    CHECK(group["preferredVersion"]["version"].text() == "v1");
    CHECK(group["versions"].size() == 2);
}

TEST_CASE("kinds that are served anyway have a definition, which changes nothing") {
    TestServer server;
    const std::string path = crds + "/clusterqueues.kueue.x-k8s.io";
    const api::Value listed = server.get(path)->json();
    CHECK(condition(listed, "Established") == "True");
    CHECK(listed["spec"]["versions"].size() == 2);
    const ReplyPtr changed = server.merge(
        path, R"({"metadata":{"labels":{"a":"b"}},"spec":{"preserveUnknownFields":false}})");
    CHECK_MESSAGE(changed->status == 200, changed->text);
    const std::string queues = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues";
    CHECK(server
              .post(queues, R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",)"
                            R"("metadata":{"name":"q"}})")
              ->status == 201);
    CHECK(server.remove(path)->status == 200);
    CHECK(server.get(queues + "/q")->status == 200);
    CHECK(condition(server.get(path)->json(), "Established") == "True");
}

TEST_CASE("rights are asked for added kinds too") {
    TestServer server;
    server.post(crds, cron_tab());
    server.user = "alice";
    server.groups = {};
    CHECK(server.get(tabs)->status == 403);
    server.user = "system:admin";
    server.groups = {"system:masters"};
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/";
    server.post(rbac + "roles",
                R"({"metadata":{"name":"r"},"rules":[{"verbs":["list"],"apiGroups":)"
                R"(["stable.example.com"],"resources":["crontabs"]}]})");
    server.post(rbac + "rolebindings",
                R"({"metadata":{"name":"r"},"roleRef":{"kind":"Role","name":"r","apiGroup":)"
                R"("rbac.authorization.k8s.io"},"subjects":[{"kind":"User","name":"alice"}]})");
    server.user = "alice";
    server.groups = {};
    CHECK(server.get(tabs)->status == 200);
    CHECK(server.post(tabs, tab("a"))->status == 403);
}

}  // namespace
}  // namespace muster::apiserver
