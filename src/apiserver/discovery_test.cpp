// apiserver/discovery_test.cpp - what clients learn about the server before they use it.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string aggregated =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

const api::Value* named(const api::Value& list, const char* field, const std::string& name) {
    for (const api::Value& item : list.items()) {
        if (item[field].text() == name) return &item;
    }
    return nullptr;
}

TEST_CASE("aggregated discovery tells everything in two answers") {
    TestServer server;
    const ReplyPtr core = server.get_as("/api", aggregated);
    CHECK(core->headers.get("Content-Type") ==
          "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    const api::Value document = core->json();
    CHECK(document["apiVersion"].text() == "apidiscovery.k8s.io/v2");
    const api::Value* pods =
        named(document["items"][0]["versions"][0]["resources"], "resource", "pods");
    REQUIRE(pods != nullptr);
    CHECK((*pods)["scope"].text() == "Namespaced");
    CHECK((*pods)["singularResource"].text() == "pod");
    CHECK((*pods)["shortNames"][0].text() == "po");
    CHECK(named((*pods)["subresources"], "subresource", "log") != nullptr);
    CHECK(named((*pods)["subresources"], "subresource", "status") != nullptr);
    net::Request again = server.request("GET", "/api");
    again.headers.set("Accept", aggregated);
    again.headers.set("If-None-Match", std::string(core->headers.get("ETag")));
    CHECK(server.send(again)->status == 304);
    CHECK(server.get_as("/apis", aggregated)->json()["items"].size() > 8);
}

TEST_CASE("what is only looked at is found in discovery, and needs the right to look") {
    TestServer server;
    using View = Server::View;
    server.server.add_view({{"view.example.com", "things"},
                            {"v2", "v1"},
                            View::Scope::namespaced,
                            "thing",
                            "Thing",
                            "state",
                            "ThingState",
                            [](const net::Request& request, const api::Key& key,
                               const std::shared_ptr<net::Responder>& responder) {
                                net::Response response;
                                response.body =
                                    make_bytes(key.ns + "/" + key.name + " " +
                                               std::string(request.query_value("limit")));
                                responder->respond(response);
                            }});
    const std::string path = "/apis/view.example.com/v1/namespaces/ns/things/a/state";
    CHECK(server.get(path + "?limit=3")->text == "ns/a 3");
    CHECK(server.get("/apis/view.example.com/v3/namespaces/ns/things/a/state")->status == 404);
    CHECK(server.get("/apis/view.example.com/v1/things/a/state")->status == 404);
    CHECK(server.send(server.request("DELETE", path))->status == 405);
    const api::Value list = server.get("/apis/view.example.com/v1")->json();
    const api::Value* state = named(list["resources"], "name", "things/state");
    REQUIRE(state != nullptr);
    CHECK((*state)["kind"].text() == "ThingState");
    CHECK((*state)["namespaced"].boolean_or(false));
    const api::Value group = server.get("/apis/view.example.com")->json();
    CHECK(group["preferredVersion"]["version"].text() == "v2");
    const api::Value all = server.get_as("/apis", aggregated)->json();
    CHECK(all.path("items").size() > 8);
    const api::Value* found = nullptr;
    for (const api::Value& item : all["items"].items()) {
        if (item["metadata"]["name"].text() == "view.example.com") found = &item;
    }
    REQUIRE(found != nullptr);
    const api::Value& things = (*found)["versions"][0]["resources"][0];
    CHECK(things["resource"].text() == "things");
    CHECK(things["subresources"][0]["subresource"].text() == "state");
}

TEST_CASE("old discovery walks group by group, with or without a slash at the end") {
    TestServer server;
    CHECK(server.get("/api")->json()["versions"][0].text() == "v1");
    CHECK(server.get("/api/")->json()["kind"].text() == "APIVersions");
    const api::Value groups = server.get("/apis/")->json();
    CHECK(named(groups["groups"], "name", "batch") != nullptr);
    CHECK(server.get("/apis/batch")->json()["preferredVersion"]["version"].text() == "v1");
    const api::Value list = server.get("/apis/batch/v1/")->json();
    CHECK(list["kind"].text() == "APIResourceList");
    CHECK(named(list["resources"], "name", "jobs/status") != nullptr);
    CHECK(server.get("/apis/batch/v9")->status == 404);
    CHECK(server.get("/apis/nothing")->status == 404);
}

TEST_CASE("OpenAPI v3 has an index of documents that never change") {
    TestServer server;
    const api::Value index = server.get("/openapi/v3")->json();
    const std::string address = index["paths"]["api/v1"]["serverRelativeURL"].text();
    REQUIRE(address.find("/openapi/v3/api/v1?hash=") == 0);
    const ReplyPtr document = server.get(address);
    CHECK(document->headers.get("Cache-Control") == "public, immutable");
    CHECK(document->json()["openapi"].text().substr(0, 2) == "3.");
    CHECK(server.get("/openapi/v4")->status == 404);
}

TEST_CASE("OpenAPI v2 is there and empty: kubectl asks it about kinds that v3 does not have") {
    TestServer server;
    const ReplyPtr json = server.get("/openapi/v2");
    CHECK(json->status == 200);
    CHECK(json->json()["swagger"].text() == "2.0");
    CHECK(json->json()["definitions"].empty());
    const ReplyPtr binary =
        server.get_as("/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf");
    CHECK(binary->status == 200);
    CHECK(binary->text.substr(0, 5) ==
          "\x0a\x03"
          "2.0");
    CHECK(binary->text.find("/openapi/v3") != std::string::npos);
}

}  // namespace
}  // namespace muster::apiserver
