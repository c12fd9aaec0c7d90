// apiserver/proxy_test.cpp - logs, streams and proxies find their pod and go to the node.
#include <doctest/doctest.h>

#include "apiserver/played_webhooks.h"
#include "net/gzip.h"

namespace muster::apiserver {
namespace {

/// A node that writes down what it is asked for.
struct RecordedNode : Node {
    std::string asked;
    net::Request last;
    net::Response reply;  // What the pod answers; without a body "from the pod".

    void answer(const std::shared_ptr<net::Responder>& responder) {
        net::Response response = reply;
        if (!response.body) response.body = make_bytes("from the pod");
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
    void proxy(net::Request request, net::Target target,
               std::shared_ptr<net::Responder> responder) override {
        const bool secure = target.scheme == net::Target::Scheme::https;
        asked = request.method + " " + request.path + " at " + (secure ? "https " : "") +
                target.host + ":" + std::to_string(target.port);
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

TEST_CASE("who acts inside pods may be checked beside their rights; ports and logs are open") {
    TestServer server;
    RecordedNode node;
    server.server.set_node(&node);
    run_pod(server);
    server.server.add_connection_check(
        [](const std::vector<std::string>&) { return std::string("not you"); });
    for (const char* part : {"exec?command=ls", "attach"}) {
        const auto answer = server.get(space + "/pods/p/" + part);
        CHECK(answer->status == 403);
        CHECK(answer->message().ends_with("not you"));
    }
    CHECK(node.asked.empty());
    CHECK(server.get(space + "/pods/p/portforward?ports=1")->text == "from the pod");
    CHECK(server.get(space + "/pods/p/log")->status == 200);
}

TEST_CASE("a proxy finds a ready pod and its port") {
    TestServer server;
    RecordedNode node;
    server.server.set_node(&node);
    run_pod(server);
    const std::pair<const char*, const char*> cases[] = {
        {"/services/s/proxy/api/jobs/", "GET /api/jobs/ at 10.244.1.7:8265"},
        {"/services/s:80/proxy/", "GET / at 10.244.1.7:8265"},
        {"/services/s:web/proxy/a%2Fb", "GET /a%2Fb at 10.244.1.7:8265"},
        {"/services/http:s:web/proxy/x", "GET /x at 10.244.1.7:8265"},
        {"/services/https:s:web/proxy/x", "GET /x at https 10.244.1.7:8265"},
        {"/services/https:s:/proxy/x", "GET /x at https 10.244.1.7:8265"},
        {"/pods/p/proxy/x", "GET /x at 10.244.1.7:8265"},
        {"/pods/p:web/proxy/x", "GET /x at 10.244.1.7:8265"},
        {"/pods/p:9000/proxy/x", "GET /x at 10.244.1.7:9000"},
        {"/pods/https:p:9000/proxy/", "GET / at https 10.244.1.7:9000"},
    };
    for (const auto& [path, asked] : cases) {
        CAPTURE(path);
        CHECK(server.get(space + path)->status == 200);
        CHECK(node.asked == asked);
    }
    CHECK(server.get(space + "/services/s/proxy")->headers.get("Location") ==
          space + "/services/s/proxy/");
}

TEST_CASE("webhooks are asked about connections") {
    WebhookServer server;
    RecordedNode node;
    server.server.set_node(&node);
    run_pod(server);
    PlayedWebhook hook;
    hook.rules = R"([{"operations":["CONNECT"],"apiGroups":[""],"apiVersions":["*"],"resources":)"
                 R"(["pods/exec","services/proxy"]}])";
    server.configure(Phase::validating, hook);
    bool allowed = true;
    server.webhooks.play = [&](const PlayedCall& call) {
        call.answer(review_answer(call, allowed));
    };
    CHECK(server.get(space + "/pods/p/exec?command=ls&command=-l&stdin=true&container=c")->text ==
          "from the pod");
    const api::Value request = server.webhooks.calls[0].document["request"];
    CHECK(request["operation"].text() == "CONNECT");
    CHECK(request["kind"]["kind"].text() == "PodExecOptions");
    CHECK(request["object"]["command"] == api::Value::array({"ls", "-l"}));
    CHECK(request["object"]["stdin"].boolean_or(false));
    CHECK(request["options"].is_null());
    CHECK(server.get(space + "/services/s/proxy/x")->status == 200);
    CHECK(server.get(space + "/pods/p/log")->status == 200);
    CHECK(server.webhooks.calls.size() == 2);
    allowed = false;
    CHECK(server.get(space + "/pods/p/exec?command=ls")->message() ==
          "admission webhook \"x.example.com\" denied the request without explanation");
}

TEST_CASE("a proxy that leads nowhere says why") {
    TestServer server;
    RecordedNode node;
    server.server.set_node(&node);
    run_pod(server);
    const auto refusal = [&](const std::string& path) {
        const ReplyPtr reply = server.get(space + path);
        return std::to_string(reply->status) + " " + reply->message();
    };
    CHECK(refusal("/services/s:81/proxy/") == "503 no service port 81 found for service \"s\"");
    CHECK(refusal("/services/s:admin/proxy/") ==
          "503 no endpoints available for service \"s\": it has no port \"admin\"");
    CHECK(refusal("/services/t/proxy/") == "404 services \"t\" not found");
    CHECK(refusal("/services/ftp:s:80/proxy/").starts_with("400 invalid service request"));
    CHECK(refusal("/pods/p:none/proxy/") == "400 pod p has no port \"none\"");
    server.remove("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/s-1");
    CHECK(refusal("/services/s/proxy/") ==
          "503 no endpoints available for service \"s\": no pod behind it is ready");
    node.reply.status = 0;
    node.reply.body = make_bytes("Connection refused");
    CHECK(refusal("/pods/p/proxy/") == "503 error trying to reach service: Connection refused");
}

TEST_CASE("every method, query and body reaches the pod") {
    TestServer server;
    RecordedNode node;
    server.server.set_node(&node);
    run_pod(server);
    for (const std::string method : {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}) {
        CAPTURE(method);
        net::Request request = server.request(method, space + "/services/s/proxy/x?a=1&b", "body");
        request.query_text = "a=1&b";
        request.headers.set("Connection", "close, X-Own");
        request.headers.set("X-Own", "1");
        CHECK(server.send(std::move(request))->status == 200);
        CHECK(node.asked == method + " /x at 10.244.1.7:8265");
        CHECK(node.last.query_text == "a=1&b");
        CHECK(*node.last.body == "body");
        CHECK(!node.last.headers.has("Connection"));
        CHECK(!node.last.headers.has("X-Own"));
        CHECK(node.last.headers.get("X-Forwarded-Uri") == space + "/services/s/proxy/x");
    }
}

TEST_CASE("redirects and pages lead below the proxy's path") {
    TestServer server;
    RecordedNode node;
    server.server.set_node(&node);
    run_pod(server);
    const std::string prefix = space + "/services/s/proxy";
    node.reply.status = 302;
    node.reply.headers.set("Location", "http://10.244.1.7:8265/login?next=/");
    node.reply.headers.set("Access-Control-Allow-Origin", "*");
    const ReplyPtr moved = server.get(prefix + "/");
    CHECK(moved->status == 302);
    CHECK(moved->headers.get("Location") == prefix + "/login?next=/");
    CHECK(!moved->headers.has("Access-Control-Allow-Origin"));
    node.reply = {};
    node.reply.headers.set("Content-Type", "text/html; charset=utf-8");
    node.reply.body = make_bytes(R"(<a href="/jobs">jobs</a>)");
    CHECK(server.get(prefix + "/")->text == "<a href=\"" + prefix + "/jobs\">jobs</a>");
    node.reply.headers.set("Content-Encoding", "gzip");
    node.reply.body = make_bytes(net::gzip(R"(<a href='/jobs'>)"));
    const ReplyPtr packed = server.get(prefix + "/");
    CHECK(packed->text == "<a href='" + prefix + "/jobs'>");
    CHECK(!packed->headers.has("Content-Encoding"));
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
    request.headers.set("Sec-WebSocket-Protocol",
                        "base64url.bearer.authorization.k8s.io.c2VjcmV0, chat");
    server.send(std::move(request));
    CHECK(!node.last.headers.has("Authorization"));
    CHECK(node.last.headers.get("Sec-WebSocket-Protocol") == "chat");
}

}  // namespace
}  // namespace muster::apiserver
