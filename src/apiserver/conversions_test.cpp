// apiserver/conversions_test.cpp - kinds whose versions a webhook makes of each other.
#include <doctest/doctest.h>

#include "apiserver/played_webhooks.h"

namespace muster::apiserver {
namespace {

const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

std::string tabs_in(const std::string& version) {
    return "/apis/stable.example.com/" + version + "/namespaces/default/crontabs";
}

/// CronTabs: v1 has spec.host, v2 spec.hosts; v1 is stored.
const std::string crd =
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":)"
    R"({"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com","scope":)"
    R"("Namespaced","names":{"plural":"crontabs","kind":"CronTab"},"versions":[)"
    R"({"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":)"
    R"({"openAPIV3Schema":{"type":"object","properties":)"
    R"({"spec":{"type":"object","properties":{"host":{"type":"string"}}},"status":{"type":)"
    R"("object","properties":{"seen":{"type":"boolean"}}}}}}},)"
    R"({"name":"v2","served":true,"storage":false,"subresources":{"status":{}},"schema":)"
    R"({"openAPIV3Schema":{"type":"object","properties":)"
    R"({"spec":{"type":"object","properties":{"hosts":{"type":"array","items":{"type":"string"}},)"
    R"("made":{"type":"string","default":"here"}},"x-kubernetes-validations":[{"rule":)"
    R"("self.hosts.size() < 3"}]},"status":{"type":"object","properties":{"seen":{"type":)"
    R"("boolean"}}}}}}}],)"
    R"("conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],)"
    R"("clientConfig":{"url":"https://127.0.0.1:9443/convert"}}}}})";

std::string tab_v1(const std::string& name) {
    return R"({"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":")" + name +
           R"("},"spec":{"host":"a,b"}})";
}

std::string tab_v2(const std::string& name, const std::string& hosts = R"("a","b")") {
    return R"({"apiVersion":"stable.example.com/v2","kind":"CronTab","metadata":{"name":")" + name +
           R"("},"spec":{"hosts":[)" + hosts + "]}}";
}

api::Value converted(api::Value object, const std::string& wanted) {
    object.set("apiVersion", wanted);
    api::Value& spec = object.at("spec");
    if (wanted.ends_with("v2")) {
        api::Value hosts = api::Value::array();
        const std::string host = spec["host"].text();
        for (const std::string_view each : split(host, ','))
            hosts.push(each);
        spec = api::Value::object({{"hosts", hosts}});
    } else {
        std::vector<std::string> hosts;
        for (const api::Value& each : spec["hosts"].items())
            hosts.push_back(each.text());
        spec = api::Value::object({{"host", join(hosts, ",")}});
    }
    return object;
}

api::Value conversion_answer(const PlayedCall& call) {
    const api::Value& request = call.document["request"];
    api::Value objects = api::Value::array();
    for (const api::Value& object : request["objects"].items())
        objects.push(converted(object, request["desiredAPIVersion"].text()));
    return api::Value::object(
        {{"apiVersion", "apiextensions.k8s.io/v1"},
         {"kind", "ConversionReview"},
         {"response", api::Value::object({{"uid", request["uid"]},
                                          {"result", api::Value::object({{"status", "Success"}})},
                                          {"convertedObjects", std::move(objects)}})}});
}

struct ConvertingServer : WebhookServer {
    ConvertingServer() {
        const ReplyPtr made = post(crds, crd);
        REQUIRE_MESSAGE(made->status == 201, made->text);
        webhooks.play = [](const PlayedCall& call) { call.answer(conversion_answer(call)); };
    }
};

