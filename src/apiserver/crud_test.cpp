// apiserver/crud_test.cpp - objects come, change and go as clients of Kubernetes expect.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string maps = "/api/v1/namespaces/default/configmaps";
const std::string pods = "/api/v1/namespaces/default/pods";

std::string map_named(const std::string& name, const std::string& data = "1") {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
           R"("},"data":{"a":")" + data + R"("}})";
}

std::string pod_named(const std::string& name, const std::string& more = "") {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"("},"spec":{)" +
           more + R"("containers":[{"name":"c","image":"i"}]}})";
}

TEST_CASE("a created object has what the server gives") {
    TestServer server;
    const ReplyPtr reply = server.post(maps, map_named("m"));
    REQUIRE(reply->status == 201);
    const api::Value object = reply->json();
    CHECK(object["metadata"]["namespace"].text() == "default");
    CHECK(object["metadata"]["uid"].text().size() == 36);
    CHECK(object["metadata"]["creationTimestamp"].text() == "2023-11-14T22:13:20Z");
    CHECK(object["metadata"]["managedFields"][0]["manager"].text() == "tester");
    CHECK(!object["metadata"].has("generation"));
    CHECK(server.get(maps + "/m")->json() == object);
}

TEST_CASE("a write is answered only when it is durable") {
    TestServer server;
    const auto reply = std::make_shared<Reply>();
    server.server.handle(server.request("POST", maps, map_named("m")), reply);
    CHECK(reply->answers == 0);
    CHECK(server.store.find("/core/configmaps/default/m") == nullptr);
    server.loop.run();
    CHECK(reply->status == 201);
}

TEST_CASE("a read sees what was taken before it, unless it names a version") {
    TestServer server;
    const auto ask = [&](const std::string& method, const std::string& target, std::string body) {
        auto reply = std::make_shared<Reply>();
        server.server.handle(server.request(method, target, std::move(body)), reply);
        return reply;
    };
    ask("POST", maps, map_named("m"));
    const ReplyPtr got = ask("GET", maps + "/m", "");
    const ReplyPtr any = ask("GET", maps + "/m?resourceVersion=0", "");
    const ReplyPtr other = ask("GET", maps + "/n", "");
    const ReplyPtr listed = ask("GET", maps, "");
    const ReplyPtr elsewhere = ask("GET", pods, "");
    const ReplyPtr watched = ask("GET",
                                 maps +
                                     "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                                     "&resourceVersionMatch=NotOlderThan",
                                 "");
    CHECK(got->answers == 0);
    CHECK(any->status == 404);
    CHECK(other->status == 404);
    CHECK(listed->answers == 0);
    CHECK(elsewhere->status == 200);
    CHECK(watched->answers == 0);
    server.loop.run();
    CHECK(got->status == 200);
    CHECK(listed->json()["items"][0]["metadata"]["name"].text() == "m");
    CHECK(watched->story() == "ADDED m, BOOKMARK ");

    ask("DELETE", maps + "/m", "");
    const ReplyPtr gone = ask("GET", maps + "/m", "");
    CHECK(gone->answers == 0);
    server.loop.run();
    CHECK(gone->status == 404);
}

TEST_CASE("a name that is taken is refused") {
    TestServer server;
    server.post(maps, map_named("m"));
    const ReplyPtr reply = server.post(maps, map_named("m"));
    CHECK(reply->status == 409);
    CHECK(reply->reason() == "AlreadyExists");
    CHECK(reply->message() == "configmaps \"m\" already exists");
}

TEST_CASE("generateName makes a name") {
    TestServer server;
    const ReplyPtr reply = server.post(
        maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"job-"}})");
    REQUIRE(reply->status == 201);
    const std::string name = reply->json()["metadata"]["name"].text();
    CHECK(name.size() == 9);
    CHECK(name.substr(0, 4) == "job-");
}

