// apiserver/pod_security_test.cpp - Pod Security Admission on a server: what is refused, what is
// warned of, whom labels and exemptions concern. The checks: api/builtin/pod_security_test.cpp.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string spaces = "/api/v1/namespaces";

std::string space(const std::string& name, const std::string& labels) {
    return R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + name +
           R"(","labels":{)" + labels + "}}}";
}

std::string label(const std::string& way, const std::string& value) {
    return R"("pod-security.kubernetes.io/)" + way + R"(":")" + value + R"(")";
}

const std::string host_volume = R"("volumes":[{"name":"v","hostPath":{"path":"/"}}],)";

std::string spec(const std::string& more) {
    return "{" + more + R"("containers":[{"name":"c","image":"busybox"}]})";
}

std::string pod(const std::string& name, const std::string& more) {
    return R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name + R"("},"spec":)" +
           spec(more) + "}";
}

std::string warnings_of(const ReplyPtr& reply) {
    std::string all;
    for (const auto& [name, value] : reply->headers.fields) {
        if (name == "Warning") all += value + "\n";
    }
    return all;
}

struct Spaces : TestServer {
    explicit Spaces(Options options = {}) : TestServer(std::move(options)) {}
    ReplyPtr add(const std::string& ns, const std::string& body) {
        return post(spaces + "/" + ns + "/pods", body);
    }
    void open(const std::string& name, const std::string& labels = "") {
        REQUIRE(post(spaces, space(name, labels))->status == 201);
    }
};

TEST_CASE("a namespace without labels takes no pod that could reach the machine") {
    Spaces server;
    const ReplyPtr refused = server.add("default", pod("x", host_volume));
    CHECK(refused->status == 403);
    CHECK(refused->reason() == "Forbidden");
    CHECK(refused->message() ==
          "pods \"x\" is forbidden: violates PodSecurity \"baseline:latest\": hostPath volumes "
          "(volume \"v\")");
    CHECK(server.add("default", pod("y", "\"hostNetwork\":true,"))->message() ==
          "pods \"y\" is forbidden: violates PodSecurity \"baseline:latest\": host namespaces "
          "(hostNetwork=true)");
    const ReplyPtr good = server.add("default", pod("z", ""));
    CHECK(good->status == 201);
    CHECK(warnings_of(good).empty());
    CHECK(server.add("kube-system", pod("s", host_volume))->status == 201);
    CHECK(warnings_of(server.add("kube-system", pod("t", host_volume))).empty());
}

TEST_CASE("labels say otherwise, to the version") {
    Spaces server;
    server.open("free", label("enforce", "privileged") + "," + label("warn", "privileged"));
    CHECK(server.add("free", pod("x", host_volume))->status == 201);
    server.open("told", label("enforce", "privileged"));
    CHECK(warnings_of(server.add("told", pod("x", host_volume)))
              .find("would violate PodSecurity \\\"baseline:latest\\\": hostPath volumes") !=
          std::string::npos);
    server.open("strict", label("enforce", "restricted") + "," + label("enforce-version", "v1.7"));
    CHECK(server.add("strict", pod("x", ""))->message() ==
          "pods \"x\" is forbidden: violates PodSecurity \"restricted:v1.7\": runAsNonRoot != true "
          "(pod or container \"c\" must set securityContext.runAsNonRoot=true)");
    CHECK(server.add("strict", pod("y", R"("securityContext":{"runAsNonRoot":true},)"))->status ==
          201);
}

TEST_CASE("templates of pods are warned of, and taken") {
    Spaces server;
    const ReplyPtr job =
        server.post("/apis/batch/v1/namespaces/default/jobs",
                    R"({"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":)"
                    R"({"template":{"spec":)" +
                        spec(host_volume + R"("restartPolicy":"Never",)") + "}}}");
    CHECK(job->status == 201);
    CHECK(warnings_of(job).find("would violate PodSecurity \\\"baseline:latest\\\": hostPath "
                                "volumes (volume \\\"v\\\")") != std::string::npos);
    const ReplyPtr cron =
        server.post("/apis/batch/v1/namespaces/default/cronjobs",
                    R"({"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"j"},"spec":)"
                    R"({"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":)" +
                        spec(host_volume + R"("restartPolicy":"Never",)") + "}}}}}");
    CHECK(cron->status == 201);
    CHECK(warnings_of(cron).find("would violate PodSecurity") != std::string::npos);
}

