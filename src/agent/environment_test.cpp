// agent/environment_test.cpp - variables, command lines, volumes and images of containers.
#include "agent/environment.h"

#include <doctest/doctest.h>

#include "agent/image_map.h"
#include "agent/volumes.h"
#include "api/json.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::agent {

namespace {

api::Value json(const std::string& text) {
    auto parsed = api::parse_json(text);
    REQUIRE(std::holds_alternative<api::Parsed>(parsed));
    return std::get<api::Parsed>(std::move(parsed)).value;
}

const std::string* find(const Variables& variables, const std::string& name) {
    for (const auto& [known, value] : variables)
        if (known == name) return &value;
    return nullptr;
}

PodPlace place() {
    PodPlace place;
    place.node_name = "node1";
    place.host_ip = "10.244.0.1";
    place.pod_ip = "10.244.1.5";
    place.home = "/root";
    place.allocatable = json(R"({"cpu":"8","memory":"8Gi"})");
    return place;
}

}  // namespace

TEST_CASE("$(NAME) is replaced as Kubernetes does it") {
    const Variables variables{{"A", "1"}, {"B", "two words"}};
    CHECK(expand("$(A)-$(B)", variables, 100) == "1-two words");
    CHECK(expand("$(MISSING) $A $", variables, 100) == "$(MISSING) $A $");
    CHECK(expand("$$(A) $$$(A)", variables, 100) == "$(A) $1");
    CHECK(expand("$(A", variables, 100) == "$(A");
}