TEST_CASE("every served version is served, and one of them is stored") {
    ConvertingServer server;
    const ReplyPtr made = server.post(tabs_in("v2"), tab_v2("a"));
    REQUIRE_MESSAGE(made->status == 201, made->text);
    CHECK(made->json()["apiVersion"].text() == "stable.example.com/v2");
    CHECK(made->json()["spec"]["hosts"] == api::Value::array({"a", "b"}));
    CHECK(made->json()["spec"]["made"].text() == "here");
    CHECK(made->json()["metadata"]["uid"].text().size() == 36);
    const std::size_t asked = server.webhooks.calls.size();
    CHECK(server.get(tabs_in("v1") + "/a")->json()["spec"]["host"].text() == "a,b");
    CHECK(server.webhooks.calls.size() == asked);
    CHECK(server.get(tabs_in("v2") + "/a")->json()["spec"]["hosts"].size() == 2);
    CHECK(server.webhooks.calls.size() == asked + 1);
    const ReplyPtr patched = server.merge(tabs_in("v2") + "/a", R"({"spec":{"hosts":["c"]}})");
    CHECK_MESSAGE(patched->status == 200, patched->text);
    CHECK(patched->json()["spec"]["hosts"] == api::Value::array({"c"}));
    CHECK(server.get(tabs_in("v1") + "/a")->json()["spec"]["host"].text() == "c");
    const ReplyPtr status =
        server.merge(tabs_in("v2") + "/a/status", R"({"status":{"seen":true}})");
    CHECK_MESSAGE(status->status == 200, status->text);
    CHECK(server.get(tabs_in("v1") + "/a")->json()["status"]["seen"].boolean_or(false));
    const ReplyPtr applied = server.apply(tabs_in("v2") + "/b?fieldManager=m", tab_v2("b"));
    CHECK_MESSAGE(applied->status == 201, applied->text);
    CHECK(server.post(tabs_in("v2"), tab_v2("c", R"("1","2","3")"))->status == 422);
    CHECK(server.remove(tabs_in("v2") + "/a")->status == 200);
    const ReplyPtr generated = server.post(
        tabs_in("v2"), R"({"apiVersion":"stable.example.com/v2","kind":"CronTab","metadata":)"
                       R"({"generateName":"g-"},"spec":{"hosts":["x"]}})");
    CHECK_MESSAGE(generated->status == 201, generated->text);
}

TEST_CASE("a list is converted by one question") {
    ConvertingServer server;
    for (const char* name : {"a", "b", "c"})
        server.post(tabs_in("v1"), tab_v1(name));
    CHECK(server.webhooks.calls.empty());
    const api::Value list = server.get(tabs_in("v2"))->json();
    CHECK(list["kind"].text() == "CronTabList");
    CHECK(list["items"].size() == 3);
    CHECK(list["items"][2]["spec"]["hosts"].size() == 2);
    REQUIRE(server.webhooks.calls.size() == 1);
    const PlayedCall& call = server.webhooks.calls[0];
    CHECK(call.document["kind"].text() == "ConversionReview");
    CHECK(call.document["request"]["desiredAPIVersion"].text() == "stable.example.com/v2");
    CHECK(call.document["request"]["objects"].size() == 3);
    CHECK(call.call.url == "https://127.0.0.1:9443/convert?timeout=30s");
    const ReplyPtr table =
        server.get_as(tabs_in("v2"), "application/json;as=Table;g=meta.k8s.io;v=v1");
    CHECK(table->json()["rows"].size() == 3);
    const api::Value removed = server.remove(tabs_in("v2"))->json();
    CHECK(removed["items"][0]["apiVersion"].text() == "stable.example.com/v2");
}

TEST_CASE("a watch tells what was converted, in order") {
    ConvertingServer server;
    server.post(tabs_in("v1"), tab_v1("a"));
    server.webhooks.play = nullptr;
    const ReplyPtr watch = server.get(
        tabs_in("v2") +
        "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch="
        "NotOlderThan");
    CHECK(watch->text.empty());
    server.post(tabs_in("v1"), tab_v1("b"));
    server.remove(tabs_in("v1") + "/a");
    REQUIRE(server.webhooks.calls.size() == 1);
    const auto answer = [&](std::size_t i) {
        const PlayedCall call = server.webhooks.calls[i];
        call.answer(conversion_answer(call));
        server.loop.run();
    };
    answer(0);
    CHECK(watch->story() == "ADDED a, BOOKMARK ");
    REQUIRE(server.webhooks.calls.size() == 2);
    answer(1);
    CHECK(watch->story() == "ADDED a, BOOKMARK , ADDED b, DELETED a");
    // Who goes on from the bookmark misses nothing.
    const auto version_at = [&](std::size_t i) {
        return std::stoll(watch->events()[i]["object"]["metadata"]["resourceVersion"].text());
    };
    CHECK(version_at(1) < version_at(2));
    CHECK(watch->events()[3]["object"]["apiVersion"].text() == "stable.example.com/v2");
    server.post(tabs_in("v1"), tab_v1("c"));
    REQUIRE(server.webhooks.calls.size() == 3);
    server.webhooks.calls[2].fail("Connection refused");
    server.loop.run();
    CHECK(watch->finished);
    CHECK(watch->events()[4]["type"].text() == "ERROR");
}

