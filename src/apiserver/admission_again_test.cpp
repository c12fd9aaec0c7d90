// apiserver/admission_again_test.cpp - what only one can have, and two want who wait for webhooks.
#include <doctest/doctest.h>

#include "apiserver/played_webhooks.h"

namespace muster::apiserver {
namespace {

const std::string classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

std::string default_class(const std::string& name) {
    return R"({"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":")" +
           name + R"("},"value":1,"globalDefault":true})";
}

/// The definition of a kind CronTab, whatever its plural.
std::string cron_tab(const std::string& plural) {
    return R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",)"
           R"("metadata":{"name":")" +
           plural + R"(.x.example.com"},"spec":{"group":"x.example.com","scope":"Namespaced",)" +
           R"("names":{"plural":")" + plural + R"(","singular":"one-of-)" + plural +
           R"(","kind":"CronTab"},"versions":[{"name":"v1","served":true,"storage":true,)"
           R"("schema":{"openAPIV3Schema":{"type":"object"}}}]}})";
}

/// "False KindConflict" or "True NoConflicts", and "True InitialNamesAccepted".
std::string condition(const api::Value& crd, const std::string& type) {
    for (const api::Value& each : crd["status"]["conditions"].items()) {
        if (each["type"].text() == type) return each["status"].text() + " " + each["reason"].text();
    }
    return "";
}

/// Its webhook is asked about all writes of what is looked at here.
struct AskingServer : WebhookServer {
    AskingServer() {
        PlayedWebhook hook;
        hook.name = "v";
        hook.rules = R"([{"operations":["CREATE","UPDATE"],"apiGroups":["*"],"apiVersions":["v1"],)"
                     R"("resources":["priorityclasses","customresourcedefinitions","services"]}])";
        configure(Phase::validating, hook);
    }
    /// Says yes to the question of this number.
    void allow(std::size_t question) {
        REQUIRE(question < webhooks.calls.size());
        const PlayedCall call = webhooks.calls[question];
        call.answer(review_answer(call, true));
    }
};

const std::string one_default =
    R"(priorityclasses.scheduling.k8s.io "b" is forbidden: PriorityClass a is already marked )"
    "as default. Only one default can exist";

TEST_CASE("of two priority classes that shall be the default while webhooks are asked, one is") {
    AskingServer server;
    const ReplyPtr a = server.post(classes, default_class("a"));
    const ReplyPtr b = server.post(classes, default_class("b"));
    server.allow(0);
    server.allow(1);  // The other one is not on the disk yet.
    server.loop.run();
    CHECK(a->status == 201);
    CHECK(b->status == 403);
    CHECK(b->message() == one_default);
    CHECK(server.get(classes + "/b")->status == 404);
}

TEST_CASE("of two priority classes that shall be the default at once, one is") {
    TestServer server;
    const auto a = std::make_shared<Reply>(), b = std::make_shared<Reply>();
    server.server.handle(server.request("POST", classes, default_class("a")), a);
    server.server.handle(server.request("POST", classes, default_class("b")), b);
    server.loop.run();
    CHECK(a->status == 201);
    CHECK(b->status == 403);
    CHECK(b->message() == one_default);
    CHECK(server.remove(classes + "/a")->status == 200);
    CHECK(server.post(classes, default_class("b"))->status == 201);
}

TEST_CASE("of two definitions that want a name while webhooks are asked, one gets it") {
    AskingServer server;
    const ReplyPtr tabs = server.post(crds, cron_tab("tabs"));
    const ReplyPtr crons = server.post(crds, cron_tab("crons"));
    server.allow(0);
    server.allow(1);
    server.loop.run();
    CHECK(tabs->status == 201);
    CHECK(condition(tabs->json(), "NamesAccepted") == "True NoConflicts");
    server.allow(2);  // It is another definition now.
    server.loop.run();
    CHECK(crons->status == 201);
    CHECK(condition(crons->json(), "NamesAccepted") == "False ListKindConflict");
    CHECK(condition(crons->json(), "Established") == "False NotAccepted");
    CHECK(crons->json()["status"]["acceptedNames"]["kind"].text().empty());
    CHECK(server.get("/apis/x.example.com/v1/crons")->status == 404);
}

TEST_CASE("a definition gets a name that became free while webhooks were asked") {
    AskingServer server;
    const ReplyPtr tabs = server.post(crds, cron_tab("tabs"));
    server.allow(0);
    server.loop.run();
    CHECK(tabs->status == 201);
    const ReplyPtr crons = server.post(crds, cron_tab("crons"));
    server.remove(crds + "/tabs.x.example.com");
    server.allow(1);
    server.allow(2);
    server.loop.run();
    CHECK(condition(crons->json(), "Established") == "True InitialNamesAccepted");
    CHECK(server.get("/apis/x.example.com/v1/crons")->status == 200);
}

TEST_CASE("two services that wait for a webhook at once get a port each") {
    AskingServer server;
    const auto service = [&](const std::string& name, const std::string& port) {
        return server.post("/api/v1/namespaces/default/services",
                           R"({"apiVersion":"v1","kind":"Service","metadata":{"name":")" + name +
                               R"("},"spec":{"type":"NodePort","ports":[{"port":80)" + port +
                               "}]}}");
    };
    const ReplyPtr a = service("a", ""), b = service("b", ""),
                   c = service("c", R"(,"nodePort":31000)"),
                   d = service("d", R"(,"nodePort":31000)");
    for (std::size_t i = 0; i < server.webhooks.calls.size(); ++i) {
        server.allow(i);
        server.loop.run();
    }
    REQUIRE(a->status == 201);
    REQUIRE(b->status == 201);
    const auto port_of = [](const ReplyPtr& made) {
        return made->json()["spec"]["ports"][0]["nodePort"];
    };
    CHECK(!(port_of(a) == port_of(b)));
    CHECK(c->status == 201);
    CHECK(d->status == 422);
}

}  // namespace
}  // namespace muster::apiserver