TEST_CASE("what is not there is not found") {
    TestServer server;
    CHECK(server.get(maps + "/x")->message() == "configmaps \"x\" not found");
    CHECK(server.get("/apis/batch/v1/namespaces/default/jobs/x")->message() ==
          "jobs.batch \"x\" not found");
    CHECK(server.post("/api/v1/namespaces/nowhere/configmaps", map_named("m"))->message() ==
          "namespaces \"nowhere\" not found");
    CHECK(server.get("/apis/example.com/v1/things")->status == 404);
}

TEST_CASE("an update needs the newest version") {
    TestServer server;
    api::Value object = server.post(maps, map_named("m"))->json();
    object.at("data").set("a", "2");
    const ReplyPtr first = server.put(maps + "/m", api::to_json(object));
    REQUIRE(first->status == 200);
    CHECK(first->json()["data"]["a"].text() == "2");
    const ReplyPtr second = server.put(maps + "/m", api::to_json(object));
    CHECK(second->status == 409);
    CHECK(second->message() ==
          "Operation cannot be fulfilled on configmaps \"m\": the object has been modified; please "
          "apply your changes to the latest version and try again");
}

TEST_CASE("an update that changes nothing makes no version") {
    TestServer server;
    const api::Value object = server.post(maps, map_named("m"))->json();
    const auto revision = server.store.revision();
    const ReplyPtr reply = server.put(maps + "/m", api::to_json(object));
    CHECK(reply->status == 200);
    CHECK(server.store.revision() == revision);
    CHECK(reply->json()["metadata"]["resourceVersion"] == object["metadata"]["resourceVersion"]);
}

TEST_CASE("generation counts changes of the spec only") {
    TestServer server;
    const std::string jobs = "/apis/batch/v1/namespaces/default/jobs";
    const std::string job =
        R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"template":)"
        R"({"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})";
    CHECK(server.post(jobs, job)->json()["metadata"]["generation"].integer_or(0) == 1);
    server.merge(jobs + "/j", R"({"metadata":{"labels":{"a":"b"}}})");
    CHECK(server.get(jobs + "/j")->json()["metadata"]["generation"].integer_or(0) == 1);
    server.merge(jobs + "/j/status", R"({"status":{"active":1}})");
    const api::Value before = server.get(jobs + "/j")->json();
    CHECK(before["status"]["active"].integer_or(0) == 1);
    CHECK(before["metadata"]["generation"].integer_or(0) == 1);
    const ReplyPtr changed =
        server.merge(jobs + "/j", R"({"spec":{"suspend":true},"status":{"active":7}})");
    CHECK(changed->json()["metadata"]["generation"].integer_or(0) == 2);
    CHECK(changed->json()["status"]["active"].integer_or(0) == 1);
}

TEST_CASE("dry-run writes nothing") {
    TestServer server;
    const auto revision = server.store.revision();
    CHECK(server.post(maps + "?dryRun=All", map_named("m"))->status == 201);
    CHECK(server.get(maps + "/m")->status == 404);
    CHECK(server.store.revision() == revision);
}

TEST_CASE("an unbound pod goes at once, a bound one gets its grace") {
    TestServer server;
    REQUIRE(server.post(pods, pod_named("a"))->status == 201);
    CHECK(server.remove(pods + "/a")->status == 200);
    CHECK(server.get(pods + "/a")->status == 404);

    REQUIRE(server.post(pods, pod_named("b"))->status == 201);
    REQUIRE(server
                .post(pods + "/b/binding",
                      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"b"},)"
                      R"("target":{"kind":"Node","name":"n1"}})")
                ->status == 201);
    CHECK(server.get(pods + "/b")->json()["spec"]["nodeName"].text() == "n1");
    const api::Value marked = server.remove(pods + "/b")->json();
    CHECK(marked["metadata"]["deletionGracePeriodSeconds"].integer_or(0) == 30);
    CHECK(server.get(pods + "/b")->status == 200);
    CHECK(server.remove(pods + "/b", R"({"gracePeriodSeconds":0})")->status == 200);
    CHECK(server.get(pods + "/b")->status == 404);
}

