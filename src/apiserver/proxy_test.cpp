// apiserver/proxy_test.cpp - logs, streams and proxies find their pod and go to the node.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

/// A node that writes down what it is asked for.
struct RecordedNode : Node {
    std::string asked;
    net::Request last;

    void answer(const std::shared_ptr<net::Responder>& responder) {
        net::Response response;
        response.body = make_bytes("from the pod");
        responder->respond(std::move(response));
    }
    void logs(const net::Request& request, const std::string& ns, const std::string& pod,
              std::shared_ptr<net::Responder> responder) override {
        asked = "logs " + ns + "/" + pod + " " + std::string(request.query_value("container"));
        answer(responder);
    }
    void stream(const net::Request&, const std::string& verb, const std::string& ns,
                const std::string& pod, std::shared_ptr<net::Responder> responder) override {
        asked = verb + " " + ns + "/" + pod;
        answer(responder);
    }
    void proxy(net::Request request, const std::string& address, int port,
               std::shared_ptr<net::Responder> responder) override {
        asked = request.path + " at " + address + ":" + std::to_string(port);
        last = std::move(request);
        answer(responder);
    }
};

const std::string space = "/api/v1/namespaces/default";

/// A running pod `p` behind the service `s`, port 80 to 8265.
void run_pod(TestServer& server) {
    server.post(space + "/pods",
                R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"n",)"
                R"("containers":[{"name":"c","image":"i","ports":[{"name":"web",)"
                R"("containerPort":8265}]}]}})");
    server.merge(space + "/pods/p/status",
                 R"({"status":{"phase":"Running","podIP":"10.244.1.7"}})");
    server.post(space + "/services",
                R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":)"
                R"({"ports":[{"name":"web","port":80,"targetPort":8265}]}})");
    const ReplyPtr slice = server.post(
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"s-1",)"
        R"("labels":{"kubernetes.io/service-name":"s"}},"addressType":"IPv4","endpoints":)"
        R"([{"addresses":["10.244.1.6"],"conditions":{"ready":false}},)"
        R"({"addresses":["10.244.1.7"],"conditions":{"ready":true}}],)"
        R"("ports":[{"name":"web","port":8265,"protocol":"TCP"}]})");
    REQUIRE(slice->status == 201);
}

TEST_CASE("without a node these are unavailable") {
    TestServer server;
    run_pod(server);
    CHECK(server.get(space + "/pods/p/log")->status == 503);
    CHECK(server.get(space + "/services/s/proxy/")->status == 503);
}

TEST_CASE("logs and streams are the node's") {
    TestServer server;
    RecordedNode node;
    server.server.set_node(&node);
    run_pod(server);
    CHECK(server.get(space + "/pods/p/log?container=c")->text == "from the pod");
    CHECK(node.asked == "logs default/p c");
    server.get(space + "/pods/p/exec?command=ls");
    CHECK(node.asked == "exec default/p");
    CHECK(server.get(space + "/pods/q/log")->status == 404);
}

TEST_CASE("a proxy finds a ready pod and its port") {
    TestServer server;
    RecordedNode node;
    server.server.set_node(&node);
    run_pod(server);
    const std::pair<const char*, const char*> cases[] = {
        {"/services/s/proxy/api/jobs/", "/api/jobs/ at 10.244.1.7:8265"},
        {"/services/s:80/proxy/", "/ at 10.244.1.7:8265"},
        {"/services/s:web/proxy/a%2Fb", "/a%2Fb at 10.244.1.7:8265"},
        {"/services/http:s:web/proxy/x", "/x at 10.244.1.7:8265"},
        {"/pods/p/proxy/x", "/x at 10.244.1.7:8265"},
        {"/pods/p:web/proxy/x", "/x at 10.244.1.7:8265"},
        {"/pods/p:9000/proxy/x", "/x at 10.244.1.7:9000"},
    };
    for (const auto& [path, asked] : cases) {
        CAPTURE(path);
        CHECK(server.get(space + path)->status == 200);
        CHECK(node.asked == asked);
    }
    CHECK(server.get(space + "/services/s:81/proxy/")->status == 503);
    CHECK(server.get(space + "/services/https:s:80/proxy/")->status == 400);
    CHECK(server.get(space + "/services/s/proxy")->headers.get("Location") ==
          space + "/services/s/proxy/");
}

TEST_CASE("credentials stay here") {
    Options options;
    options.static_tokens.push_back({"secret", "robot", {"system:masters"}});
    TestServer server(std::move(options));
    RecordedNode node;
    server.server.set_node(&node);
    run_pod(server);
    net::Request request = server.request("GET", space + "/pods/p/proxy/");
    request.headers.set("Authorization", "Bearer secret");
    server.send(std::move(request));
    CHECK(!node.last.headers.has("Authorization"));
}

}  // namespace
}  // namespace muster::apiserver
