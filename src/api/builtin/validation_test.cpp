// api/builtin/validation_test.cpp - what Kubernetes refuses in the kinds that users write most, in
// its words.
#include "api/builtin/validation.h"

#include <string>

#include <doctest/doctest.h>

#include "api/kind.h"
#include "api/parsed_text.h"

namespace muster::api {
namespace {

/// "field: text" of each error, a line each.
std::string told(const FieldErrors& errors) {
    std::string text;
    for (const FieldError& error : errors)
        text += error.field + ": " + error.text + "\n";
    return text;
}

Value pod_with(std::string_view spec) {
    Value pod = parsed("{\"metadata\":{\"name\":\"p\"},\"spec\":" + std::string(spec) + "}");
    default_pod(pod);
    return pod;
}

Value good_job() {
    Value job =
        parsed(R"({"metadata":{"name":"j","uid":"u"},"spec":{"suspend":true,"template":{"spec":{
        "restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})");
    default_job(job);
    return job;
}

TEST_CASE("a pod needs containers with names and images") {
    CHECK(told(validate_pod(pod_with("{}"), nullptr)) == "spec.containers: Required value\n");
    CHECK(told(validate_pod(pod_with(R"({"containers":[{}]})"), nullptr)) ==
          "spec.containers[0].name: Required value\nspec.containers[0].image: Required value\n");
    CHECK(told(validate_pod(
              pod_with(R"({"containers":[{"name":"a","image":"i"},{"name":"a","image":"i"}]})"),
              nullptr)) == "spec.containers[1].name: Duplicate value: \"a\"\n");
}

TEST_CASE("a pod of very many volumes and mounts is checked without comparing each with each") {
    constexpr int many = 30'000;
    std::string volumes, mounts;
    for (int i = 0; i < many; ++i) {
        const std::string name = "\"name\":\"v" + std::to_string(i) + "\"";
        volumes += (i > 0 ? ",{" : "{") + name + ",\"emptyDir\":{}}";
        mounts += (i > 0 ? ",{" : "{") + name + ",\"mountPath\":\"/" + std::to_string(i) + "\"}";
    }
    mounts += R"(,{"name":"none","mountPath":"/none"})";
    const Value pod = pod_with(R"({"containers":[{"name":"a","image":"i","volumeMounts":[)" +
                               mounts + "]}],\"volumes\":[" + volumes + "]}");
    CHECK(told(validate_pod(pod, nullptr)) ==
          "spec.containers[0].volumeMounts[30000].name: Not found: \"none\"\n");
}

TEST_CASE("what is mounted must be a volume, requests must fit limits") {
    const Value pod = pod_with(R"({"containers":[{"name":"a","image":"i",
        "volumeMounts":[{"name":"data","mountPath":"/data"}],
        "resources":{"requests":{"cpu":"2","memory":"-1"},"limits":{"cpu":"1","memory":"1Gi"}},
        "env":[{"name":"A=B"}],"ports":[{"containerPort":70000}]}]})");
    CHECK(told(validate_pod(pod, nullptr)) ==
          "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and "
          "65535, inclusive\n"
          "spec.containers[0].env[0].name: Invalid value: \"A=B\": a valid environment variable "
          "name must consist only of printable ASCII characters other than '='\n"
          "spec.containers[0].volumeMounts[0].name: Not found: \"data\"\n"
          "spec.containers[0].resources.requests[memory]: Invalid value: \"-1\": must be greater "
          "than or equal to 0\n"
          "spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal "
          "to cpu limit of 1\n");
}

TEST_CASE("a running pod's spec is fixed but for its images; a binding may name the node") {
    const Value old = pod_with(R"({"containers":[{"name":"a","image":"i"}]})");
    Value changed = old;
    changed.at("spec").at("containers").mutable_items()[0].set("image", "j");
    changed.at("spec").set("nodeName", "n");
    CHECK(validate_pod(changed, &old).empty());
    changed.at("spec").at("containers").mutable_items()[0].set("name", "b");
    REQUIRE(validate_pod(changed, &old).size() == 1);
    CHECK(validate_pod(changed, &old)[0].reason == "FieldValueForbidden");
}

TEST_CASE("a job gets its selector and labels from its uid, and keeps them") {
    const Value job = good_job();
    CHECK(validate_job(job, nullptr).empty());
    CHECK(job["spec"]["selector"]["matchLabels"]["batch.kubernetes.io/controller-uid"].text() ==
          "u");
    CHECK(job["spec"]["template"]["metadata"]["labels"]["job-name"].text() == "j");
    CHECK(job["spec"]["completions"].integer_or(0) == 1);
    Value always = job;
    always.at("spec").at("template").at("spec").set("restartPolicy", "Always");
    CHECK(told(validate_job(always, nullptr)) ==
          "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", "
          "\"Never\"\n");
}

