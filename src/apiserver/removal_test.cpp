// apiserver/removal_test.cpp - what a removal takes, what it is told, and what it answers.
#include <string>

#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string maps = "/api/v1/namespaces/default/configmaps";
const std::string flavors = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors";

std::string named(const std::string& name) {
    return R"({"metadata":{"name":")" + name + R"("}})";
}

std::string names(const ReplyPtr& reply) {
    std::string all;
    const api::Value list = reply->json();
    for (const api::Value& item : list["items"].items())
        all += item["metadata"]["name"].text();
    return all;
}

}  // namespace

TEST_CASE("deletecollection goes in pages, and answers with what was there") {
    TestServer server;
    for (const char* name : {"a", "b", "c"})
        server.post(maps, named(name));
    server.merge(maps + "/b", R"({"metadata":{"finalizers":["example.com/hold"]}})");
    const std::string before = server.get(maps)->json()["metadata"]["resourceVersion"].text();
    const ReplyPtr first = server.remove(maps + "?limit=2");
    CHECK(names(first) == "ab");
    const api::Value told = first->json();
    CHECK(told["metadata"]["resourceVersion"].text() == before);
    CHECK(told["metadata"]["remainingItemCount"].integer_or(0) == 1);
    CHECK(!told["items"][1]["metadata"].has("deletionTimestamp"));
    CHECK(names(server.get(maps)) == "bc");
    const std::string token = told["metadata"]["continue"].text();
    CHECK(names(server.remove(maps + "?continue=" + token)) == "c");
    CHECK(names(server.get(maps)) == "b");
    CHECK(server.remove(maps + "?limit=many")->status == 400);
    CHECK(server.remove(maps + "?resourceVersionMatch=Exact")->status == 422);
}

TEST_CASE("lists of added kinds say where to go on even when it is nowhere") {
    TestServer server;
    CHECK(server.get(flavors)->json()["metadata"]["continue"] == api::Value(""));
    CHECK(server.remove(flavors)->json()["metadata"]["continue"] == api::Value(""));
    CHECK(!server.get(maps)->json()["metadata"].has("continue"));
    const std::string of = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    CHECK(!server.get_as(flavors, of)->json()["metadata"].has("continue"));
}

TEST_CASE("a removal with a body is told nothing by its query") {
    TestServer server;
    server.post(maps, named("a"));
    CHECK(server.remove(maps + "/a?dryRun=All")->status == 200);
    CHECK(server.remove(maps + "/a", R"({"dryRun":["All"]})")->status == 200);
    CHECK(server.get(maps + "/a")->status == 200);
    CHECK(server.remove(maps + "/a?dryRun=All", R"({"gracePeriodSeconds":0})")->status == 200);
    CHECK(server.get(maps + "/a")->status == 404);
}

