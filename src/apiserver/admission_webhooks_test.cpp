// apiserver/admission_webhooks_test.cpp - writes that somebody's webhooks are asked about.
#include <doctest/doctest.h>

#include "apiserver/played_webhooks.h"
#include "net/pki.h"

namespace muster::apiserver {
namespace {

const std::string maps = "/api/v1/namespaces/default/configmaps";

std::string map_named(const std::string& name, const std::string& more = "") {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + "\"}" + more +
           "}";
}

std::string creations_of(const std::string& plural) {
    return R"([{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":[")" +
           plural + R"("]}])";
}

PlayedWebhook hook(const std::string& name, const std::string& more = "") {
    PlayedWebhook made;
    made.name = name;
    made.more = more;
    return made;
}

TEST_CASE("a write waits for its webhooks, and the server does not") {
    WebhookServer server;
    server.configure(Phase::mutating, hook("m"));
    REQUIRE_MESSAGE(server.configured->status == 201, server.configured->text);
    server.configure(Phase::validating, hook("v"));
    const ReplyPtr made = server.post(maps, map_named("a"));
    CHECK(made->answers == 0);
    CHECK(server.get("/api/v1/namespaces/default")->status == 200);
    REQUIRE(server.webhooks.calls.size() == 1);
    const PlayedCall first = server.webhooks.calls[0];
    CHECK(first.call.url == "https://127.0.0.1:9443/m?timeout=10s");
    const api::Value& request = first.document["request"];
    CHECK(request["object"]["metadata"]["uid"].is_null());
    CHECK(request["oldObject"].is_null());
    CHECK(request["name"].text() == "a");
    CHECK(request["namespace"].text() == "default");
    CHECK(request["userInfo"]["username"].text() == "system:admin");
    CHECK(request["options"]["kind"].text() == "CreateOptions");
    CHECK(request["dryRun"] == api::Value(false));
    first.answer(review_answer(first, true, R"([{"op":"add","path":"/data","value":{"k":"v"}}])"));
    server.loop.run();
    REQUIRE(server.webhooks.calls.size() == 2);
    const PlayedCall second = server.webhooks.calls[1];
    CHECK(second.document["request"]["object"]["data"]["k"].text() == "v");
    CHECK(!second.document["request"]["object"]["metadata"]["uid"].text().empty());
    CHECK(made->answers == 0);
    second.answer(review_answer(second, true));
    server.loop.run();
    CHECK(made->status == 201);
    CHECK(made->json()["data"]["k"].text() == "v");
}

TEST_CASE("a refusal is the webhook's Status, told as the API server tells it") {
    WebhookServer server;
    server.configure(Phase::validating, hook("v"));
    api::Value said;
    server.webhooks.play = [&](const PlayedCall& call) {
        api::Value answer = review_answer(call, false);
        answer.at("response").set("status", said);
        answer.at("response").set("warnings", api::Value::array({"mind the gap"}));
        call.answer(answer);
    };
    const auto refused = [&](api::Value status) {
        said = std::move(status);
        const ReplyPtr reply = server.post(maps, map_named("a"));
        CHECK(reply->headers.get("Warning") == "299 - \"mind the gap\"");
        return std::to_string(reply->status) + " " + reply->reason() + ": " + reply->message();
    };
    const std::string denied = "admission webhook \"v.example.com\" denied the request";
    CHECK(refused(nullptr) == "400 : " + denied + " without explanation");
    CHECK(
        refused(api::Value::object({{"message", "no"}, {"code", 403}, {"reason", "Forbidden"}})) ==
        "403 Forbidden: " + denied + ": no");
    CHECK(refused(api::Value::object({{"reason", "Because"}, {"code", 200}})) ==
          "400 Because: " + denied + ": Because");
    CHECK(refused(api::Value::object({{"message", "x"}, {"code", 70000}})) ==
          "500 : " + denied + ": x");
}