TEST_CASE("a name that is no host name is warned of") {
    TestServer server;
    const ReplyPtr dots = server.post(pods, pod_named("a.b"));
    CHECK(dots->status == 201);
    CHECK(dots->headers.get("Warning") ==
          "299 - \"metadata.name: this is used in the Pod's hostname, which can result in "
          "surprising behavior; a DNS label is recommended: [must not contain dots]\"");
    CHECK(server.post(pods, pod_named("a"))->headers.get("Warning").empty());
}

TEST_CASE("an eviction names its pod, and heeds the options of its deletion") {
    TestServer server;
    REQUIRE(server.post(pods, pod_named("b"))->status == 201);
    const auto evict = [&](const std::string& name, const std::string& options) {
        return server.post(pods + "/b/eviction", R"({"metadata":{"name":")" + name +
                                                     R"("},"deleteOptions":)" + options + "}");
    };
    CHECK(evict("a", "{}")->status == 400);
    CHECK(evict("b", R"({"dryRun":["All"]})")->status == 201);
    CHECK(evict("b", R"({"preconditions":{"uid":"0"}})")->status == 409);
    CHECK(server.get(pods + "/b")->status == 200);
    CHECK(evict("b", "{}")->status == 201);
    CHECK(server.get(pods + "/b")->status == 404);
}

TEST_CASE("times of a pod's conditions are null until they are said") {
    TestServer server;
    server.post(pods, pod_named("a"));
    const api::Value seen =
        server.merge(pods + "/a/status", R"({"status":{"conditions":[{"type":"a.b/c"}]}})")->json();
    const api::Value& condition = seen["status"]["conditions"][0];
    CHECK(condition.has("lastProbeTime"));
    CHECK(condition["lastTransitionTime"].is_null());
    // Who sends them back changes nothing.
    const api::Value again = server.put(pods + "/a", api::to_json(seen))->json();
    CHECK(again["metadata"]["resourceVersion"] == seen["metadata"]["resourceVersion"]);
}