TEST_CASE("what is longer than Linux takes is not made") {
    const std::string long_text(kWordLimit, 'x');
    CHECK(expand(long_text, {}, kWordLimit) == long_text);
    CHECK_THROWS_WITH_AS(expand("$(A)$(A)$(A)", {{"A", "four"}}, 11),
                         "\"$(A)$(A)$(A)\" with its variables is longer than 11 bytes", Error);
    std::string nested;
    for (int i = 0; i < 100'000; ++i)
        nested += "$(";
    CHECK(expand(nested, {}, 1 << 20) == nested);
    CHECK(expand(nested + ")", {}, 1 << 20) == nested + ")");

    const api::Value pod = json(R"({"metadata":{"namespace":"ns"},"spec":{}})");
    Sources sources;
    sources.config_maps["c"] = json(R"({"kind":"ConfigMap","data":{}})");
    for (int i = 0; i < 9; ++i)
        sources.config_maps["c"].at("data").set("K" + std::to_string(i), std::string(100'000, 'x'));
    const auto made = [&](api::Value container) {
        return make_environment(pod, container, sources, place(), {});
    };
    api::Value doubles = json("{}");
    doubles.at("env").push(json(R"({"name":"V0","value":"1234567890"})"));
    for (int i = 1; i < 40; ++i) {
        const std::string half = "$(V" + std::to_string(i - 1) + ")";
        doubles.at("env").push(
            api::Value::object({{"name", "V" + std::to_string(i)}, {"value", half + half}}));
    }
    const Environment bomb = made(doubles);
    CHECK(bomb.problem.find("is longer than 131071 bytes") != std::string::npos);
    CHECK(bomb.variables.size() < 30);

    api::Value whole = json("{}");
    const api::Value reference = json(R"({"configMapRef":{"name":"c"}})");
    whole.at("envFrom").push(reference);
    whole.at("envFrom").push(reference);
    CHECK(made(whole).problem == "");  // 1.8 MB
    whole.at("envFrom").push(reference);
    CHECK(made(whole).problem.find("together are longer than 2097152 bytes") != std::string::npos);

    const auto problem_with = [&](const char* list, const api::Value& item) {
        api::Value container = json(R"({"env":[{"name":"A","value":"x"}]})");
        container.at("env").mutable_items()[0].set("value", std::string(100'000, 'x'));
        for (int i = 0; i < 30; ++i)
            container.at(list).push(item);
        return made(container).problem;
    };
    CHECK(problem_with("args", api::Value("$(A)")).find("longer than 2097152") !=
          std::string::npos);
    CHECK(problem_with("command", api::Value("$(A)$(A)")).find("longer than 131071") !=
          std::string::npos);
    std::string letters;
    for (int i = 0; i < 70'000; ++i)
        letters += "\u00e4";
    CHECK(is_utf8(problem_with("args", api::Value("x" + letters))));
    const api::Value mount = json(R"json({"subPathExpr":"$(A)"})json");
    CHECK(problem_with("volumeMounts", mount).find("than 4095") != std::string::npos);
}

TEST_CASE("of a config map the entries are kept that the pod names") {
    const api::Value pod = json(R"({"spec":{"volumes":[
      {"name":"v","configMap":{"name":"items","items":[{"key":"a","path":"p"}]}},
      {"name":"w","projected":{"sources":[{"secret":{"name":"whole"}}]}}],
      "containers":[{"name":"c","envFrom":[{"configMapRef":{"name":"from"}}],
        "env":[{"name":"X","valueFrom":{"configMapKeyRef":{"name":"items","key":"b"}}}]}]}})");
    const SourcesNeeded needed = sources_needed(pod);
    CHECK(needed.config_maps.at("items").names == std::set<std::string>{"a", "b"});
    CHECK_FALSE(needed.config_maps.at("items").all);
    CHECK(needed.config_maps.at("from").all);
    CHECK(needed.secrets.at("whole").all);
    CHECK(sources_of_variables(pod).config_maps.at("items").names == std::set<std::string>{"b"});
    const api::Value object = json(R"({"kind":"ConfigMap","metadata":{"name":"items"},
      "data":{"a":"1","x":"2"},"binaryData":{"b":"AA==","y":"AA=="}})");
    const api::Value kept = kept_of(object, needed.config_maps.at("items"));
    CHECK(kept == json(R"({"kind":"ConfigMap","data":{"a":"1"},"binaryData":{"b":"AA=="}})"));
    CHECK(cost_of(kept) == 2 + 256 + 5 + 256);
    CHECK(cost_of(kept_of(object, {.all = true, .names = {}})) > cost_of(kept));
}

TEST_CASE("keys that no variable is made of count too, and files have a number") {
    Sources sources;
    api::Value map = json(R"({"kind":"ConfigMap"})");
    for (int i = 0; i < 6'000; ++i)
        map.at("binaryData").set("k" + std::to_string(i), "");
    sources.config_maps["c"] = map;
    api::Value container = json("{}");
    for (int i = 0; i < 100; ++i)
        container.at("envFrom").push(json(R"({"configMapRef":{"name":"c"}})"));
    const api::Value pod = json(R"({"metadata":{"namespace":"ns"},"spec":{"volumes":[
      {"name":"c","configMap":{"name":"c"}}]}})");
    CHECK(make_environment(pod, container, sources, place(), {})
              .problem.find("together are longer than 2097152") != std::string::npos);
    const VolumesPlan plan = plan_volumes(pod, sources, place());
    CHECK(plan.problem.find("are more than 5000") != std::string::npos);
    CHECK(plan.volumes[0].files.size() == 5'000);
}

TEST_CASE("files of one key share it, and the files of a pod have a limit") {
    Sources sources;
    sources.config_maps["c"] = json(R"({"kind":"ConfigMap","data":{"small":"s"}})");
    sources.config_maps["c"].at("data").set("large", std::string(1 << 20, 'x'));
    const auto plan = [&](int items) {
        api::Value pod = json(R"({"metadata":{"name":"p","namespace":"ns"},"spec":{"volumes":[
          {"name":"c","configMap":{"name":"c"}},{"name":"e","emptyDir":{}}]}})");
        api::Value& source = pod.at("spec").at("volumes").mutable_items()[0].at("configMap");
        for (int i = 0; i < items; ++i)
            source.at("items").push(
                api::Value::object({{"key", "large"}, {"path", "f" + std::to_string(i)}}));
        return plan_volumes(pod, sources, place());
    };
    const VolumesPlan few = plan(15);
    CHECK(few.problem == "");
    REQUIRE(few.volumes[0].files.size() == 15);
    CHECK(few.volumes[0].files[0].content == few.volumes[0].files[14].content);
    CHECK(few.volumes[0].files[0].content->size() == 1 << 20);
    const VolumesPlan many = plan(1000);
    CHECK(many.problem.find("have more than 16 MiB together") != std::string::npos);
    CHECK(many.volumes[0].files.size() == 15);
    CHECK(many.volumes.size() == 2);
}