TEST_CASE("a suspended job's pods may be steered to nodes, a started one's may not") {
    const Value suspended = good_job();
    Value steered = suspended;
    steered.at("spec").at("template").at("spec").set("nodeSelector", Value::object({{"a", "b"}}));
    steered.at("spec").set("suspend", false);
    CHECK(validate_job(steered, &suspended).empty());
    Value running = suspended;
    running.at("spec").set("suspend", false);
    CHECK(validate_job(steered, &running).size() == 1);
}

TEST_CASE("services, secrets, roles and bindings are refused in Kubernetes' words") {
    CHECK(told(validate_service(parsed(R"({"spec":{"type":"ClusterIP"}})"), nullptr)) ==
          "spec.ports: Required value\n");
    CHECK(told(validate_secret(parsed(R"({"type":"kubernetes.io/tls","data":{"tls.crt":""}})"),
                               nullptr)) == "data[tls.key]: Required value\n");
    CHECK(told(validate_role(
              parsed(R"({"kind":"Role","rules":[{"apiGroups":[""],"resources":["pods"]}]})"),
              nullptr)) ==
          "rules[0].verbs: Required value: verbs must contain at least one value\n");
    Value binding = parsed(R"({"kind":"RoleBinding","roleRef":{"kind":"Role","name":"r"},
        "subjects":[{"kind":"User","name":"u"}]})");
    default_role_binding(binding);
    CHECK(validate_role_binding(binding, nullptr).empty());
    Value other = binding;
    other.at("roleRef").set("name", "s");
    CHECK(validate_role_binding(other, &binding).size() == 1);
}

TEST_CASE("the token of a service account says whose it is") {
    Value secret = parsed(R"({"type":"kubernetes.io/service-account-token","metadata":{}})");
    CHECK(told(validate_secret(secret, nullptr)) ==
          "metadata.annotations[kubernetes.io/service-account.name]: Required value\n");
    secret.at("metadata").at("annotations").set("kubernetes.io/service-account.name", "a");
    CHECK(told(validate_secret(secret, nullptr)).empty());
}

TEST_CASE("a lease lasts, a manager of jobs has a domain, a variable shows what pods have") {
    CHECK(told(validate_lease(parsed(R"({"spec":{"leaseDurationSeconds":0}})"), nullptr)) ==
          "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0\n");
    CHECK(validate_lease(parsed(R"({"spec":{}})"), nullptr).empty());
    CHECK(told(validate_secret(parsed(R"({"type":"kubernetes.io/basic-auth"})"), nullptr)) ==
          "data[username]: Required value\ndata[password]: Required value\n");
    const auto may_manage = [](const char* manager) {
        Value job = parsed(R"({"spec":{"template":{"spec":{"restartPolicy":"Never",
            "containers":[{"name":"a","image":"b"}]}}}})");
        default_job(job);
        job.at("spec").set("managedBy", manager);
        return told(validate_job(job, nullptr)).find("spec.managedBy") == std::string::npos;
    };
    CHECK(may_manage("example.com/a/b"));
    for (const char* bad : {"", "nobody", "/a", "example.com/", "example.com/a b", "A/b"})
        CHECK_MESSAGE(!may_manage(bad), bad);
    CHECK(!may_manage((std::string("example.com/") + std::string(60, 'a')).c_str()));
    const auto shows = [](const std::string& field) {
        Value pod = pod_with(R"({"containers":[{"name":"a","image":"b","env":[{"name":"X",
            "valueFrom":{"fieldRef":{"fieldPath":")" +
                             field + R"("}}}]}]})");
        default_pod(pod);
        return validate_pod(pod, nullptr).empty();
    };
    for (const char* good : {"metadata.name", "status.podIP", "metadata.labels['a.b/c']"})
        CHECK_MESSAGE(shows(good), good);
    CHECK(shows("spec.host"));
    CHECK(shows("metadata.annotations['A.b/C']"));
    for (const char* bad :
         {"metadata.nothing", "metadata.labels['a b']", "metadata.labels['", "metadata.labels[']",
          "spec", "metadata.labels", "status.phase", "spec['a']"})
        CHECK_MESSAGE(!shows(bad), bad);
}