TEST_CASE("what is no answer fails the write, or is passed over") {
    WebhookServer server;
    server.configure(Phase::mutating, hook("m"));
    std::function<void(const PlayedCall&)> answer;
    server.webhooks.play = [&](const PlayedCall& call) { answer(call); };
    const auto told = [&](std::function<void(const PlayedCall&)> play) {
        answer = std::move(play);
        const ReplyPtr reply = server.post(maps, map_named("a"));
        CHECK(reply->status == 500);
        CHECK(reply->reason() == "InternalError");
        const std::string text = reply->message();
        CHECK(text == "Internal error occurred: " +
                          reply->json()["details"]["causes"][0]["message"].text());
        const std::string usual =
            "Internal error occurred: failed calling webhook \"m.example.com\": ";
        return text.starts_with(usual) ? text.substr(usual.size()) : text;
    };
    const std::string post =
        "failed to call webhook: Post \"https://127.0.0.1:9443/m?timeout=10s\": ";
    CHECK(told([](const PlayedCall& call) { call.fail("cannot connect: Connection refused"); }) ==
          post + "dial tcp 127.0.0.1:9443: connect: connection refused");
    CHECK(told([](const PlayedCall& call) { call.fail("the other end closed the connection"); }) ==
          post + "EOF");
    CHECK(told([](const PlayedCall& call) { call.fail("no such host"); }) ==
          post + "dial tcp: lookup 127.0.0.1: no such host");
    CHECK(told([](const PlayedCall& call) { call.answer("oops", 500); }) ==
          "failed to call webhook: an error on the server (\"\\\"oops\\\"\") has prevented the "
          "request from succeeding");
    CHECK(told([](const PlayedCall& call) { call.answer(api::Value::object()); }) ==
          "received invalid webhook response: webhook response was absent");
    CHECK(told([](const PlayedCall& call) {
              api::Value wrong = review_answer(call, true);
              wrong.at("response").set("uid", "other");
              call.answer(wrong);
          }).starts_with("received invalid webhook response: expected response.uid=\""));
    CHECK(told([](const PlayedCall& call) {
              api::Value wrong = review_answer(call, true);
              wrong.set("apiVersion", "v1");
              call.answer(wrong);
          }) ==
          "received invalid webhook response: expected webhook response of "
          "admission.k8s.io/v1, Kind=AdmissionReview, got v1, Kind=AdmissionReview");
    CHECK(told([](const PlayedCall& call) {
              api::Value wrong = review_answer(call, true, "[]");
              wrong.at("response").erase("patchType");
              call.answer(wrong);
          }) ==
          "received invalid webhook response: webhook returned response.patch but not "
          "response.patchType");
    CHECK(told([](const PlayedCall& call) {
              call.answer(review_answer(call, true, R"([{"op":"remove","path":"/none"}])"));
          }) ==
          "Internal error occurred: error in remove for path: '/none': Unable to remove "
          "nonexistent key: none: missing value");
    server.remove(mutating_path + "/m");
    server.configure(Phase::mutating, hook("m", R"("failurePolicy":"Ignore",)"));
    CHECK(server.post(maps, map_named("a"))->status ==
          500);  // A patch that fails is no failure to call.
    answer = [](const PlayedCall& call) { call.fail("gone"); };
    CHECK(server.post(maps, map_named("a"))->status == 201);
}

TEST_CASE("patience ends, and what comes later is not heard") {
    WebhookServer server;
    server.configure(Phase::validating, hook("v", R"("timeoutSeconds":2,)"));
    const ReplyPtr made = server.post(maps, map_named("a"));
    CHECK(server.webhooks.calls[0].call.timeout == seconds(2));
    CHECK(server.webhooks.dropped == 0);
    server.loop.advance(seconds(3));
    CHECK(server.webhooks.dropped == 1);
    CHECK(made->status == 500);
    CHECK(made->message() ==
          "Internal error occurred: failed calling webhook \"v.example.com\": failed to call "
          "webhook: Post \"https://127.0.0.1:9443/v?timeout=2s\": context deadline exceeded");
    const PlayedCall late = server.webhooks.calls[0];
    late.answer(review_answer(late, true));
    server.loop.run();
    CHECK(made->answers == 1);
    CHECK(server.get(maps + "/a")->status == 404);
}