TEST_CASE("what a conversion webhook may not do") {
    ConvertingServer server;
    server.post(tabs_in("v1"), tab_v1("a"));
    const std::string start = "conversion webhook for stable.example.com/v1, Kind=CronTab ";
    const auto told = [&](const std::function<void(api::Value&)>& change) {
        server.webhooks.play = [&](const PlayedCall& call) {
            api::Value answer = conversion_answer(call);
            change(answer);
            call.answer(answer);
        };
        const ReplyPtr reply = server.get(tabs_in("v2") + "/a");
        if (reply->status == 200) return std::string("converted");
        CHECK(reply->status == 500);
        CHECK(!reply->json().has("reason"));
        const std::string text = reply->message();
        return text.starts_with(start) ? text.substr(start.size()) : text;
    };
    const auto first = [](api::Value& answer) -> api::Value& {
        return answer.at("response").at("convertedObjects").mutable_items()[0];
    };
    CHECK(told([](api::Value& answer) {
              answer.at("response").set("uid", "u");
          }).starts_with("failed: expected response.uid=\""));
    CHECK(told([](api::Value& answer) { answer.erase("response"); }) ==
          "failed: no response provided");
    CHECK(
        told([](api::Value& answer) { answer.set("kind", "X"); }) ==
        "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got "
        "apiextensions.k8s.io/v1, Kind=X");
    CHECK(told([](api::Value& answer) {
              answer.at("response")
                  .set("result",
                       api::Value::object({{"status", "Failure"}, {"message", "cannot"}}));
          }) == "failed: cannot");
    CHECK(told([](api::Value& answer) { answer.at("response").erase("result"); }) ==
          "failed: response.result.status was '', not 'Success'");
    CHECK(told([](api::Value& answer) { answer.at("response").erase("convertedObjects"); }) ==
          "returned 0 objects, expected 1");
    CHECK(told([&](api::Value& answer) { first(answer).set("apiVersion", "v9"); }) ==
          "returned invalid object at index 0: invalid groupVersion (expected "
          "stable.example.com/v2, received v9)");
    CHECK(told([&](api::Value& answer) { first(answer).set("kind", "Y"); }) ==
          "returned invalid object at index 0: invalid kind (expected CronTab, received Y)");
    CHECK(told([&](api::Value& answer) { first(answer).at("metadata").set("name", "z"); }) ==
          "returned invalid object: must have the same name: a != z");
    CHECK(told([&](api::Value& answer) {
              first(answer).at("metadata").set("uid", "z");
          }).starts_with("returned invalid object: must have the same UID: "));
    CHECK(told([&](api::Value& answer) { first(answer).at("metadata").set("labels", 7); }) ==
          "returned invalid metadata: invalid metadata.labels of type int64 in converted object");
    CHECK(told([&](api::Value& answer) {
              first(answer).at("metadata").set("generation", 99);
              first(answer).at("metadata").set("labels", api::Value::object({{"new", "one"}}));
          }) == "converted");
    const api::Value last = server.get(tabs_in("v2") + "/a")->json();
    CHECK(last["metadata"]["generation"].integer_or(0) == 1);
    CHECK(last["metadata"]["labels"]["new"].text() == "one");
    server.webhooks.play = [](const PlayedCall& call) { call.fail("Connection refused"); };
    CHECK(server.get(tabs_in("v2"))->message() ==
          start +
              "failed: Post \"https://127.0.0.1:9443/convert?timeout=30s\": dial tcp "
              "127.0.0.1:9443: connect: connection refused");
    CHECK(server.get(tabs_in("v1"))->status == 200);
}

