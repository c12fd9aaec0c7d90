// apiserver/object_bounds_test.cpp - one namespace's objects do not take all memory.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string maps = "/api/v1/namespaces/default/configmaps";

std::string config_map(const std::string& name, std::size_t size, const std::string& more = "") {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + "\"" + more +
           R"(},"data":{"a":")" + std::string(size, 'x') + R"("}})";
}

Options small() {
    Options options;
    options.object_bounds.bytes_per_namespace = 3 << 20;
    return options;
}

void fill(TestServer& server) {
    for (const char* name : {"a", "b", "c", "d"})
        REQUIRE(server.post(maps, config_map(name, 900'000))->status == 201);
}

TEST_CASE("in a namespace that is full nothing is made and nothing grows") {
    TestServer server(small());
    fill(server);
    const ReplyPtr refused = server.post(maps, config_map("e", 10));
    CHECK(refused->status == 403);
    CHECK(refused->reason() == "Forbidden");
    CHECK(refused->message().find("exceeded quota: the objects of namespace default have 3 MiB") !=
          std::string::npos);
    CHECK(server.apply(maps + "/e?fieldManager=me", config_map("e", 10))->status == 403);
    CHECK(server.merge(maps + "/a", R"({"data":{"b":"more"}})")->status == 403);
    CHECK(server.merge(maps + "/a", R"({"data":{"a":"y"}})")->status == 200);  // It is less.
    CHECK(server.post("/api/v1/namespaces/kube-system/configmaps", config_map("e", 10))->status ==
          201);
    CHECK(server.post("/api/v1/namespaces", R"({"metadata":{"name":"new"}})")->status == 201);
    const std::string event =
        R"({"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}})";
    CHECK(server.post("/api/v1/namespaces/default/events", event)->status == 201);
}

TEST_CASE("a full namespace has room again when something is deleted") {
    TestServer server(small());
    fill(server);
    CHECK(server.merge(maps + "/b", R"({"metadata":{"finalizers":["example.com/x"]}})")->status ==
          403);
    CHECK(server.post(maps, config_map("e", 10))->status == 403);
    CHECK(server.remove(maps + "/a")->status == 200);
    CHECK(
        server.post(maps, config_map("e", 900'000, R"(,"finalizers":["example.com/x"])"))->status ==
        201);
    CHECK(server.post(maps, config_map("f", 10))->status == 403);
    CHECK(server.remove(maps + "/e")->status == 200);  // It is marked, which makes it longer.
    CHECK(server.merge(maps + "/e", R"({"metadata":{"finalizers":null}})")->status == 200);
    CHECK(server.post(maps, config_map("f", 10))->status == 201);
}

TEST_CASE("what the server's own controllers tell goes on in a full namespace") {
    TestServer server(small());
    fill(server);
    net::Request told = server.request("PATCH", maps + "/a", R"({"data":{"b":"more"}})",
                                       "application/merge-patch+json");
    told.peer.trusted = true;
    CHECK(server.send(told)->status == 200);
    net::Request made = server.request("POST", maps, config_map("e", 10));
    made.peer.trusted = true;
    CHECK(server.send(made)->status == 403);  // A Job could ask for pods without an end.
}

TEST_CASE("what is there counts again after a restart") {
    const auto disk = std::make_shared<store::MemoryDisk>();
    {
        TestServer server(small(), disk);
        fill(server);
    }
    TestServer server(small(), disk);
    CHECK(server.post(maps, config_map("e", 10))->status == 403);
    CHECK(server.remove(maps + "/a")->status == 200);
    CHECK(server.post(maps, config_map("e", 10))->status == 201);
}

}  // namespace
}  // namespace muster::apiserver