TEST_CASE("mutating webhooks come in the order of their names, once more when it is needed") {
    WebhookServer server;
    server.configure(Phase::mutating, hook("b", R"("reinvocationPolicy":"IfNeeded",)"));
    server.configure(Phase::mutating, hook("c"));
    server.configure(Phase::mutating, hook("a"));
    server.webhooks.play = [](const PlayedCall& call) {
        const bool changes = call.call.request.path == "/c";
        call.answer(review_answer(
            call, true,
            changes ? R"([{"op":"add","path":"/metadata/labels","value":{"by":"c"}}])" : ""));
    };
    const ReplyPtr made = server.post(maps, map_named("a"));
    CHECK(made->status == 201);
    CHECK(made->json()["metadata"]["labels"]["by"].text() == "c");
    CHECK(server.webhooks.story() == "a CREATE, b CREATE, c CREATE, b CREATE");
}

TEST_CASE("a write whose object changed meanwhile begins anew, or is a conflict") {
    WebhookServer server;
    server.post(maps, map_named("a"));
    server.configure(Phase::validating, hook("v"));
    const ReplyPtr patch = server.merge(maps + "/a", R"({"data":{"x":"1"}})");
    const ReplyPtr whole = server.put(
        maps + "/a",
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","resourceVersion":")" +
            server.get(maps + "/a")->json()["metadata"]["resourceVersion"].text() + R"("}})");
    REQUIRE(server.webhooks.calls.size() == 2);
    server.webhooks.play = [](const PlayedCall& call) { call.answer(review_answer(call, true)); };
    CHECK(server.merge(maps + "/a", R"({"data":{"y":"2"}})")->status == 200);
    for (const std::size_t i : {0u, 1u}) {
        const PlayedCall call = server.webhooks.calls[i];
        call.answer(review_answer(call, true));
        server.loop.run();
    }
    CHECK(patch->status == 200);
    CHECK(patch->json()["data"] == api::Value::object({{"x", "1"}, {"y", "2"}}));
    CHECK(whole->status == 409);
    CHECK(whole->reason() == "Conflict");
}

TEST_CASE("a namespace that goes while a webhook is asked takes nothing more") {
    WebhookServer server;
    const std::string spaces = "/api/v1/namespaces";
    server.post(spaces, R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})");
    server.configure(Phase::validating, hook("v"));
    const ReplyPtr made = server.post(spaces + "/n/configmaps", map_named("a"));
    CHECK(server.remove(spaces + "/n")->status == 200);
    const PlayedCall call = server.webhooks.calls[0];
    call.answer(review_answer(call, true));
    server.loop.run();
    CHECK(made->status == 403);
    CHECK(made->message().find("because it is being terminated") != std::string::npos);
}