TEST_CASE("what was stored by an older definition is brought up to date by the next write") {
    ConvertingServer server;
    server.post(tabs_in("v1"), tab_v1("a"));
    std::string other = crd;
    const auto swap = [&](const std::string& from, const std::string& to) {
        const std::size_t at = other.find(from);
        other.replace(at, from.size(), to);
    };
    swap(R"("storage":true)", R"("storage":no)");
    swap(R"("storage":false)", R"("storage":true)");
    swap(R"("storage":no)", R"("storage":false)");
    swap(R"({"name":"crontabs.stable.example.com"})",
         R"({"name":"crontabs.stable.example.com","resourceVersion":")" +
             server.get(crds + "/crontabs.stable.example.com")
                 ->json()["metadata"]["resourceVersion"]
                 .text() +
             "\"}");
    const ReplyPtr changed = server.put(crds + "/crontabs.stable.example.com", other);
    REQUIRE_MESSAGE(changed->status == 200, changed->text);
    CHECK(server.get(tabs_in("v2") + "/a")->json()["spec"]["hosts"].size() == 2);
    CHECK(server.get(tabs_in("v1") + "/a")->json()["spec"]["host"].text() == "a,b");
    const ReplyPtr touched =
        server.merge(tabs_in("v1") + "/a", R"({"metadata":{"labels":{"x":"y"}}})");
    CHECK_MESSAGE(touched->status == 200, touched->text);
    server.webhooks.calls.clear();
    CHECK(server.get(tabs_in("v2") + "/a")->json()["spec"]["hosts"].size() == 2);
    CHECK(server.webhooks.calls.empty());
}

TEST_CASE("somebody else writes while a webhook converts") {
    // Before which of the answers he does: at every point of the write.
    for (std::size_t when = 0; when < 6; ++when) {
        CAPTURE(when);
        ConvertingServer server;
        server.post(tabs_in("v1"), tab_v1("a"));
        server.webhooks.play = nullptr;
        const ReplyPtr slow = server.merge(tabs_in("v2") + "/a", R"({"spec":{"hosts":["x"]}})");
        bool written = false;
        for (std::size_t i = 0; slow->answers == 0 && i < server.webhooks.calls.size(); ++i) {
            if (i == when) {
                const std::string label = R"({"metadata":{"labels":{"by":"other"}}})";
                CHECK(server.merge(tabs_in("v1") + "/a", label)->status == 200);
                written = true;
            }
            const PlayedCall call = server.webhooks.calls[i];
            call.answer(conversion_answer(call));
            server.loop.run();
        }
        CHECK_MESSAGE(slow->status == 200, slow->text);
        CHECK(slow->json()["spec"]["hosts"] == api::Value::array({"x"}));
        const api::Value now = server.get(tabs_in("v1") + "/a")->json();
        CHECK(now["spec"]["host"].text() == "x");
        CHECK(now["metadata"]["labels"]["by"].text() == (written ? "other" : ""));
    }
}

TEST_CASE("an admission webhook that wants another version has it converted") {
    ConvertingServer server;
    PlayedWebhook hook;
    hook.name = "m";
    hook.rules = R"([{"operations":["*"],"apiGroups":["stable.example.com"],"apiVersions":["v1"],)"
                 R"("resources":["crontabs"]}])";
    server.configure(Phase::mutating, hook);
    server.webhooks.play = [](const PlayedCall& call) {
        if (call.call.request.path == "/convert") {
            call.answer(conversion_answer(call));
        } else {
            call.answer(review_answer(call, true,
                                      R"([{"op":"replace","path":"/spec/host","value":"x,y,z"}])"));
        }
    };
    const ReplyPtr refused = server.post(tabs_in("v2"), tab_v2("a"));
    CHECK(refused->status == 422);  // By the rule of v2.
    const ReplyPtr made = server.post(tabs_in("v1"), tab_v1("b"));
    CHECK_MESSAGE(made->status == 201, made->text);
    CHECK(made->json()["spec"]["host"].text() == "x,y,z");
    for (const PlayedCall& call : server.webhooks.calls) {
        if (call.call.request.path != "/m") continue;
        const api::Value& request = call.document["request"];
        CHECK(request["object"]["apiVersion"].text() == "stable.example.com/v1");
        CHECK(request["kind"]["version"].text() == "v1");
    }
    CHECK(server.webhooks.calls[1].document["request"]["requestKind"]["version"].text() == "v2");
}

}  // namespace
}  // namespace muster::apiserver