TEST_CASE("a name keeps its first place among the variables and has its last value") {
    Variables variables;
    for (int round = 0; round < 2; ++round)
        for (int each = 0; each < 20'000; ++each)
            variables.set("V" + std::to_string(each), std::to_string(each + round));
    REQUIRE(variables.size() == 20'000);
    CHECK(variables.begin()->first == "V0");
    CHECK(variables.begin()->second == "1");
    CHECK(*variables.find("V19999") == "20000");
    CHECK(variables.find("V20000") == nullptr);
}

TEST_CASE("variables come from services, whole objects and single entries, later ones win") {
    Sources sources;
    sources.config_maps["c"] =
        json(R"({"kind":"ConfigMap","data":{"ONE":"1","TWO":"2","bad key":"x"}})");
    sources.secrets["s"] = json(R"({"kind":"Secret","data":{"KEY":"c2VjcmV0"}})");
    sources.services = {json(R"({"metadata":{"name":"my-db"},"spec":{"clusterIP":"10.96.0.9",
                                 "ports":[{"name":"sql","port":5432}]}})")};
    const api::Value pod = json(R"({"metadata":{"name":"p","namespace":"ns","labels":{"l":"v"}},
                                    "spec":{}})");
    const api::Value container = json(R"json({"name":"a","resources":{"limits":{"memory":"1Mi"}},
      "envFrom":[{"configMapRef":{"name":"c"}},{"prefix":"P_","secretRef":{"name":"s"}},
                 {"secretRef":{"name":"gone","optional":true}}],
      "env":[{"name":"TWO","value":"two of $(ONE)"
},
             {"name":"IP","valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}},
             {"name":"LABEL","valueFrom":{"fieldRef":{"fieldPath":"metadata.labels['l']"}}},
             {"name":"MEM","valueFrom":{"resourceFieldRef":{"resource":"limits.memory"}}},
             {"name":"KI","valueFrom":{"resourceFieldRef":{"resource":"limits.memory",
                                                           "divisor":"1Ki"}}},
             {"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]
})json");
    api::Value whole = pod;
    whole.at("spec").at("containers").push(container);
    const Environment made =
        make_environment(whole, container, sources, place(), {"x", "/opt/ray", {{"EXTRA", "e"}}});
    CHECK(made.problem == "");
    const auto value = [&made](const std::string& name) {
        const std::string* found = find(made.variables, name);
        return found ? *found : "(none)";
    };
    CHECK(value("PATH").starts_with("/opt/ray/bin:"));
    CHECK(value("EXTRA") == "e");
    CHECK(value("MY_DB_SERVICE_HOST") == "10.96.0.9");
    CHECK(value("MY_DB_SERVICE_PORT_SQL") == "5432");
    CHECK(value("MY_DB_PORT_5432_TCP_ADDR") == "10.96.0.9");
    CHECK(value("KUBERNETES_SERVICE_HOST") == "10.96.0.1");
    CHECK(value("P_KEY") == "secret");
    CHECK(value("TWO") == "two of 1");
    CHECK(value("IP") == "10.244.1.5");
    CHECK(value("LABEL") == "v");
    CHECK(value("MEM") == "1048576");
    CHECK(value("KI") == "1024");
    CHECK(value("CPU") == "8");
}

TEST_CASE("what a variable refers to and does not exist is named") {
    const api::Value pod = json(R"({"metadata":{"namespace":"ns"},"spec":{}})");
    const auto problem = [&pod](const std::string& container, const Sources& sources) {
        return make_environment(pod, json(container), sources, place(), {}).problem;
    };
    CHECK(problem(R"({"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]})",
                  {}) == "secret \"s\" not found");
    CHECK(problem(R"({"envFrom":[{"configMapRef":{"name":"c"}}]})", {}) ==
          "configmap \"c\" not found");
    Sources sources;
    sources.config_maps["c"] = json(R"({"data":{}})");
    CHECK(
        problem(R"({"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"c","key":"k"}}}]})",
                sources) == "couldn't find key k in ConfigMap ns/c");
    CHECK(problem(
              R"({"env":[{"name":"A","valueFrom":{"configMapKeyRef":{"name":"c","key":"k",
                  "optional":true}}}]})",
              sources) == "");
}

