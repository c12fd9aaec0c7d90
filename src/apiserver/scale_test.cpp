// apiserver/scale_test.cpp - replicas by way of /scale, and whose they are.
#include <string>

#include <doctest/doctest.h>

#include "api/json.h"
#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

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
    const std::string all = "/apis/apps/v1/namespaces/default/deployments";
    server.post(all, R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":)"
                     R"({"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":)"
                     R"({"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    const auto scale = [&](const std::string& by, int replicas) {
        return server.apply(all + "/d/scale?fieldManager=" + by,
                            R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":)"
                            R"({"name":"d"},"spec":{"replicas":)" +
                                std::to_string(replicas) + "}}");
    };
    const auto owner = [&] {
        std::string found;
        const api::Value live = server.get(all + "/d")->json();
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
    CHECK(server.merge(all + "/d/scale", R"({"spec":{"replicas":5}})")->status == 200);
    CHECK(owner() == "tester/scale ");
    CHECK(server.merge(all + "/d/scale", R"({"spec":{"replicas":0}})")->status == 200);
    CHECK(owner().empty());
    CHECK(server.merge(all + "/d/scale", R"({"spec":"x"})")->status == 422);
    CHECK(server.get(all + "/d")->json()["spec"]["replicas"].integer_or(-1) == 0);
}

TEST_CASE("a count that is none is refused at a scale, however it is sent, and nothing changes") {
    TestServer server;
    const std::string all = "/apis/apps/v1/namespaces/default/deployments";
    server.post(all, R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":)"
                     R"({"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":)"
                     R"({"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    for (const std::string wrong : {"1.5", "1e30", "3000000000", "-1", "true", "\"3\""}) {
        CAPTURE(wrong);
        const std::string spec = R"("spec":{"replicas":)" + wrong + "}}";
        CHECK(server
                  .apply(all + "/d/scale?fieldManager=x&force=true",
                         R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":)"
                         R"({"name":"d"},)" +
                             spec)
                  ->status >= 400);
        CHECK(server.merge(all + "/d/scale", "{" + spec)->status == 422);
        CHECK(server.get(all + "/d")->json()["spec"]["replicas"].integer_or(-1) == 2);
    }
}

}  // namespace
}  // namespace muster::apiserver