TEST_CASE("a label that cannot be read is refused, and one that is there is as strict as can be") {
    Spaces server;
    const ReplyPtr refused = server.post(spaces, space("a", label("enforce", "strict")));
    CHECK(refused->status == 422);
    CHECK(refused->message() ==
          "Namespace \"a\" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: "
          "Invalid value: \"strict\": must be one of privileged, baseline, restricted");
    CHECK(server.post(spaces, space("a", label("warn-version", "v2.0")))
              ->message()
              .find("must be \"latest\" or \"v1.x\"") != std::string::npos);
    server.open("a");
    CHECK(server.merge(spaces + "/a", R"({"metadata":{"labels":{)" + label("audit", "x") + "}}}")
              ->status == 422);
}

TEST_CASE("a namespace that becomes stricter names the pods that it would refuse") {
    Spaces server;
    server.open("a", label("enforce", "privileged"));
    for (const char* name : {"b", "a", "c"})
        server.add("a", pod(name, host_volume));
    server.add("a", pod("d", "\"hostPID\":true,"));
    server.add("a", pod("good", ""));
    const ReplyPtr stricter = server.merge(
        spaces + "/a", R"({"metadata":{"labels":{)" + label("enforce", "baseline") + "}}}");
    CHECK(stricter->status == 200);
    CHECK(warnings_of(stricter) ==
          "299 - \"existing pods in namespace \\\"a\\\" violate the new PodSecurity enforce level "
          "\\\"baseline:latest\\\"\"\n"
          "299 - \"a (and 2 other pods): hostPath volumes\"\n"
          "299 - \"d: host namespaces\"\n");
    CHECK(warnings_of(server.merge(spaces + "/a", R"({"metadata":{"labels":{)" +
                                                      label("enforce", "privileged") + "}}}"))
              .empty());
    CHECK(warnings_of(
              server.merge(spaces + "/kube-system",
                           R"({"metadata":{"labels":{)" + label("enforce", "restricted") + "}}}"))
              .find("namespace \\\"kube-system\\\" is exempt from Pod Security, and the policy "
                    "(enforce=restricted:latest) will be ignored") != std::string::npos);
}

TEST_CASE("what is there may be written, but for its images") {
    Spaces server;
    server.open("a", label("enforce", "privileged"));
    server.add("a", pod("p", host_volume));
    server.merge(spaces + "/a",
                 R"({"metadata":{"labels":{)" + label("enforce", "baseline") + "}}}");
    const std::string path = spaces + "/a/pods/p";
    CHECK(server.merge(path, R"({"metadata":{"labels":{"x":"y"}}})")->status == 200);
    const std::string change =
        R"([{"op":"replace","path":"/spec/containers/0/image","value":"other"}])";
    CHECK(server.send(server.request("PATCH", path, change, "application/json-patch+json"))
              ->message()
              .find("violates PodSecurity") != std::string::npos);
    CHECK(server.remove(path)->status == 200);
}

TEST_CASE("the configuration exempts users, namespaces and runtime classes") {
    Options options;
    options.pod_security.defaults.enforce.level = api::SecurityLevel::restricted;
    options.pod_security.usernames = {"system:admin"};
    options.pod_security.namespaces = {"a"};
    Spaces server(std::move(options));
    server.open("a");
    CHECK(server.add("default", pod("p", host_volume))->status == 201);
    server.user = "somebody";
    CHECK(server.add("default", pod("q", ""))->status == 403);
    CHECK(server.add("a", pod("q", host_volume))->status == 201);
}

TEST_CASE("what labels say holds after a restart") {
    const auto disk = std::make_shared<store::MemoryDisk>();
    {
        TestServer server({}, disk);
        server.post(spaces, space("free", label("enforce", "privileged")));
    }
    TestServer server({}, disk);
    CHECK(server.post(spaces + "/free/pods", pod("x", host_volume))->status == 201);
    CHECK(server.post(spaces + "/default/pods", pod("x", host_volume))->status == 403);
}

}  // namespace
}  // namespace muster::apiserver