TEST_CASE("variables are text: binaryData is left out, and bytes in a Secret are named") {
    const api::Value pod = json(R"({"metadata":{"namespace":"ns"},"spec":{}})");
    Sources sources;
    sources.config_maps["c"] =
        json(R"({"kind":"ConfigMap","data":{"A":"1"},"binaryData":{"B":"AAEC/w=="}})");
    sources.secrets["s"] = json(R"({"kind":"Secret","data":{"K":"/w==","NUL":"AA=="}})");
    const auto made = [&](const std::string& container) {
        return make_environment(pod, json(container), sources, place(), {});
    };
    const Environment whole = made(R"({"envFrom":[{"configMapRef":{"name":"c"}}]})");
    CHECK(whole.problem == "");
    CHECK(find(whole.variables, "A") != nullptr);
    CHECK(find(whole.variables, "B") == nullptr);
    CHECK(made(R"({"env":[{"name":"V","valueFrom":{"configMapKeyRef":{"name":"c","key":"B"}}}]})")
              .problem == "couldn't find key B in ConfigMap ns/c");
    CHECK(made(R"({"env":[{"name":"V","valueFrom":{"secretKeyRef":{"name":"s","key":"K"}}}]})")
              .problem ==
          "variable V: key K of secret \"s\" is not text (NUL, or bytes that are "
          "not UTF-8); mount it as a file instead");
    CHECK(made(R"({"envFrom":[{"prefix":"P_","secretRef":{"name":"s"}}]})")
              .problem.starts_with("variable P_K: "));
}

TEST_CASE("volumes become files, folders and paths; their problems are the kubelet's") {
    Sources sources;
    sources.config_maps["c"] = json(R"({"data":{"a":"A","b":"B"}})");
    sources.tokens[{"", 3607}] = "the-token";
    const api::Value pod = json(R"({"metadata":{"name":"p","namespace":"ns"},"spec":{"volumes":[
      {"name":"e","emptyDir":{}},
      {"name":"m","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}},
      {"name":"h","hostPath":{"path":"/data","type":"Directory"}},
      {"name":"c","configMap":{"name":"c","defaultMode":256,"items":[{"key":"a","path":"x/a"}]}},
      {"name":"t","projected":{"sources":[
         {"serviceAccountToken":{"path":"token","expirationSeconds":3607}},
         {"downwardAPI":{"items":[{"path":"ns","fieldRef":{"fieldPath":"metadata.namespace"}}]}}]}}
      ]}})");
    VolumesPlan plan = plan_volumes(pod, sources, place());
    CHECK(plan.problem == "");
    REQUIRE(plan.volumes.size() == 5);
    CHECK(plan.volumes[0].kind == VolumePlan::Kind::folder);
    CHECK(plan.volumes[1].kind == VolumePlan::Kind::memory);
    CHECK(plan.volumes[1].size_limit == 1 << 20);
    CHECK(plan.volumes[2].machine_path == "/data");
    REQUIRE(plan.volumes[3].files.size() == 1);
    CHECK(plan.volumes[3].files[0].path == "x/a");
    CHECK(plan.volumes[3].files[0].mode == 0400);
    REQUIRE(plan.volumes[4].files.size() == 2);
    CHECK(*plan.volumes[4].files[0].content == "the-token");
    CHECK(*plan.volumes[4].files[1].content == "ns");

    const api::Value container = json(R"json({"volumeMounts":[
      {"name":"c","mountPath":"/etc/deep/c"},{"name":"e","mountPath":"/etc","subPathExpr":"$(A)"
},
      {"name":"h","mountPath":"/h","readOnly":true},{"name":"e","mountPath":"/up","subPath":"../.."}]
})json");
    admit_machine_paths(plan, {{"/", false}, {"/data", true}});
    const auto mounts = plan_mounts(container, plan, "/pod/volumes", {{"A", "sub"}});
    REQUIRE(mounts.size() == 4);
    CHECK(mounts[0].target == "/h");
    CHECK(mounts[0].read_only);
    CHECK(mounts[0].inside.empty());
    CHECK(mounts[1].source == "/pod/volumes/e");
    CHECK(mounts[1].inside == std::vector<std::string>{"../.."});  // Refused when it is mounted.
    CHECK(mounts[2].inside == std::vector<std::string>{"sub"});
    CHECK(mounts[3].read_only);  // Config maps are not written to.

    const auto problem = [](const std::string& volume) {
        return plan_volumes(json(R"({"spec":{"volumes":[)" + volume + "]}}"), {}, place()).problem;
    };
    CHECK(problem(R"({"name":"v","secret":{"secretName":"s"}})") ==
          "MountVolume.SetUp failed for volume \"v\" : secret \"s\" not found");
    CHECK(problem(R"({"name":"v","nfs":{"server":"x"}})").find("nfs") != std::string::npos);
}