TEST_CASE("a pod that goes at once is marked in the answer") {
    TestServer server;
    const std::string pods = "/api/v1/namespaces/default/pods";
    const std::string pod =
        R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})";
    const api::Value made = server.post(pods, pod)->json();
    const auto check = [&](const api::Value& told) {
        CHECK(told["metadata"].has("deletionTimestamp"));
        CHECK(told["metadata"]["deletionGracePeriodSeconds"].integer_or(-1) == 0);
        CHECK(told["metadata"]["generation"].integer_or(0) == 2);
    };
    const api::Value dry = server.remove(pods + "/p?dryRun=All")->json();
    check(dry);
    CHECK(dry["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]);
    const api::Value gone = server.remove(pods + "/p")->json();
    check(gone);
    CHECK(!(gone["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]));
    CHECK(server.get(pods + "/p")->status == 404);
}

TEST_CASE("a namespace without finalizers is marked first, and goes when it is removed again") {
    TestServer server;
    const std::string n = "/api/v1/namespaces/n";
    const api::Value made = server.post("/api/v1/namespaces", named("n"))->json();
    CHECK(made["spec"]["finalizers"][0].text() == "kubernetes");
    // What the server gives itself belongs to nobody.
    CHECK(!made["metadata"]["managedFields"][0]["fieldsV1"].has("f:spec"));
    CHECK(!made["metadata"]["managedFields"][0]["fieldsV1"].has("f:status"));
    api::Value empty = made;
    empty.set("spec", api::Value::object({{"finalizers", api::Value::array()}}));
    const api::Value freed = server.put(n + "/finalize", api::to_json(empty))->json();
    CHECK(freed["spec"] == api::Value::object());
    // Only `finalize` changes a namespace's spec; who tried owns it.
    const api::Value tried = server.merge(n, R"({"spec":{"finalizers":["a.b/c"]}})")->json();
    CHECK(tried["spec"] == api::Value::object());
    CHECK(tried["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"].has("f:finalizers"));
    const api::Value marked = server.remove(n)->json();
    CHECK(marked["status"]["phase"].text() == "Terminating");
    CHECK(marked["metadata"].has("deletionTimestamp"));
    CHECK(!marked["metadata"].has("deletionGracePeriodSeconds"));
    CHECK(server.get(n)->status == 200);
    CHECK(server.remove(n)->json()["status"].text() == "Success");
    CHECK(server.get(n)->status == 404);
}

TEST_CASE("an apply says what it is called, unless the object has its name from elsewhere") {
    TestServer server;
    const std::string body = R"({"apiVersion":"v1","kind":"ConfigMap")";
    const std::string labelled = R"(,"metadata":{"name":"a","labels":{"x":"y"}}})";
    const std::string unnamed =
        "the name of the object (a based on URL) was undeterminable: name must be provided";
    const std::string a = maps + "/a?fieldManager=one";
    CHECK(server.apply(a, body + "}")->message() == unnamed);
    const ReplyPtr other = server.apply(a, body + R"(,"metadata":{"name":"a","uid":"5"}})");
    CHECK(other->status == 409);
    CHECK(other->message() ==
          "Operation cannot be fulfilled on configmaps \"a\": uid mismatch: the provided object "
          "specified uid 5, and no existing object was found");
    CHECK(server.apply(a, body + labelled)->status == 201);
    // With all that it applied goes what holds it, and the name in it, unless others own of that.
    CHECK(server.apply(a, body + "}")->message() == unnamed);
    server.merge(maps + "/a", R"({"metadata":{"labels":{"z":"z"}}})");
    CHECK(server.apply(a, body + "}")->status == 200);
    CHECK(server.apply(maps + "/a?fieldManager=new", body + "}")->status == 200);
    CHECK(server.put(maps + "/a", R"({"metadata":{}})")->message() == unnamed);
}

TEST_CASE("a namespace in an object that has none is passed over") {
    TestServer server;
    const std::string classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    REQUIRE(server.post(classes, R"({"metadata":{"name":"f"},"value":5})")->status == 201);
    const ReplyPtr merged = server.merge(classes + "/f", R"({"metadata":{"namespace":"n"}})");
    CHECK(merged->status == 200);
    CHECK(!merged->json()["metadata"].has("namespace"));
}

TEST_CASE("who removes jobs without a policy is warned once, whatever comes of it") {
    TestServer server;
    const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
    const auto warnings = [&](const std::string& path, const std::string& body = "") {
        std::size_t count = 0;
        const ReplyPtr reply = server.remove(path, body);
        for (const auto& [name, value] : reply->headers.fields)
            if (name == "Warning") ++count;
        return count;
    };
    for (const char* name : {"a", "b"}) {
        server.post(jobs, std::string(R"({"metadata":{"name":")") + name +
                              R"("},"spec":{"template":{"spec":{"restartPolicy":"Never",)" +
                              R"("containers":[{"name":"c","image":"i"}]}}}})");
    }
    CHECK(warnings(jobs + "/a", R"({"preconditions":{"uid":"0"}})") == 1);
    CHECK(warnings(jobs) == 1);
    CHECK(warnings(jobs + "?propagationPolicy=Background") == 0);
}

TEST_CASE("families of a service's addresses belong to nobody") {
    TestServer server;
    const api::Value made = server
                                .post("/api/v1/namespaces/default/services",
                                      R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})")
                                ->json();
    CHECK(made["spec"]["ipFamilyPolicy"].text() == "SingleStack");
    CHECK(made["spec"]["ipFamilies"][0].text() == "IPv4");
    const api::Value& owned = made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
    CHECK(owned.has("f:ports"));
    CHECK(!owned.has("f:ipFamilies"));
    CHECK(!owned.has("f:ipFamilyPolicy"));
}

TEST_CASE("generateName may change, to what may begin a name") {
    TestServer server;
    server.post(maps, named("a"));
    const api::Value changed =
        server.merge(maps + "/a", R"({"metadata":{"generateName":"b-"}})")->json();
    CHECK(changed["metadata"]["generateName"].text() == "b-");
    CHECK(server.merge(maps + "/a", R"({"metadata":{"generateName":"B_"}})")->status == 422);
}

}  // namespace muster::apiserver
