// apiserver/scale_test.cpp - replicas by way of /scale, and whose they are.
#include <string>

#include <doctest/doctest.h>

#include "api/json.h"
#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";

/// Two replicas of "d".
void make_deployment(TestServer& server) {
    server.post(deployments, R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":)"
                             R"({"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":)"
                             R"({"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
}

/// `spec` is the rest of a Scale of "d".
std::string scale_of(const std::string& spec) {
    return R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"d"},)" + spec + "}";
}

TEST_CASE("scale reads and writes replicas") {
    TestServer server;
    const std::string sets = "/apis/apps/v1/namespaces/default/replicasets";
    const ReplyPtr made = server.post(
        sets, R"({"apiVersion":"apps/v1","kind":"ReplicaSet","metadata":{"name":"r"},"spec":)"
              R"({"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":)"
              R"({"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    if (made->status == 404) return;  // Not served by this version.
    REQUIRE(made->status == 201);
    const api::Value scale = server.get(sets + "/r/scale")->json();
    CHECK(scale["spec"]["replicas"].integer_or(0) == 2);
    CHECK(scale["status"]["selector"].text() == "a=b");
    CHECK(server.merge(sets + "/r/scale", R"({"spec":{"replicas":5}})")->status == 200);
    CHECK(server.get(sets + "/r")->json()["spec"]["replicas"].integer_or(0) == 5);
    CHECK(server.merge(sets + "/r/scale", R"({"spec":{"replicas":-1}})")->status == 422);
}

TEST_CASE("who applies a scale owns the replicas, and another may take them") {
    TestServer server;
    make_deployment(server);
    const auto scale = [&](const std::string& by, int replicas) {
        return server.apply(deployments + "/d/scale?fieldManager=" + by,
                            scale_of(R"("spec":{"replicas":)" + std::to_string(replicas) + "}"));
    };
    const auto owner = [&] {
        std::string found;
        const api::Value live = server.get(deployments + "/d")->json();
        for (const api::Value& entry : live["metadata"]["managedFields"].items()) {
            if (entry["fieldsV1"]["f:spec"].has("f:replicas"))
                found += entry["manager"].text() + "/" + entry["subresource"].text() + " ";
        }
        return found;
    };
    CHECK(owner() == "tester/ ");
    CHECK(scale("x", 3)->message() ==
          "Apply failed with 1 conflict: conflict with \"tester\" "
          "using autoscaling/v1: .spec.replicas");
    CHECK(scale("x&force=true", 3)->status == 200);
    CHECK(owner() == "x/scale ");
    CHECK(scale("x", 4)->status == 200);
    CHECK(server.merge(deployments + "/d/scale", R"({"spec":{"replicas":5}})")->status == 200);
    CHECK(owner() == "tester/scale ");
    CHECK(server.merge(deployments + "/d/scale", R"({"spec":{"replicas":0}})")->status == 200);
    CHECK(owner().empty());
    CHECK(server.merge(deployments + "/d/scale", R"({"spec":"x"})")->status == 422);
    CHECK(server.get(deployments + "/d")->json()["spec"]["replicas"].integer_or(-1) == 0);
}

TEST_CASE("a count that is none is refused at a scale, however it is sent, and nothing changes") {
    TestServer server;
    make_deployment(server);
    for (const std::string wrong : {"1.5", "1e30", "3000000000", "-1", "true", "\"3\""}) {
        CAPTURE(wrong);
        const std::string spec = R"("spec":{"replicas":)" + wrong + "}";
        const ReplyPtr applied =
            server.apply(deployments + "/d/scale?fieldManager=x&force=true", scale_of(spec));
        CHECK(applied->status >= 400);
        CHECK(server.merge(deployments + "/d/scale", "{" + spec + "}")->status == 422);
        CHECK(server.get(deployments + "/d")->json()["spec"]["replicas"].integer_or(-1) == 2);
    }
}

TEST_CASE(
    "objects from before their kind could be scaled may have anything where its scale looks") {
    TestServer server;
    const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const std::string things = "/apis/example.com/v1/namespaces/default/things";
    const std::string crd =
        R"({"metadata":{"name":"things.example.com"},"spec":{"group":"example.com",)"
        R"("scope":"Namespaced","names":{"plural":"things","kind":"Thing"},"versions":[{)"
        R"("name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",)"
        R"("properties":{"spec":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}})";
    REQUIRE(server.post(crds, crd)->status == 201);
    const auto make = [&](const std::string& name, const std::string& spec) {
        return server
            .post(things, R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":")" +
                              name + R"("},"spec":)" + spec + "}")
            ->status;
    };
    REQUIRE(make("text", R"({"a":"text"})") == 201);
    REQUIRE(make("count", R"({"a":{"b":"3"}})") == 201);
    REQUIRE(make("nothing", R"({"a":{}})") == 201);
    REQUIRE(
        server
            .merge(crds + "/things.example.com",
                   R"({"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{)"
                   R"("openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",)"
                   R"("x-kubernetes-preserve-unknown-fields":true}}}},"subresources":{"scale":{)"
                   R"("specReplicasPath":".spec.a.b","statusReplicasPath":".status.b"}}}]}})")
            ->status == 200);
    const std::string wanted =
        R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":")";
    const auto put = [&](const std::string& name) {
        return server.put(things + "/" + name + "/scale",
                          wanted + name + R"("},"spec":{"replicas":1}})");
    };
    const std::string on_the_way =
        ".spec.a.b accessor error: text is of the type string, expected map[string]interface{}";
    for (const ReplyPtr& reply :
         {put("text"), server.get(things + "/text/scale"),
          server.merge(things + "/text/scale", R"({"spec":{"replicas":1}})")}) {
        CHECK(reply->status == 500);
        CHECK(reply->message() == on_the_way);
        CHECK(reply->reason().empty());
    }
    CHECK(put("count")->message() ==
          ".spec.a.b accessor error: 3 is of the type string, expected int64");
    CHECK(server.get(things + "/nothing/scale")->message() ==
          "Internal error occurred: the spec replicas field \".spec.a.b\" does not exist");
    CHECK(put("nothing")->status == 200);
    CHECK(server.get(things + "/nothing")->json()["spec"]["a"]["b"].integer_or(0) == 1);
    CHECK(server.get(things + "/text")->json()["spec"]["a"].text() == "text");
}

}  // namespace
}  // namespace muster::apiserver
