// apiserver/list_test.cpp - lists: selectors, pages, versions, tables.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string maps = "/api/v1/namespaces/default/configmaps";

void fill(TestServer& server) {
    for (const char* name : {"a", "b", "c", "d", "e"}) {
        server.post(maps, std::string(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":)") +
                              R"({"name":")" + name + R"(","labels":{"name":")" + name +
                              R"(","kind":"letter"}}})");
    }
}

std::string names(const ReplyPtr& reply) {
    std::string all;
    const api::Value list = reply->json();
    for (const api::Value& item : list["items"].items()) {
        all += item["metadata"]["name"].text();
    }
    return all;
}

TEST_CASE("options of a list that exclude each other are refused in apimachinery's words") {
    TestServer server;
    for (const char* name : {"a", "b"}) {
        server.post(maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" +
                              std::string(name) + "\"}}");
    }
    const std::string token = server.get(maps + "?limit=1")->json()["metadata"]["continue"].text();
    const auto refused = [&](const std::string& query, int status, const std::string& why) {
        const ReplyPtr reply = server.get(maps + "?" + query);
        CAPTURE(query);
        CHECK(reply->status == status);
        CHECK(reply->message() == why);
    };
    const std::string invalid = "ListOptions.meta.k8s.io \"\" is invalid: ";
    const std::string match = invalid + "resourceVersionMatch: Forbidden: resourceVersionMatch ";
    refused("resourceVersionMatch=Exact", 422,
            match + "is forbidden unless resourceVersion is provided");
    refused("resourceVersionMatch=Exact&resourceVersion=1&continue=" + token, 422,
            match + "is forbidden when continue is provided");
    refused("resourceVersionMatch=Exact&resourceVersion=0", 422,
            match + "\"exact\" is forbidden for resourceVersion \"0\"");
    refused("resourceVersionMatch=Any&resourceVersion=1", 422,
            invalid +
                "resourceVersionMatch: Unsupported value: \"Any\": supported values: \"\", "
                "\"Exact\", \"NotOlderThan\"");
    refused("sendInitialEvents=true", 422,
            invalid + "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list");
    refused("resourceVersion=1&continue=" + token, 400,
            "specifying resource version is not allowed when using continue");
    CHECK(server.get(maps + "?resourceVersion=0&continue=" + token)->status == 200);
    CHECK(server.get(maps + "?resourceVersion=0&resourceVersionMatch=NotOlderThan")->status == 200);
}

TEST_CASE("label selectors select") {
    TestServer server;
    fill(server);
    const std::pair<const char*, const char*> cases[] = {
        {"", "abcde"},           {"name=a", "a"},
        {"name==a", "a"},        {"name!=a", "bcde"},
        {"name in (a,b)", "ab"}, {"name notin (a,b),kind", "cde"},
        {"!name", ""},           {"kind=letter,name=c", "c"},
        {"other!=x", "abcde"},
    };
    for (const auto& [selector, found] : cases) {
        CAPTURE(selector);
        CHECK(names(server.get(maps + "?labelSelector=" + net::percent_encode(selector))) == found);
    }
    CHECK(server.get(maps + "?labelSelector=a%20b")->status == 400);
}

TEST_CASE("a selector of many values is looked up, one of many requirements is refused") {
    TestServer server;
    fill(server);
    std::string values = "b";
    std::string requirements = "!r";
    std::string fields = "metadata.name!=x";
    for (int i = 0; i < 2'000; ++i)
        values += ",v" + std::to_string(i);
    for (int i = 0; i < 100; ++i) {
        requirements += ",!r" + std::to_string(i);
        fields += ",metadata.name!=x" + std::to_string(i);
    }
    const auto selected = [&](const std::string& kind, const std::string& selector) {
        return server.get(maps + "?" + kind + "=" + net::percent_encode(selector));
    };
    CHECK(names(selected("labelSelector", "name in (" + values + ")")) == "b");
    CHECK(names(selected("labelSelector", "name notin (" + values + ")")) == "acde");
    CHECK(selected("labelSelector", requirements)->status == 400);
    CHECK(selected("fieldSelector", fields)->status == 400);
}

TEST_CASE("field selectors know the name, and what the kind allows") {
    TestServer server;
    fill(server);
    CHECK(names(server.get(maps + "?fieldSelector=metadata.name%3Db")) == "b");
    CHECK(names(server.get(maps + "?fieldSelector=metadata.name!%3Db")) == "acde");
    const ReplyPtr refused = server.get(maps + "?fieldSelector=data.a%3Db");
    CHECK(refused->status == 400);
    CHECK(refused->message() ==
          "\"data.a\" is not a known field selector: only \"metadata.name\", "
          "\"metadata.namespace\"");
}

TEST_CASE("pages show one moment, whatever happens between them") {
    TestServer server;
    fill(server);
    const ReplyPtr first = server.get(maps + "?limit=2");
    CHECK(names(first) == "ab");
    CHECK(first->json()["metadata"]["remainingItemCount"].integer_or(0) == 3);
    server.remove(maps + "/d");
    server.post(maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cc"}})");
    const std::string token = first->json()["metadata"]["continue"].text();
    const ReplyPtr second = server.get(maps + "?limit=2&continue=" + token);
    CHECK(names(second) == "cd");
    CHECK(second->json()["metadata"]["resourceVersion"] ==
          first->json()["metadata"]["resourceVersion"]);
    CHECK(second->json()["metadata"]["remainingItemCount"].integer_or(0) == 1);
    const ReplyPtr third =
        server.get(maps + "?limit=2&continue=" + second->json()["metadata"]["continue"].text());
    CHECK(names(third) == "e");
    CHECK(!third->json()["metadata"].has("continue"));
    CHECK(names(server.get(maps)) == "abccce");
    CHECK(server.get(maps + "?continue=nonsense")->status == 400);
}

TEST_CASE("a page ends where it would be large, in whatever form") {
    TestServer server;
    const std::string value(900'000, 'x');
    constexpr int count = 40;
    for (int i = 0; i < count; ++i)
        server.post(maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m)" +
                              std::to_string(100 + i) + R"("},"data":{"k":")" + value + "\"}}");
    for (const char* form : {"", "&pretty=true", "&labelSelector=!none"}) {
        int seen = 0;
        int pages = 0;
        std::string next;
        do {
            const ReplyPtr page = server.get(maps + "?limit=500" + form + "&continue=" + next);
            REQUIRE(page->status == 200);
            CHECK(page->text.size() < std::size_t{20} << 20);
            seen += static_cast<int>(page->json()["items"].size());
            next = page->json()["metadata"]["continue"].text();
            ++pages;
        } while (!next.empty() && pages < 10);
        CHECK(seen == count);
        CHECK(pages == 3);
    }
    CHECK(server.get(maps)->json()["items"].size() == count);
    for (int i = count; i < 2 * count; ++i)
        server.post(maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m)" +
                              std::to_string(100 + i) + R"("},"data":{"k":")" + value + "\"}}");
    CHECK(server.get(maps + "?pretty=true")->status == 413);
    CHECK(server.get(maps)->status == 200);
}