TEST_CASE("who is asked about what") {
    WebhookServer server;
    const std::string all = R"([{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"],)"
                            R"("resources":["*/*"]}])";
    PlayedWebhook everything = hook("v");
    everything.rules = all;
    server.configure(Phase::validating, everything);
    server.webhooks.play = [](const PlayedCall& call) { call.answer(review_answer(call, true)); };
    const auto asked = [&](const ReplyPtr& reply) {
        CHECK_MESSAGE(reply->status < 300, reply->text);
        const std::string told = server.webhooks.story();
        std::string more;
        for (const PlayedCall& one : server.webhooks.calls) {
            const api::Value& request = one.document["request"];
            more += " " + request["kind"]["kind"].text() + " " +
                    request["resource"]["resource"].text() + "/" + request["subResource"].text() +
                    " " + request["name"].text() + "@" + request["namespace"].text();
        }
        server.webhooks.calls.clear();
        return told.empty() ? told : told.substr(2) + more;
    };
    const std::string spaces = "/api/v1/namespaces";
    CHECK(asked(server.post(spaces,
                            R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})")) ==
          "CREATE Namespace namespaces/ n@n");
    CHECK(asked(server.post(spaces + "/n/pods",
                            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":)"
                            R"({"containers":[{"name":"c","image":"i"}]}})")) ==
          "CREATE Pod pods/ p@n");
    CHECK(asked(server.post(spaces + "/n/pods/p/binding",
                            R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p"},)"
                            R"("target":{"kind":"Node","name":"w"}})")) ==
          "CREATE Binding pods/binding p@n");
    CHECK(server.get(spaces + "/n/pods/p")->json()["spec"]["nodeName"].text() == "w");
    CHECK(asked(server.merge(spaces + "/n/pods/p/status", R"({"status":{"phase":"Running"}})")) ==
          "UPDATE Pod pods/status p@n");
    CHECK(asked(server.post(
              spaces + "/n/pods/p/eviction",
              R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})")) ==
          "CREATE Eviction pods/eviction p@n");
    CHECK(asked(server.remove(spaces + "/n/pods/p?gracePeriodSeconds=0")) ==
          "DELETE Pod pods/ p@n");
    CHECK(asked(server.post(
              "/apis/apps/v1/namespaces/n/deployments",
              R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},)"
              R"("spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":)"
              R"({"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")) ==
          "CREATE Deployment deployments/ d@n");
    CHECK(asked(server.merge("/apis/apps/v1/namespaces/n/deployments/d/scale",
                             R"({"spec":{"replicas":3}})")) ==
          "UPDATE Scale deployments/scale d@n");
    CHECK(asked(server.post(mutating_path, hook("other").text(Phase::mutating))).empty());
    server.post(maps, map_named("a"));
    server.post(maps, map_named("b"));
    server.webhooks.calls.clear();
    CHECK(server.remove(maps)->status == 200);
    CHECK(server.webhooks.calls.size() == 4);  // Both of both webhooks.
    server.remove(mutating_path + "/other");
    for (int i = 0; i < 40; ++i)
        server.post(maps, map_named("m" + std::to_string(i)));
    server.webhooks.calls.clear();
    server.webhooks.play = nullptr;
    const ReplyPtr many = server.remove(maps);
    CHECK(server.webhooks.calls.size() == 16);  // Not all at once.
    for (std::size_t i = 0; i < server.webhooks.calls.size(); ++i) {
        const PlayedCall call = server.webhooks.calls[i];
        call.answer(review_answer(call, i != 20));
        server.loop.run();
    }
    CHECK(server.webhooks.calls.size() == 40);
    CHECK(many->status == 400);
    CHECK(server.get(maps)->json()["items"].size() == 1);
}

TEST_CASE("selectors and conditions pass requests over") {
    WebhookServer server;
    server.webhooks.play = [](const PlayedCall& call) { call.answer(review_answer(call, true)); };
    const auto calls = [&](const std::string& more, const std::string& body,
                           const std::string& user = "system:admin") {
        server.remove(validating_path + "/v");
        server.configure(Phase::validating, hook("v", more));
        REQUIRE_MESSAGE(server.configured->status == 201, server.configured->text);
        server.remove(maps + "/a");
        server.webhooks.calls.clear();
        server.user = user;
        const ReplyPtr made = server.post(maps, body);
        server.user = "system:admin";
        CHECK_MESSAGE(made->status == 201, made->text);
        return server.webhooks.calls.size();
    };
    const std::string labelled =
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","labels":{"l":"x"}}})";
    const std::string plain = map_named("a");
    const std::string selector = R"("objectSelector":{"matchLabels":{"l":"x"}},)";
    CHECK(calls(selector, labelled) == 1);
    CHECK(calls(selector, plain) == 0);
    CHECK(calls(R"("namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name",)"
                R"("operator":"NotIn","values":["default"]}]},)",
                plain) == 0);
    const auto condition = [](const std::string& text) {
        return R"("matchConditions":[{"name":"c","expression":")" + text + R"("}],)";
    };
    CHECK(calls(condition("request.userInfo.username != 'robot'"), plain) == 1);
    CHECK(calls(condition("request.userInfo.username != 'robot'"), plain, "robot") == 0);
    CHECK(calls(condition("has(object.metadata.labels) && oldObject == null"), labelled) == 1);
    CHECK(calls(condition("request.operation == 'DELETE'"), plain) == 0);
    server.remove(maps + "/a");
    server.remove(validating_path + "/v");
    server.configure(Phase::validating, hook("v", condition("object.data.x == 'y'")));
    const ReplyPtr unsaid = server.post(maps, plain);
    CHECK(unsaid->status == 403);
    CHECK(unsaid->message() ==
          "configmaps \"a\" is forbidden: expression 'object.data.x == 'y'' resulted in error: no "
          "such key: data");
}

TEST_CASE("a condition that asks an authorizer is refused with its configuration") {
    WebhookServer server;
    const std::string asks = "authorizer.group('').resource('pods').check('get').allowed()";
    server.configure(
        Phase::validating,
        hook("v", R"("matchConditions":[{"name":"c","expression":")" + asks + "\"}],"));
    CHECK(server.configured->status == 422);
    CHECK(server.configured->message().find("this server knows no `authorizer`") !=
          std::string::npos);
}

TEST_CASE("what a mutating webhook makes is checked as any object is") {
    WebhookServer server;
    server.configure(Phase::mutating, hook("m"));
    std::string patch;
    server.webhooks.play = [&](const PlayedCall& call) {
        call.answer(review_answer(call, true, patch));
    };
    const auto status = [&](const std::string& operations) {
        patch = operations;
        return server.post(maps, map_named("a"))->status;
    };
    CHECK(status(R"([{"op":"add","path":"/metadata/labels","value":{"a b":"c"}}])") == 422);
    CHECK(status(R"([{"op":"add","path":"/data","value":7}])") == 500);
    CHECK(status(R"([{"op":"replace","path":"/kind","value":"Secret"}])") == 500);
    CHECK(status(R"([{"op":"add","path":"/unknown","value":1}])") == 201);
    CHECK(!server.get(maps + "/a")->json().has("unknown"));
    patch = R"([{"op":"add","path":"/metadata/managedFields","value":[{"manager":7}]}])";
    const ReplyPtr owned = server.post(maps, R"({"metadata":{"name":"o"},"data":{"o":"1"}})");
    CHECK(owned->json()["metadata"]["managedFields"][0]["manager"].text() == "tester");
    patch = R"([{"op":"replace","path":"/metadata/uid","value":"mine"}])";
    const ReplyPtr mine = server.merge(maps + "/a", R"({"data":{"a":"b"}})");
    CHECK(mine->status == 422);
    CHECK(mine->message().find("metadata.uid: Invalid value: \"mine\": field is immutable") !=
          std::string::npos);
    patch = R"([{"op":"add","path":"/data","value":{}}])";
    CHECK(server.remove(maps + "/a")->status == 500);
}

TEST_CASE("what is of the cluster stays of the cluster, whatever a webhook adds") {
    WebhookServer server;
    PlayedWebhook added = hook("m");
    added.rules = creations_of("namespaces");
    server.configure(Phase::mutating, added);
    server.webhooks.play = [](const PlayedCall& call) {
        call.answer(review_answer(call, true,
                                  R"([{"op":"add","path":"/metadata/namespace","value":"x"}])"));
    };
    const std::string all = "/api/v1/namespaces";
    const std::string space = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})";
    const ReplyPtr made = server.post(all, space);
    CHECK(made->status == 201);
    CHECK(server.webhooks.calls.size() == 1);
    CHECK(!made->json()["metadata"].has("namespace"));
    CHECK(server.get(all + "/n")->status == 200);
    CHECK(server.post(all, space)->status == 409);
}

TEST_CASE("of very many warnings a few are told, and nobody waits for the rest") {
    WebhookServer server;
    server.configure(Phase::validating, hook("v"));
    server.webhooks.play = [](const PlayedCall& call) {
        api::Value answer = review_answer(call, true);
        api::Value& warnings = answer.at("response").set("warnings", api::Value::array({}));
        for (int i = 0; i < 200'000; ++i)
            warnings.push(std::to_string(i));
        call.answer(answer);
    };
    const ReplyPtr made = server.post(maps, map_named("a"));
    CHECK(made->status == 201);
    CHECK(made->headers.get("Warning").size() < 8192);
}

TEST_CASE("a name that the server makes up is not told to mutating webhooks") {
    WebhookServer server;
    server.configure(Phase::mutating, hook("m"));
    server.configure(Phase::validating, hook("v"));
    server.webhooks.play = [](const PlayedCall& call) {
        call.answer(review_answer(call, true,
                                  call.call.request.path == "/m"
                                      ? R"([{"op":"add","path":"/data","value":{"k":"v"}}])"
                                      : ""));
    };
    const ReplyPtr made = server.post(
        maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"g-"}})");
    CHECK(made->status == 201);
    CHECK(made->json()["metadata"]["name"].text().starts_with("g-"));
    CHECK(!server.webhooks.calls[0].document["request"].has("name"));
    CHECK(!server.webhooks.calls[0].document["request"]["object"]["metadata"].has("name"));
    CHECK(server.webhooks.calls[1].document["request"]["name"].text().starts_with("g-"));
}

TEST_CASE("a service is asked for where its pods are") {
    WebhookServer server;
    const std::string authority = net::make_authority("a", server.loop.now()).certificate_pem;
    PlayedWebhook by_service = hook("v");
    std::string text = by_service.text(Phase::validating);
    const std::size_t from = text.find(R"({"url")");
    text.replace(from, text.find('}', from) - from + 1,
                 R"({"service":{"namespace":"default","name":"s","path":"/check"},"caBundle":")" +
                     to_base64(authority) + "\"}");
    REQUIRE(server.post(validating_path, text)->status == 201);
    const std::string usual =
        "Internal error occurred: failed calling webhook \"v.example.com\": failed to call "
        "webhook: "
        "Post \"https://s.default.svc:443/check?timeout=10s\": ";
    CHECK(server.post(maps, map_named("a"))->message() == usual + "service \"s\" not found");
    server.post("/api/v1/namespaces/default/services",
                R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s"},"spec":)"
                R"({"ports":[{"name":"web","port":443,"targetPort":8443}]}})");
    CHECK(server.post(maps, map_named("a"))->message() ==
          usual + "no endpoints available for service \"s\"");
    server.post("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
                R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":)"
                R"("s-1","labels":{"kubernetes.io/service-name":"s"}},"addressType":"IPv4",)"
                R"("endpoints":[{"addresses":["10.244.1.7"],"conditions":{"ready":true}}],)"
                R"("ports":[{"name":"web","port":8443,"protocol":"TCP"}]})");
    server.webhooks.play = [](const PlayedCall& call) { call.answer(review_answer(call, true)); };
    CHECK(server.post(maps, map_named("a"))->status == 201);
    const WebhookCall& call = server.webhooks.calls[0].call;
    CHECK(call.way == WebhookCall::Way::pods);
    CHECK(call.target.host == "10.244.1.7");
    CHECK(call.target.port == 8443);
    CHECK(call.server_name == "s.default.svc");
    CHECK(call.authority_pem == authority);
    CHECK(call.request.path == "/check");
    CHECK(call.request.headers.get("Host") == "s.default.svc:443");
}

TEST_CASE("configurations are found again after a start, and nothing is asked once they are gone") {
    auto disk = std::make_shared<store::MemoryDisk>();
    {
        TestServer server({}, disk);
        CHECK(server.post(validating_path, hook("v").text(Phase::validating))->status == 201);
    }
    TestServer server({}, disk);
    CHECK(server.post(maps, map_named("a"))->message().find("no way to call webhooks") !=
          std::string::npos);
    CHECK(server.remove(validating_path + "/v")->status == 200);
    CHECK(server.post(maps, map_named("a"))->status == 201);
}

}  // namespace
}  // namespace muster::apiserver
