// apiserver/hostile_test.cpp - bad input gets a clear Status, and the server lives.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"
#include "base/text.h"
#include "net/pki.h"

namespace muster::apiserver {
namespace {

const std::string maps = "/api/v1/namespaces/default/configmaps";
const std::string pods = "/api/v1/namespaces/default/pods";

/// The code of the answer; checks that it is a Status and that the server still works.
int refused(TestServer& server, const ReplyPtr& reply) {
    CHECK(reply->answers == 1);
    CHECK(reply->json()["kind"].text() == "Status");
    CHECK(reply->json()["code"].integer_or(0) == reply->status);
    CHECK(!reply->message().empty());
    CHECK(server.get(maps)->status == 200);
    return reply->status;
}

TEST_CASE("broken bodies") {
    TestServer server;
    CHECK(refused(server, server.post(maps, "")) == 400);
    CHECK(refused(server, server.post(maps, "{")) == 400);
    CHECK(refused(server, server.post(maps, R"({"apiVersion":"v1","kind":"Conf)")) == 400);
    CHECK(refused(server, server.post(maps, "[]")) == 400);
    CHECK(refused(server, server.post(maps, "null")) == 400);
    CHECK(refused(server, server.post(maps, "\xff\xfe")) == 400);
    CHECK(refused(server, server.post(maps, std::string(100'000, '['))) == 400);
    CHECK(refused(server, server.post(maps, std::string(10 << 20, ' '))) == 413);
    CHECK(refused(server, server.merge(maps + "/x", std::string(10 << 20, ' '))) == 413);
    CHECK(refused(server, server.send(server.request("POST", maps, "k8s", "text/plain"))) == 415);
    CHECK(refused(server, server.send(server.request("POST", maps, std::string("k8s\0\x0a", 5),
                                                     "application/vnd.kubernetes.protobuf"))) ==
          400);
    CHECK(refused(server, server.send(server.request("POST", maps, "a: [b", "application/yaml"))) ==
          400);
}

TEST_CASE("a pod of very many containers is refused") {
    TestServer server;
    server.post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
    const auto posted = [&](int containers) {
        std::string list;
        for (int i = 0; i < containers; ++i)
            list += (i > 0 ? R"(,{"image":"x","name":"c)" : R"({"image":"x","name":"c)") +
                    std::to_string(i) + "\"}";
        return server.post(
            pods, R"({"metadata":{"generateName":"p"},"spec":{"containers":[)" + list + "]}}");
    };
    CHECK(posted(1'000)->status == 201);
    const ReplyPtr reply = posted(1'001);
    CHECK(refused(server, reply) == 422);
    CHECK(reply->message().find("spec.containers: Too many: 1001: must have at most 1000 items") !=
          std::string::npos);
}

TEST_CASE("wrong kinds and versions") {
    TestServer server;
    CHECK(refused(server, server.post(maps, R"({"apiVersion":"v2","kind":"ConfigMap"})")) == 400);
    CHECK(refused(server, server.post(maps, R"({"apiVersion":"v1","kind":"Pod"})")) == 400);
    CHECK(refused(server, server.post(maps, R"({"apiVersion":1,"kind":[]})")) == 400);
    CHECK(server.post(maps, R"({"apiVersion":"v1","kind":{"a":1}})")->message() ==
          "couldn't get version/kind; json parse error: json: cannot unmarshal object into Go "
          "struct field .kind of type string");
    const std::string mine = maps + "/x?fieldManager=a";
    CHECK(refused(server, server.apply(mine, R"({"apiVersion":{},"kind":"ConfigMap"})")) == 400);
    CHECK(refused(server, server.apply(mine, R"({"apiVersion":"v1","kind":[]})")) == 400);
    CHECK(refused(server, server.apply(mine, R"({"apiVersion":"v1","data":{"a":"b"}})")) == 400);
    CHECK(server.apply(mine, R"({"kind":"ConfigMap"})")->message() ==
          "Incorrect version specified in apply patch. Specified patch version: , expected: v1");
    // Nobody knows what that could have been: a page, as from kube-apiserver.
    const ReplyPtr page = server.post("/apis/nothing/v1/namespaces/default/x", "{}");
    CHECK(page->status == 404);
    CHECK(page->text == "404 page not found\n");
    CHECK(page->headers.get("Content-Type") == "text/plain; charset=utf-8");
    CHECK(refused(server, server.post("/api/v1/namespaces/default/nodes", "{}")) == 404);
    CHECK(refused(server, server.send(server.request("BREW", maps))) == 405);
    CHECK(refused(server, server.post(maps + "/x", "{}")) == 405);
    CHECK(refused(server, server.get("/api/v1/pods/x")) == 404);
    CHECK(server.send(server.request("HEAD", maps))->status == 405);
    REQUIRE(server.post(maps, R"({"metadata":{"name":"x"}})")->status == 201);
    CHECK(refused(server, server.merge(maps + "/x", R"({"kind":"Pod"})")) == 422);
}

TEST_CASE("wrong types and names") {
    TestServer server;
    const auto map = [](const std::string& metadata) {
        return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":)" + metadata + "}";
    };
    CHECK(refused(server, server.post(maps, map("7"))) == 400);
    CHECK(refused(server, server.post(maps, map(R"({"name":7})"))) == 400);
    CHECK(refused(server, server.post(maps, map(R"({"name":"Bad_Name"})"))) == 422);
    CHECK(refused(server, server.post(maps, map("{}"))) == 422);
    CHECK(refused(server, server.post(maps, map(R"({"name":"a","labels":{"a":7}})"))) == 400);
    CHECK(refused(server, server.post(maps, map(R"({"name":"a","labels":{"a b":"c"}})"))) == 422);
    CHECK(refused(server, server.post(maps, map(R"({"name":"a","namespace":"b"})"))) == 400);
    CHECK(refused(server, server.post(pods, R"({"apiVersion":"v1","kind":"Pod","metadata":)"
                                            R"({"name":"p"},"spec":7})")) == 400);
    CHECK(refused(server, server.post(pods, R"({"apiVersion":"v1","kind":"Pod","metadata":)"
                                            R"({"name":"p"},"spec":{"containers":{}}})")) == 400);
    CHECK(refused(server, server.remove(maps + "/x?gracePeriodSeconds=a")) == 400);
    CHECK(refused(server, server.remove(maps + "/x?propagationPolicy=Sideways")) == 422);
}

TEST_CASE("of custom kinds a finalizer without a domain is warned of when it comes") {
    TestServer server;
    const std::string flavors = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors";
    const auto warnings = [](const ReplyPtr& reply) {
        return std::string(reply->headers.get("Warning"));
    };
    const std::string made = R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor",)"
                             R"("metadata":{"name":"f","finalizers":["orphan","a.b/c"]}})";
    const ReplyPtr first = server.post(flavors, made);
    CHECK_MESSAGE(first->status == 201, first->message());
    CHECK(warnings(first).empty());
    CHECK(warnings(server.merge(flavors + "/f", R"({"metadata":{"finalizers":["plain"]}})")) ==
          "299 - \"metadata.finalizers: \\\"plain\\\": prefer a domain-qualified finalizer name to "
          "avoid accidental conflicts with other finalizer writers\"");
    CHECK(warnings(server.merge(flavors + "/f", R"({"metadata":{"labels":{"a":"b"}}})")).empty());
    CHECK(warnings(server.merge(flavors + "/f", R"({"metadata":{"finalizers":["a.b"]}})"))
              .find("name including a path (/) to avoid") != std::string::npos);
}

TEST_CASE("unknown and duplicate fields are refused, told or dropped") {
    TestServer server;
    const auto body = [](const std::string& name) {
        return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
               R"("},"dat":{},"data":{"a":"1","a":"2"}})";
    };
    const ReplyPtr strict = server.post(maps + "?fieldValidation=Strict", body("s"));
    CHECK(strict->status == 400);
    CHECK(strict->message() ==
          "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: "
          "unknown field \"dat\", duplicate field \"data.a\"");
    const ReplyPtr warned = server.post(maps, body("w"));
    CHECK(warned->status == 201);
    CHECK(warned->headers.get("Warning") == "299 - \"unknown field \\\"dat\\\"\"");
    CHECK(warned->json()["data"]["a"].text() == "2");
    CHECK(!warned->json().has("dat"));
    const ReplyPtr ignored = server.post(maps + "?fieldValidation=Ignore", body("i"));
    CHECK(ignored->status == 201);
    CHECK(!ignored->headers.has("Warning"));
}

TEST_CASE("of very many unknown or duplicate fields a hundred are told") {
    TestServer server;
    const auto body = [](const std::string& name, int key_step) {
        std::string text = R"({"metadata":{"name":")" + name + R"("})";
        for (int i = 0; i < 20'000; ++i)
            text += ",\"k" + std::to_string(i * key_step) + "\":1";
        return text + "}";
    };
    for (const int key_step : {1, 0}) {
        const ReplyPtr strict = server.post(maps + "?fieldValidation=Strict", body("s", key_step));
        CHECK(strict->status == 400);
        CHECK(strict->message().size() < 10'000);
        CHECK(strict->message().find("unknown field \"k0\"") != std::string::npos);
        const ReplyPtr warned = server.post(maps, body("w" + std::to_string(key_step), key_step));
        CHECK(warned->status == 201);
        std::size_t said = 0;
        for (const auto& [name, value] : warned->headers.fields)
            said += name == "Warning" ? 1 : 0;
        CHECK(said >= 1);
        CHECK(said <= 100);
    }
}

TEST_CASE("of very many errors a hundred are told, and how many there are besides") {
    TestServer server;
    std::string containers;
    for (int i = 0; i < 1000; ++i)
        containers += std::string(i > 0 ? "," : "") + R"({"name":"c"})";
    const ReplyPtr refused = server.post(
        pods, R"({"metadata":{"name":"p"},"spec":{"containers":[)" + containers + "]}}");
    CHECK(refused->status == 422);
    CHECK(refused->json()["details"]["causes"].size() == 100);
    CHECK(refused->message().find("spec.containers[99].image: Required value") !=
          std::string::npos);
    CHECK(refused->message().find("spec.containers[100].image") == std::string::npos);
    CHECK(refused->message().ends_with(", and 1899 more]"));
}

TEST_CASE("bad patches") {
    TestServer server;
    server.post(maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"}})");
    const std::string one = maps + "/m";
    CHECK(refused(server, server.merge(one, "[]")) == 400);
    CHECK(refused(server, server.merge(one, "{")) == 400);
    CHECK(refused(server, server.merge(one, R"({"data":7})")) == 422);
    CHECK(refused(server, server.merge(one, R"({"metadata":{"name":"other"}})")) == 400);
    CHECK(refused(server, server.send(server.request("PATCH", one, "{}", "application/json"))) ==
          415);
    CHECK(refused(server, server.send(server.request("PATCH", one, "{}",
                                                     "application/json-patch+json"))) == 400);
    CHECK(refused(server, server.apply(one, "{}")) == 422);
    CHECK(refused(server, server.apply(one + "?fieldManager=x", "a: [")) == 400);
    CHECK(refused(server, server.merge(one, R"({"metadata":{"resourceVersion":"1"}})")) == 409);
}

/// One to eight random changes to a text: bytes changed, removed, doubled, moved.
std::string mangled(std::string text, Random& random) {
    static const std::string spices[] = {"{", "}", "[",  "]",    "\"",   ":",   ",",
                                         "0", "-", "1e", "null", "true", "\\u", "\xf0"};
    for (std::uint64_t times = 1 + random.below(8); times > 0 && !text.empty(); --times) {
        const std::size_t at = random.below(text.size());
        switch (random.below(5)) {
            case 0:
                text[at] = static_cast<char>(random.below(256));
                break;
            case 1:
                text.erase(at, 1 + random.below(10));
                break;
            case 2:
                text.insert(at, text.substr(at, random.below(30)));
                break;
            case 3:
                text.insert(at, spices[random.below(std::size(spices))]);
                break;
            default:
                text.resize(at);
        }
    }
    return text;
}

TEST_CASE("mangled bodies never end the server nor make it fail") {
    TestServer server;
    Random random(7);
    const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
    const std::string job =
        R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","labels":{"a":"b"},)"
        R"("finalizers":["a/b"]},"spec":{"parallelism":2,"suspend":true,"template":{"metadata":)"
        R"({"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":)"
        R"("i","env":[{"name":"A","value":"b"}],"resources":{"limits":{"cpu":"1"}},"ports":)"
        R"([{"containerPort":80}]}],"volumes":[{"name":"v","emptyDir":{}}]}}}})";
    REQUIRE(server.post(jobs, job)->status == 201);
    static const char* const types[] = {"application/json",
                                        "application/yaml",
                                        "application/vnd.kubernetes.protobuf",
                                        "application/merge-patch+json",
                                        "application/strategic-merge-patch+json",
                                        "application/apply-patch+yaml",
                                        "application/json-patch+json"};
    for (int round = 0; round < 1500; ++round) {
        const std::size_t type = random.below(std::size(types));
        const bool patch = type >= 3;
        const std::string path = patch ? jobs + "/j?fieldManager=f&force=1" : jobs;
        std::string body = mangled(job, random);
        if (type == 2) body.insert(0, std::string("k8s\0", 4));
        if (type == 6) body = "[" + body + "]";
        CAPTURE(body);
        const ReplyPtr reply = server.send(server.request(
            patch                  ? "PATCH"
            : random.below(2) == 0 ? "POST"
                                   : "PUT",
            patch ? path : path + (random.below(2) == 0 ? "" : "/j"), body, types[type]));
        CHECK(reply->answers == 1);
        // What is applied and not of its kind's shape is a 500, as kube-apiserver has it.
        const bool untyped =
            reply->status == 500 && reply->text.find("typed patch object") != std::string::npos;
        CHECK((reply->status < 500 || untyped));
    }
    CHECK(server.get(jobs)->status == 200);
}

TEST_CASE("an object from before a rule lives on; only what is newly wrong is refused") {
    TestServer server;
    const std::string all = "/api/v1/namespaces/default/pods";
    REQUIRE(server
                .post(all, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c",
        "image":"i","env":[{"name":"N","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}]}})")
                ->status == 201);
    const store::Entry stored = server.store.newest("/core/pods/default/p");
    std::string bytes = *stored.value;
    const auto put = [&bytes](const std::string& old, const std::string& now) {
        bytes.replace(bytes.find(old), old.size(), now);
    };
    put("metadata.name", "metadata.nothing");
    put("\"resourceVersion\":\"" + std::to_string(stored.revision),
        "\"resourceVersion\":\"" + std::to_string(server.store.next_revision()));
    REQUIRE(server.store.stage(stored.key, make_bytes(std::move(bytes)), stored.revision,
                               nullptr) == store::Staged::accepted);
    server.loop.run();
    CHECK(server.merge(all + "/p/status", R"({"status":{"phase":"Running"}})")->status == 200);
    CHECK(server.get(all + "/p")->json()["status"]["phase"].text() == "Running");
    CHECK(server.merge(all + "/p", R"({"metadata":{"labels":{"a":"b"}}})")->status == 200);
    // What was not wrong before is told, and nothing else.
    const ReplyPtr refused = server.merge(all + "/p", R"({"spec":{"activeDeadlineSeconds":0}})");
    CHECK(refused->status == 422);
    CHECK(refused->message().find("activeDeadlineSeconds") != std::string::npos);
    CHECK(refused->message().find("fieldPath") == std::string::npos);
    CHECK(server.merge(all + "/p", R"({"spec":{"activeDeadlineSeconds":9}})")->status == 200);
}

TEST_CASE("bytes that are no text, in names, headers and values, end in answers that are") {
    TestServer server;
    const auto in_yaml = [&](net::Request request) {
        request.headers.set("Accept", "application/yaml");
        const ReplyPtr reply = server.send(std::move(request));
        CHECK(is_utf8(reply->text));
        CHECK(server.get(maps)->status == 200);
        return reply;
    };
    CHECK(in_yaml(server.request("GET", maps + "/\xff"))->status == 404);
    // Of a long value an error shows the beginning, which must not end within a letter.
    std::string letters = "x";
    for (int i = 0; i < 400; ++i)
        letters += "\xc3\xa9";
    const ReplyPtr shown = in_yaml(server.request(
        "POST", maps, R"({"metadata":{"name":"a"},"data":{"a":[")" + letters + R"("]}})"));
    CHECK(shown->status == 400);
    const ReplyPtr named = in_yaml(server.request(
        "POST", maps, R"({"metadata":{"name":"a","labels":{"l":")" + letters + R"("}}})"));
    CHECK(named->status == 422);
    // Who writes is named by what he sends, and kept.
    net::Request made =
        server.request("POST", maps, R"({"metadata":{"name":"m"},"data":{"k":"v"}})");
    made.headers.set("User-Agent", "agent\xff\xfe " + letters + "/1.0");
    CHECK(in_yaml(std::move(made))->status == 201);
    const api::Value stored = server.get(maps + "/m")->json();
    CHECK(stored["metadata"]["name"].text() == "m");
    CHECK(server.merge(maps + "/m", R"({"data":{"a":"b"}})")->status == 200);
}

TEST_CASE("whatever stands in the place of metadata or spec, at every way to write") {
    Options options;
    options.service_account_key_pem = net::make_signing_key();
    TestServer server(std::move(options));
    const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
    REQUIRE(server
                .post(deployments,
                      R"({"metadata":{"name":"d"},"spec":{"replicas":2,"selector":)"
                      R"({"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":)"
                      R"({"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})")
                ->status == 201);
    REQUIRE(server
                .post(pods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c",)"
                            R"("image":"i"}]}})")
                ->status == 201);
    const std::string pod = pods + "/p";
    const std::string account = "/api/v1/namespaces/default/serviceaccounts/default/token";
    const std::string reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    int asked = 0;
    for (const std::string& path : std::vector<std::string>{
             deployments + "/d/scale", deployments + "/d/status", deployments + "/d", pod,
             pod + "/status", pod + "/binding", pod + "/eviction", account, reviews, crds, maps,
             "/api/v1/namespaces/default", "/api/v1/namespaces/default/finalize",
             "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads"}) {
        for (const char* field : {"metadata", "spec", "status", "target", "deleteOptions"}) {
            for (const char* value : {"null", "7", "\"x\"", "[]", "[7]", "{}", R"({"name":[]})",
                                      R"({"annotations":[],"replicas":{},"conditions":7})"}) {
                CAPTURE(path);
                CAPTURE(field);
                CAPTURE(value);
                const std::string body = std::string("{\"") + field + "\":" + value + "}";
                const std::string patch = R"([{"op":"add","path":"/)" + std::string(field) +
                                          R"(","value":)" + value + "}]";
                for (const ReplyPtr& reply :
                     {server.post(path, body), server.put(path, body), server.merge(path, body),
                      server.apply(path + "?fieldManager=x&force=true", body),
                      server.send(
                          server.request("PATCH", path, patch, "application/json-patch+json")),
                      server.send(server.request("PATCH", path, body,
                                                 "application/strategic-merge-patch+json"))}) {
                    CHECK(reply->answers == 1);
                    ++asked;
                }
            }
        }
    }
    CHECK(asked == 14 * 5 * 8 * 6);
    CHECK(server.get(maps)->status == 200);
}

TEST_CASE("a status that a write passes over is not looked into, however large") {
    TestServer server;
    const std::string all = "/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads";
    std::string version;
    const auto workload = [&](const std::string& status) {
        return R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Workload","metadata":{"name":)"
               R"("w")" +
               version +
               R"(},"spec":{"queueName":"q","podSets":[{"name":"main","count":1,"template":{)"
               R"("spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}]})" +
               status + "}";
    };
    const ReplyPtr made = server.post(all, workload(""));
    REQUIRE_MESSAGE(made->status == 201, made->message());
    version = R"(,"resourceVersion":")" + made->json()["metadata"]["resourceVersion"].text() + '"';
    const auto list = [](const std::string& item, int times) {
        std::string text = "[" + item;
        for (int i = 1; i < times; ++i)
            text += "," + item;
        return text + "]";
    };
    const auto placed = [&](int levels, int domains) {
        return workload(
            R"(,"status":{"admission":{"clusterQueue":"c","podSetAssignments":[{"name":"main",)"
            R"("topologyAssignment":{"levels":)" +
            list("\"a\"", levels) + R"(,"domains":)" + list("{}", domains) + "}}]}}");
    };
    // Its places would be converted as the product of these two: minutes, and all memory.
    for (const std::string& body : {placed(17, 1), placed(250'000, 250'000)}) {
        for (const ReplyPtr& reply :
             {server.put(all + "/w", body), server.merge(all + "/w", body)}) {
            CHECK_MESSAGE(reply->status == 200, reply->message());
            CHECK(!reply->json()["status"].has("admission"));
        }
    }
    CHECK(server.put(all + "/w/status", placed(17, 1))->status == 422);
}

TEST_CASE("what an older version stored is cleaned once, before anybody writes over it") {
    const auto disk = std::make_shared<store::MemoryDisk>();
    const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
    {
        TestServer server({}, disk);
        REQUIRE(
            server
                .post(jobs, R"({"metadata":{"name":"j"},"spec":{"suspend":true,"template":{"spec":{
            "restartPolicy":"Never","containers":[{"name":"c","image":"i","args":["ARG"]}]}}}})")
                ->status == 201);
        const store::Entry stored = server.store.newest("/batch/jobs/default/j");
        std::string bytes = *stored.value;
        bytes.replace(bytes.find(R"(["ARG"])"), 7, "[]");
        REQUIRE(server.store.stage(stored.key, make_bytes(std::move(bytes)), stored.revision,
                                   nullptr) == store::Staged::accepted);
        const store::Entry form = server.store.newest("/muster/stored-form");
        REQUIRE(server.store.stage(form.key, nullptr, form.revision, nullptr) ==
                store::Staged::accepted);
        server.loop.run();
    }
    store::Revision once = 0;
    {
        TestServer server({}, disk);
        const api::Value job = server.get(jobs + "/j")->json();
        CHECK_FALSE(job["spec"]["template"]["spec"]["containers"][0].has("args"));
        CHECK(server.merge(jobs + "/j", R"({"spec":{"suspend":false}})")->status == 200);
        once = server.store.revision();
    }
    TestServer server({}, disk);
    CHECK(server.store.revision() == once);
}

}  // namespace
}  // namespace muster::apiserver
