// apiserver/measure_test.cpp - what is counted of requests, and which answers are compressed.
#include "apiserver/measure.h"

#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("requests are counted by what they ask for and how they end") {
    TestServer server;
    const std::string maps = "/api/v1/namespaces/default/configmaps";
    const std::string map = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})";
    server.post(maps, map);
    server.post(maps, map);
    server.get(maps);
    server.get(maps + "/nothing");
    server.get(maps + "?watch=1");
    server.get(maps + "/a/made-up-by-somebody");
    server.get("/apis/made-up-by-somebody/v1/things");
    server.apply(maps + "/b?fieldManager=x", map);
    const ReplyPtr reply = server.get("/metrics");
    CHECK(reply->headers.get("Content-Type") == "text/plain; version=0.0.4; charset=utf-8");
    const auto counted = [&](const std::string& code, const std::string& scope,
                             const std::string& verb) {
        return "apiserver_request_total{code=\"" + code +
               "\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"configmaps\",scope="
               "\"" +
               scope + "\",subresource=\"\",verb=\"" + verb + "\",version=\"v1\"} ";
    };
    CHECK(has(reply->text, counted("201", "namespace", "POST") + "1\n"));
    CHECK(has(reply->text, counted("409", "namespace", "POST") + "1\n"));
    CHECK(has(reply->text, counted("200", "namespace", "LIST") + "1\n"));
    CHECK(has(reply->text, counted("404", "resource", "GET") + "1\n"));
    CHECK(has(reply->text, counted("200", "namespace", "WATCH") + "1\n"));
    CHECK(has(reply->text, "verb=\"APPLY\""));
    CHECK(!has(reply->text, "made-up"));
    CHECK(has(reply->text,
              "apiserver_request_duration_seconds_count{component=\"apiserver\",dry_run=\"\",group="
              "\"\",resource=\"configmaps\",scope=\"namespace\",subresource=\"\",verb=\"POST\","
              "version=\"v1\"} 2\n"));
    CHECK(!has(reply->text,
               "duration_seconds_count{component=\"apiserver\",dry_run=\"\",group=\"\","
               "resource=\"configmaps\",scope=\"namespace\",subresource=\"\",verb="
               "\"WATCH\""));
}

TEST_CASE("large answers are compressed for whoever can read that") {
    struct Packed : Reply {
        bool packed = false;
        void respond(net::Response response) override {
            packed = response.packing == net::Response::Packing::gzip;
            Reply::respond(std::move(response));
        }
    };
    TestServer server;
    const std::string maps = "/api/v1/namespaces/default/configmaps";
    server.post(maps,
                R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":")" +
                    std::string(200'000, 'x') + "\"}}");
    const auto is_packed = [&](const std::string& path, const std::string& accepts) {
        net::Request request = server.request("GET", path);
        if (!accepts.empty()) request.headers.set("Accept-Encoding", accepts);
        const auto reply = std::make_shared<Packed>();
        server.server.handle(std::move(request), reply);
        server.loop.run();
        CHECK(reply->status == 200);
        return reply->packed;
    };
    CHECK(is_packed(maps, "gzip"));
    CHECK(is_packed(maps + "/a", "br, gzip;q=0.5"));
    CHECK(!is_packed(maps, ""));
    CHECK(!is_packed(maps, "br, gzip;q=0"));
    CHECK(!is_packed("/api", "gzip"));
}

}  // namespace
}  // namespace muster::apiserver