TEST_CASE("a pod keeps its quality, a Deployment its labels, whatever is said of their status") {
    TestServer server;
    server.post(pods, pod_named("a"));
    const api::Value bare = server.merge(pods + "/a/status", R"({"status":null})")->json();
    CHECK(api::to_json(bare["status"]) == R"({"qosClass":"BestEffort"})");
    const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
    server.post(deployments,
                R"({"metadata":{"name":"d","labels":{"a":"b"}},"spec":{"replicas":0,)"
                R"("selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":)"
                R"({"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
    const api::Value kept =
        server
            .merge(deployments + "/d/status",
                   R"({"metadata":{"labels":{"a":"c"},"annotations":{"n":"o"}}})")
            ->json();
    CHECK(kept["metadata"]["labels"]["a"].text() == "b");
    CHECK(kept["metadata"]["annotations"]["n"].text() == "o");
    CHECK(server.get(deployments + "/d/scale")->json()["spec"] == api::Value::object());
    CHECK(server.put(deployments + "/d/scale", R"({"metadata":{"name":"e"}})")->message() ==
          "the name of the object (e) does not match the name on the URL (d)");
}

TEST_CASE("a second binding is refused") {
    TestServer server;
    server.post(pods, pod_named("b"));
    const std::string target = R"("target":{"kind":"Node","name":"n1"}})";
    const std::string binding = R"({"metadata":{"name":"b"},)" + target;
    CHECK(server.post(pods + "/b/binding", "{" + target)->message() ==
          "name in URL does not match name in Binding object");
    REQUIRE(server.post("/api/v1/namespaces/default/bindings", binding)->status == 201);
    // The server's own doing: no change of what was asked for, and nobody's field.
    const api::Value bound = server.get(pods + "/b")->json();
    CHECK(bound["spec"]["nodeName"].text() == "n1");
    CHECK(bound["metadata"]["generation"].integer_or(0) == 1);
    CHECK(bound["metadata"]["managedFields"].size() == 1);
    const ReplyPtr reply = server.post(pods + "/b/binding", binding);
    CHECK(reply->status == 409);
    CHECK(reply->message() ==
          "Operation cannot be fulfilled on pods/binding \"b\": pod b is already assigned to node "
          "\"n1\"");
}

TEST_CASE("a pod gets priority, service account and its token volume") {
    TestServer server;
    const api::Value pod =
        server.post(pods, pod_named("a", R"("priorityClassName":"system-node-critical",)"))->json();
    CHECK(pod["spec"]["priority"].integer_or(0) == 2'000'001'000);
    CHECK(pod["spec"]["serviceAccountName"].text() == "default");
    CHECK(pod["spec"]["volumes"][0]["name"].text().substr(0, 16) == "kube-api-access-");
    CHECK(pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"].text() ==
          "/var/run/secrets/kubernetes.io/serviceaccount");
    CHECK(pod["status"]["phase"].text() == "Pending");
    CHECK(pod["status"]["qosClass"].text() == "BestEffort");
    REQUIRE(pod["spec"]["tolerations"].size() == 2);
    CHECK(pod["spec"]["tolerations"][1]["key"].text() == "node.kubernetes.io/unreachable");
    CHECK(pod["spec"]["tolerations"][1]["tolerationSeconds"].integer_or(0) == 300);
    CHECK(server.post(pods, pod_named("b", R"("priorityClassName":"x",)"))->message() ==
          "pods \"b\" is forbidden: no PriorityClass with name x was found");
}

TEST_CASE("finalizers hold an object until they are gone") {
    TestServer server;
    server.post(maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m",)"
                      R"("finalizers":["example.com/hold"]}})");
    CHECK(!server.remove(maps + "/m")->json()["metadata"]["deletionTimestamp"].is_null());
    CHECK(server
              .merge(maps + "/m",
                     R"({"metadata":{"finalizers":["example.com/hold","example.com/more"]}})")
              ->status == 422);
    CHECK(server.merge(maps + "/m", R"({"metadata":{"finalizers":null}})")->status == 200);
    CHECK(server.get(maps + "/m")->status == 404);
}

TEST_CASE("an object that breaks its schema hears of all else that is wrong as well") {
    TestServer server;
    const ReplyPtr bad = server.post(
        "/apis/batch/v1/namespaces/default/jobs",
        R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"parallelism":-1,)"
        R"("completionMode":"Nothing","template":{"spec":{"restartPolicy":"Always"}}}})");
    CHECK(bad->status == 422);
    std::string fields;
    const api::Value causes = bad->json()["details"]["causes"];
    for (const api::Value& cause : causes.items())
        fields += cause["field"].text() + " ";
    CHECK(fields ==
          "spec.completionMode spec.parallelism spec.template.spec.containers "
          "spec.template.spec.restartPolicy ");
}

TEST_CASE("a finalizer is a qualified name, and in built-in kinds one with a domain") {
    TestServer server;
    const ReplyPtr bad =
        server.post(maps, R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m",)"
                          R"("finalizers":["bad name","plain","orphan","a.b/c"]}})");
    CHECK(bad->status == 422);
    const api::Value causes = bad->json()["details"]["causes"];
    REQUIRE(causes.size() == 3);
    CHECK(causes[0]["field"].text() == "metadata.finalizers");
    CHECK(causes[1]["field"].text() == "metadata.finalizers[0]");
    CHECK(causes[2]["field"].text() == "metadata.finalizers[1]");
    CHECK(causes[2]["message"].text() ==
          "Invalid value: \"plain\": name is neither a standard finalizer name nor is it fully "
          "qualified");
    const std::string flavors = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors";
    CHECK(server
              .post(flavors, R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor",)"
                             R"("metadata":{"name":"f","finalizers":["plain"]}})")
              ->status == 201);
    CHECK(server
              .post(flavors, R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor",)"
                             R"("metadata":{"name":"g","finalizers":["bad name"]}})")
              ->status == 422);
}

TEST_CASE("the service kubernetes comes back when it is removed with all the others") {
    TestServer server;
    const std::string services = "/api/v1/namespaces/default/services";
    const api::Value before = server.get(services + "/kubernetes")->json();
    REQUIRE(before["spec"]["clusterIP"].text() != "");
    CHECK(server.remove(services)->status == 200);
    const api::Value after = server.get(services + "/kubernetes")->json();
    CHECK(after["spec"] == before["spec"]);
    CHECK(after["metadata"]["uid"].text() != before["metadata"]["uid"].text());
}

TEST_CASE("an added answer is given about what is there only") {
    TestServer server;
    server.server.add_answer({"", "configmaps"}, "why",
                             [](const net::Request&, const api::Key& key,
                                const std::shared_ptr<net::Responder>& responder) {
                                 net::Response response;
                                 response.body = make_bytes(key.name);
                                 responder->respond(response);
                             });
    server.post(maps, map_named("m"));
    CHECK(server.get(maps + "/m/why")->text == "m");
    const ReplyPtr absent = server.get(maps + "/n/why");
    CHECK(absent->status == 404);
    CHECK(absent->message() == "configmaps \"n\" not found");
}

TEST_CASE("propagation is left to the garbage collector as a finalizer") {
    TestServer server;
    server.post(maps, map_named("m"));
    const ReplyPtr reply = server.remove(maps + "/m?propagationPolicy=Foreground");
    CHECK(reply->json()["metadata"]["finalizers"][0].text() == "foregroundDeletion");
}

TEST_CASE("preconditions guard a removal") {
    TestServer server;
    const std::string uid = server.post(maps, map_named("m"))->json()["metadata"]["uid"].text();
    const ReplyPtr refused = server.remove(maps + "/m", R"({"preconditions":{"uid":"0"}})");
    CHECK(refused->status == 409);
    CHECK(refused->message() ==
          "Operation cannot be fulfilled on ConfigMap \"m\": the UID in the precondition (0) does "
          "not match the UID in record (" +
              uid + "). The object might have been deleted and then recreated");
    CHECK(server.remove(maps + "/m", R"({"preconditions":{"uid":")" + uid + R"("}})")
              ->json()["status"]
              .text() == "Success");
}

TEST_CASE("deletecollection takes what the selector selects") {
    TestServer server;
    for (const char* name : {"a", "b", "c"}) {
        server.post(maps, map_named(name));
    }
    server.merge(maps + "/b", R"({"metadata":{"labels":{"keep":"yes"}}})");
    CHECK(server.remove(maps + "?labelSelector=!keep")->json()["items"].size() == 2);
    CHECK(server.get(maps)->json()["items"].size() == 1);
}

TEST_CASE("a namespace goes when its finalizer is taken away") {
    TestServer server;
    server.post("/api/v1/namespaces",
                R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n"}})");
    server.post("/api/v1/namespaces/n/configmaps", map_named("m"));
    const api::Value going = server.remove("/api/v1/namespaces/n")->json();
    CHECK(going["status"]["phase"].text() == "Terminating");
    const ReplyPtr late = server.post("/api/v1/namespaces/n/configmaps", map_named("late"));
    CHECK(late->status == 403);
    CHECK(late->message() ==
          "configmaps \"late\" is forbidden: unable to create new content in namespace n because "
          "it is being terminated");
    api::Value empty = going;
    empty.set("spec", api::Value::object());
    CHECK(server.put("/api/v1/namespaces/n/finalize", api::to_json(empty))->status == 200);
    CHECK(server.get("/api/v1/namespaces/n")->status == 404);
    CHECK(server.remove("/api/v1/namespaces/default")->message() ==
          "namespaces \"default\" is forbidden: this namespace may not be deleted");
}

TEST_CASE("services get addresses that nobody else has") {
    TestServer server;
    const std::string services = "/api/v1/namespaces/default/services";
    const auto service = [](const std::string& name, const std::string& more) {
        return R"({"apiVersion":"v1","kind":"Service","metadata":{"name":")" + name +
               R"("},"spec":{)" + more + R"("ports":[{"port":80}]}})";
    };
    const std::string first =
        server.post(services, service("a", ""))->json()["spec"]["clusterIP"].text();
    CHECK(first == "10.96.0.16");
    CHECK(server.post(services, service("b", R"("clusterIP":")" + first + R"(",)"))->status == 422);
    CHECK(server.post(services, service("c", R"("clusterIP":"None",)"))
              ->json()["spec"]["clusterIP"]
              .text() == "None");
    CHECK(server.get(services + "/kubernetes")->json()["spec"]["clusterIP"].text() == "10.96.0.1");
}