TEST_CASE("files show fields of their pod: which, and of what version of it") {
    const auto said_of = [](const std::string& item) {
        Value pod = pod_with(R"({"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"v",
            "downwardAPI":{"items":[)" +
                             item + R"(]}}]})");
        default_pod(pod);
        return told(validate_pod(pod, nullptr));
    };
    const std::string at = "spec.volumes[0].downwardAPI";
    CHECK(said_of(R"({"path":"l","fieldRef":{"fieldPath":"metadata.labels"}})").empty());
    CHECK(said_of(R"({"path":"l","fieldRef":{"fieldPath":"spec.nodeName"}})")
              .find(at + ".fieldRef.fieldPath") != std::string::npos);
    CHECK(said_of(R"({"path":"l","fieldRef":{"fieldPath":"metadata.name","apiVersion":"v2"}})")
              .find("unsupported pod version: v2") != std::string::npos);
    CHECK(said_of(R"({"path":"l"})").find("one of fieldRef") != std::string::npos);
    CHECK(said_of(R"({"fieldRef":{"fieldPath":"metadata.name"}})").find(at + ".path") !=
          std::string::npos);
}

TEST_CASE("the files of a volume stay inside it, and have modes that files have") {
    const auto said_of = [](const std::string& source) {
        Value pod = pod_with(R"({"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"v",)" +
                             source + "}]}");
        default_pod(pod);
        return told(validate_pod(pod, nullptr));
    };
    const auto map_with = [&](const std::string& item) {
        return said_of(R"("configMap":{"name":"m","items":[{"key":"k",)" + item + "}]}");
    };
    CHECK(map_with(R"("path":"a/b..c","mode":511)").empty());
    const std::string at = "spec.volumes[0].configMap";
    CHECK(map_with(R"("path":"a/../b")") ==
          at + R"(.items[0].path: Invalid value: "a/../b": must not contain '..')" + "\n");
    CHECK(map_with(R"("path":"..b")") ==
          at + R"(.items[0].path: Invalid value: "..b": must not start with '..')" + "\n");
    CHECK(map_with(R"("path":"/b")") ==
          at + R"(.items[0].path: Invalid value: "/b": must be a relative path)" + "\n");
    CHECK(map_with(R"("path":"b","mode":512)") ==
          at + ".items[0].mode: Invalid value: 512: must be a number between 0 and 0777 (octal), "
               "both inclusive\n");
    CHECK(said_of(R"("projected":{"sources":[
              {"secret":{"name":"s","items":[{"key":"k","path":"p"}]}},
              {"configMap":{"name":"m","items":[{"key":"k","path":"p"}]}}]})") ==
          "spec.volumes[0].projected: Invalid value: \"m\": conflicting duplicate paths\n");
    CHECK(said_of(R"("emptyDir":{},"secret":{})") ==
          "spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type\n");
}

TEST_CASE("users and groups of a pod are ids that the kernel has") {
    const auto said_of = [](const std::string& of_pod, const std::string& of_container) {
        Value pod = pod_with(R"({"securityContext":)" + of_pod +
                             R"(,"containers":[{"name":"a","image":"b","securityContext":)" +
                             of_container + "}]}");
        default_pod(pod);
        return told(validate_pod(pod, nullptr));
    };
    const std::string rule = ": must be between 0 and 2147483647, inclusive\n";
    CHECK(said_of(R"({"runAsUser":0,"fsGroup":2147483647,"supplementalGroups":[5]})",
                  R"({"runAsUser":1000650000,"runAsGroup":0})")
              .empty());
    // 2^32 is 0 in the kernel's 32 bits.
    CHECK(said_of("{}", R"({"runAsUser":4294967296})") ==
          "spec.containers[0].securityContext.runAsUser: Invalid value: 4294967296" + rule);
    CHECK(said_of(R"({"fsGroup":-1})", "{}") ==
          "spec.securityContext.fsGroup: Invalid value: -1" + rule);
    CHECK(said_of(R"({"supplementalGroups":[1,2147483648]})", R"({"runAsGroup":-5})") ==
          "spec.containers[0].securityContext.runAsGroup: Invalid value: -5" + rule +
              "spec.securityContext.supplementalGroups[1]: Invalid value: 2147483648" + rule);
}

TEST_CASE("an amount of a container is of a resource, in units that it has") {
    const auto said_of = [](const std::string& reference) {
        Value pod = pod_with(R"({"containers":[{"name":"a","image":"b"}],"volumes":[{"name":"v",
            "downwardAPI":{"items":[{"path":"p","resourceFieldRef":)" +
                             reference + "}]}}]}");
        default_pod(pod);
        return told(validate_pod(pod, nullptr));
    };
    const auto in_parts = [&](const std::string& resource, const std::string& divisor) {
        return said_of(R"({"containerName":"a","resource":")" + resource + R"(","divisor":")" +
                       divisor + R"("})");
    };
    CHECK(in_parts("limits.memory", "1Mi").empty());
    CHECK(in_parts("requests.cpu", "1m").empty());
    CHECK(in_parts("requests.cpu", "0").empty());
    CHECK(in_parts("limits.hugepages-2Mi", "1Ki").empty());
    CHECK(in_parts("limits.cpu", "2").find("only divisor's values 1m and 1") != std::string::npos);
    CHECK(in_parts("limits.memory", "1m").find("memory resource") != std::string::npos);
    CHECK(in_parts("limits.hugepages-2Mi", "3").find("hugepages resource") != std::string::npos);
    CHECK(in_parts("limits.gpu", "1").find("Unsupported value: \"limits.gpu\"") !=
          std::string::npos);
    CHECK(said_of(R"({"resource":"limits.cpu"})").find("containerName: Required value") !=
          std::string::npos);
}

}  // namespace
}  // namespace muster::api