TEST_CASE("a version of the future is waited for, then refused") {
    TestServer server;
    const auto reply = std::make_shared<Reply>();
    server.server.handle(server.request("GET", maps + "?resourceVersion=999"), reply);
    server.loop.advance(seconds(2));
    CHECK(reply->answers == 0);
    server.loop.advance(seconds(2));
    CHECK(reply->status == 504);
    CHECK(reply->json()["details"]["causes"][0]["reason"].text() == "ResourceVersionTooLarge");
    CHECK(reply->headers.get("Retry-After") == "1");
}

TEST_CASE("a list of another namespace or of all") {
    TestServer server;
    fill(server);
    CHECK(names(server.get("/api/v1/namespaces/kube-system/configmaps")).empty());
    CHECK(names(server.get("/api/v1/configmaps")) == "abcde");
}

TEST_CASE("tables have the columns of kubectl") {
    TestServer server;
    fill(server);
    const ReplyPtr reply =
        server.get_as(maps, "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
    const api::Value table = reply->json();
    CHECK(table["kind"].text() == "Table");
    CHECK(table["columnDefinitions"][0]["name"].text() == "Name");
    CHECK(table["rows"].size() == 5);
    CHECK(table["rows"][0]["cells"][0].text() == "a");
    CHECK(table["rows"][0]["object"]["kind"].text() == "PartialObjectMetadata");
    const ReplyPtr bare =
        server.get_as(maps + "?includeObject=None", "application/json;as=Table;v=v1;g=meta.k8s.io");
    CHECK(bare->json()["rows"][0].has("object"));
    CHECK(bare->json()["rows"][0]["object"].is_null());
}

TEST_CASE("fields that are not set are selected by what they stand for") {
    TestServer server;
    const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
    for (const std::string name : {"a", "b"}) {
        const auto made = server.post(
            jobs, R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":")" + name +
                      R"("},"spec":{"template":{"spec":{"restartPolicy":"Never",)"
                      R"("containers":[{"name":"c","image":"i"}]}}}})");
        REQUIRE(made->status == 201);
    }
    REQUIRE(server.merge(jobs + "/b/status", R"({"status":{"succeeded":2}})")->status == 200);
    const auto selected = [&](const std::string& what) {
        return names(server.get(jobs + "?fieldSelector=status.successful" + what));
    };
    CHECK(selected("%3D0") == "a");
    CHECK(selected("!%3D0") == "b");
    CHECK(selected("%3D2") == "b");
    CHECK(selected("%3D1").empty());
}

TEST_CASE("metadata alone can be asked for") {
    TestServer server;
    fill(server);
    const api::Value list =
        server.get_as(maps, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")
            ->json();
    CHECK(list["kind"].text() == "PartialObjectMetadataList");
    CHECK(list["items"][0]["kind"].text() == "PartialObjectMetadata");
    CHECK(!list["items"][0].has("data"));
}

TEST_CASE("what cannot be answered is not acceptable, YAML is") {
    TestServer server;
    CHECK(server.get_as(maps, "application/vnd.kubernetes.protobuf")->status == 406);
    CHECK(server.get_as(maps, "application/vnd.kubernetes.protobuf,application/json")->status ==
          200);
    CHECK(server.get_as(maps, "application/yaml")->text.find("kind: ConfigMapList") !=
          std::string::npos);
}

}  // namespace
}  // namespace muster::apiserver