TEST_CASE("a restart finds everything as it was") {
    const auto disk = std::make_shared<store::MemoryDisk>();
    std::string before;
    {
        TestServer server({}, disk);
        server.post(maps, map_named("m"));
        before = server.get(maps + "/m")->text;
    }
    TestServer server({}, disk);
    CHECK(server.get(maps + "/m")->text == before);
    CHECK(server.post(maps, map_named("n"))->status == 201);
}

TEST_CASE("apply creates, then shares the object with others") {
    TestServer server;
    const std::string one = maps + "/m";
    const std::string mine = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n";
    CHECK(server.apply(one + "?fieldManager=a", mine + "data: {a: '1', b: '1'}")->status == 201);
    CHECK(server.merge(one + "?fieldManager=b", R"({"data":{"c":"2"}})")->status == 200);
    const ReplyPtr refused = server.apply(one + "?fieldManager=d", mine + "data: {a: '3'}");
    CHECK(refused->status == 409);
    CHECK(refused->message() == "Apply failed with 1 conflict: conflict with \"a\": .data.a");
    CHECK(refused->json()["details"]["causes"][0]["reason"].text() == "FieldManagerConflict");
    CHECK(server.apply(one + "?fieldManager=d&force=true", mine + "data: {a: '3'}")->status == 200);
    CHECK(server.apply(one + "?fieldManager=a", mine)->status == 200);
    const api::Value data = server.get(one)->json()["data"];
    CHECK(data == api::Value::object({{"a", "3"}, {"c", "2"}}));
}