TEST_CASE("a hostPath is mounted only beneath a path that the machine allows") {
    const auto planned = [](const std::string& path, std::vector<HostPath> allowed) {
        VolumesPlan plan = plan_volumes(
            json(R"({"spec":{"volumes":[{"name":"h","hostPath":{"path":")" + path + "\"}}]}}"), {},
            place());
        admit_machine_paths(plan, allowed);
        return plan;
    };
    const std::vector<HostPath> allowed{{"/data", false}, {"/data/scratch", true}};
    const VolumesPlan models = planned("//data/models/", allowed);
    CHECK(models.problem == "");
    CHECK(models.volumes[0].machine_root == "/data");
    CHECK(models.volumes[0].machine_inside == "models");
    CHECK(models.volumes[0].machine_read_only);
    const VolumesPlan scratch = planned("/data/scratch", allowed);
    CHECK(scratch.volumes[0].machine_root == "/data/scratch");
    CHECK(scratch.volumes[0].machine_inside == "");
    CHECK_FALSE(scratch.volumes[0].machine_read_only);
    for (const char* path : {"/", "/database", "/etc/shadow", "", "data"})
        CHECK(planned(path, allowed).problem.find("is not allowed on this machine") !=
              std::string::npos);
    CHECK(planned("/data", {}).problem.find("hostPaths") != std::string::npos);
}

TEST_CASE("the machine's own paths cannot be given to pods") {
    const std::string data = "/var/lib/muster";
    CHECK(host_path_problem("/tmp", data) == "");
    CHECK(host_path_problem("/tmp/not-there-yet", data) == "");
    for (const char* path : {"", "tmp", "/", "/tmp/", "/tmp/../etc", "/tmp//x", "/proc/1", "/sys",
                             "/dev/null", "/run", "/var/lib/muster", "/var/lib/muster/pki", "/var"})
        CHECK_FALSE(host_path_problem(path, data).empty());
}

TEST_CASE("images are matched by name, without tag and usual registry") {
    CHECK(image_matches("rayproject/ray*", "rayproject/ray:2.58.0"));
    CHECK(image_matches("rayproject/ray*", "docker.io/rayproject/ray-ml:latest"));
    CHECK(image_matches("busybox", "docker.io/library/busybox:1.36@sha256:abc"));
    CHECK(image_matches("busybox:1.*", "busybox:1.36"));
    CHECK_FALSE(image_matches("busybox:1.*", "busybox:2"));
    CHECK_FALSE(image_matches("busybox", "example.com/busybox2"));
    CHECK(image_matches("localhost:5000/x", "localhost:5000/x:1"));
    CHECK(find_mapping(usual_images(), "nvcr.io/nvidia/cuda:12") == nullptr);
    CHECK(find_mapping(usual_images(), "python:3.11-slim") != nullptr);
    CHECK(unmapped_text("a/b:1").find("pattern: 'a/b'") != std::string::npos);
}

}  // namespace muster::agent