TEST_CASE("an apply takes over what another wrote, but not what the server added") {
    TestServer server;
    const std::string body =
        "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: "
        "i}]}}";
    server.post(pods + "?fieldManager=kubectl-client-side-apply", pod_named("p"));
    api::Value fields = server.get(pods + "/p")->json()["metadata"]["managedFields"];
    REQUIRE(fields.size() == 1);
    CHECK(!fields[0]["fieldsV1"]["f:spec"].has("f:volumes"));
    CHECK(fields[0]["fieldsV1"]["f:spec"].has("f:dnsPolicy"));
    // kubectl moves the ownership like this when a user starts to apply on the server's side.
    fields.mutable_items()[0].set("manager", "kubectl");
    fields.mutable_items()[0].set("operation", "Apply");
    server.merge(pods + "/p", R"({"metadata":{"managedFields":)" + api::to_json(fields) + "}}");
    const ReplyPtr reply = server.apply(pods + "/p?fieldManager=kubectl", body);
    CHECK(reply->status == 200);
    CHECK(reply->json()["spec"]["volumes"].size() == 1);
}

TEST_CASE("a second identical apply makes no version") {
    TestServer server;
    const std::string body = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata: {a: b}";
    server.apply(maps + "/m?fieldManager=a", body);
    const auto revision = server.store.revision();
    server.loop.advance(seconds(5));
    CHECK(server.apply(maps + "/m?fieldManager=a", body)->status == 200);
    CHECK(server.store.revision() == revision);
}

}  // namespace
}  // namespace muster::apiserver
