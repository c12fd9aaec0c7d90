// agent/pod_spec_test.cpp - what a pod's spec asks of the agent: names, identity, command,
// refusals.
#include <doctest/doctest.h>

#include "agent/environment.h"
#include "agent/identity.h"
#include "agent/image_map.h"
#include "agent/out_of_memory.h"
#include "agent/pod_files.h"
#include "agent/pod_refusal.h"
#include "api/yaml.h"

namespace muster::agent {

namespace {

api::Value yaml(const char* text) {
    auto parsed = api::parse_yaml(text);
    return std::move(std::get<std::vector<api::Parsed>>(parsed).front().value);
}

api::Value pod_with(const std::string& spec) {
    return yaml(("{metadata: {name: box, namespace: lab, uid: u}, spec: " + spec + "}").c_str());
}

constexpr const char* kMachine =
    "# a comment\nsearch corp.example\nnameserver 1.1.1.1\noptions timeout:1 edns0\n";

std::string refused(const std::string& spec, const std::string& container,
                    PodUsers users = PodUsers::own) {
    return refusal_of(pod_with(spec), yaml(container.c_str()), users);
}

Capabilities set_of(std::initializer_list<const char*> names) {
    Capabilities set = 0;
    for (const char* name : names)
        set |= Capabilities{1} << capability_of(name).value();
    return set;
}

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("a pod looks names up in its namespace first") {
    CHECK(resolv_text(pod_with("{}"), kMachine) ==
          "search lab.svc.cluster.local svc.cluster.local cluster.local\n"
          "nameserver 10.96.0.10\noptions ndots:5\n");
}

TEST_CASE("dnsConfig adds to a policy and overrides its options") {
    const auto pod = pod_with(
        "{dnsConfig: {nameservers: [9.9.9.9, 10.96.0.10], searches: [x.y],"
        " options: [{name: ndots, value: '1'}, {name: rotate}]}}");
    CHECK(resolv_text(pod, kMachine) ==
          "search lab.svc.cluster.local svc.cluster.local cluster.local x.y\n"
          "nameserver 10.96.0.10\nnameserver 9.9.9.9\noptions ndots:1 rotate\n");
}

TEST_CASE("dnsPolicy None has what dnsConfig says and nothing else") {
    CHECK(resolv_text(pod_with("{dnsPolicy: None, dnsConfig: {nameservers: [8.8.4.4]}}"),
                      kMachine) == "nameserver 8.8.4.4\n");
}

TEST_CASE("dnsPolicy Default searches as the machine does") {
    CHECK(resolv_text(pod_with("{dnsPolicy: Default}"), kMachine) ==
          "search corp.example\nnameserver 10.96.0.10\noptions timeout:1 edns0\n");
}

TEST_CASE("a pod's own names stand in its hosts file") {
    CHECK(
        hosts_text(pod_with("{subdomain: boxes, hostAliases: [{ip: 1.2.3.4, hostnames: [a, b]}]}"),
                   "10.244.1.1")
            .ends_with("10.244.1.1\tbox.boxes.lab.svc.cluster.local\tbox\n1.2.3.4\ta\tb\n"));
    CHECK(hostname_of(pod_with("{}")) == "box");
    CHECK(hostname_of(pod_with("{hostname: h, subdomain: s}")) == "h");
    CHECK(hostname_of(pod_with("{hostname: h, subdomain: s, setHostnameAsFQDN: true}")) ==
          "h.s.lab.svc.cluster.local");
}

TEST_CASE("the container's word on its user comes before the pod's") {
    const auto pod = pod_with(
        "{securityContext: {runAsUser: 5, runAsGroup: 6, fsGroup: 7, supplementalGroups: [8]}}");
    const Capabilities usual = capabilities_for(yaml("{}"));
    CHECK(identity_for(pod, yaml("{securityContext: {runAsUser: 9}}"), PodUsers::own) ==
          Identity{9, 6, {8, 7}, usual});
    CHECK(identity_for(pod, yaml("{}"), PodUsers::shared) == Identity{5, 6, {}, usual});
    CHECK(identity_for(pod_with("{}"), yaml("{}"), PodUsers::shared) == Identity{0, 0, {}, usual});
    CHECK(identity_for(pod_with("{securityContext: {runAsNonRoot: true}}"), yaml("{}"),
                       PodUsers::own) == Identity{1000, 0, {}, usual});
    const Identity whole{1, 2, {3}, set_of({"kill", "checkpoint_restore"})};
    CHECK(identity_of(to_value(whole)) == whole);
}

TEST_CASE("a container has the usual capabilities, less what it drops, and what it adds") {
    const auto of = [](const char* context) { return capabilities_for(yaml(context)); };
    CHECK(of("{}") == set_of({"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID",
                              "SETUID", "SETPCAP", "NET_BIND_SERVICE", "NET_RAW", "SYS_CHROOT",
                              "MKNOD", "AUDIT_WRITE", "SETFCAP"}));
    CHECK(of("{capabilities: {drop: [ALL]}}") == 0);
    CHECK(of("{capabilities: {drop: [all], add: [CAP_SYS_PTRACE, kill]}}") ==
          set_of({"sys_ptrace", "kill"}));
    CHECK(of("{capabilities: {add: [ALL]}}") == (Capabilities{1} << 41) - 1);
    CHECK(capability_of("NET_ADMIN") == 12);
    CHECK(capability_of("CHECKPOINT_RESTORE") == 40);
    CHECK_FALSE(capability_of("NET_ADMIM"));
}

TEST_CASE("who is ended first when memory is short follows the kubelet's order") {
    const auto score = [](const char* resources) {
        const auto container = yaml((std::string("{resources: ") + resources + "}").c_str());
        auto pod = pod_with("{}");
        pod.at("spec").set("containers", api::Value::array({container}));
        return out_of_memory_score(pod, container, std::int64_t{8} << 30);
    };
    CHECK(score("{}") == 1000);
    CHECK(score("{limits: {cpu: '1', memory: 1Gi}}") == -997);
    CHECK(score("{requests: {memory: 4Gi}}") == 501);
    CHECK(score("{requests: {memory: 100Gi}}") == 3);
    CHECK(score("{requests: {cpu: 1m}}") == 999);
}

TEST_CASE("an image's command and arguments fill in what the container leaves out") {
    ImageMapping image{"x", "", {}, {"run"}, {"usual"}};
    const auto line = [&](const char* container) {
        return command_line(yaml(container), image, {});
    };
    CHECK(line("{}") == Words{"run", "usual"});
    CHECK(line("{args: [own]}") == Words{"run", "own"});
    CHECK(line("{command: [other]}") == Words{"other"});
    CHECK(line("{command: [other], args: [own]}") == Words{"other", "own"});
    CHECK(command_line(yaml("{}"), ImageMapping{"x", "", {}, {}, {}}, {}).empty());
}

TEST_CASE("usual images have the commands that people know") {
    const auto images = usual_images();
    const auto line = [&](const char* image, const char* container) {
        return command_line(yaml(container), *find_mapping(images, image), {});
    };
    CHECK(line("python:3.12", "{}") == Words{"python3"});
    CHECK(line("docker.io/library/busybox", "{args: [ls]}") == Words{"ls"});
    CHECK(line("registry.k8s.io/pause:3.9", "{}") == Words{"sleep", "infinity"});
    CHECK(find_mapping(images, "curlimages/curl")->command.size() == 4);
    CHECK(find_mapping(images, "bitnami/python") == nullptr);
}

TEST_CASE("what cannot be done is refused by name, what is usual is not") {
    CHECK(refused("{restartPolicy: Never}", "{name: main}").empty());
    CHECK(refused("{hostNetwork: true}", "{}").find("hostNetwork: true") == 0);
    CHECK(refused("{hostNetwork: false, hostPID: false}", "{}").empty());
    CHECK(
        refused("{}", "{securityContext: {capabilities: {add: [CAP_NET_BIND_SERVICE]}}}").empty());
    CHECK(refused("{}", "{securityContext: {capabilities: {add: [IPC_LOCK]}}}").empty());
    CHECK(refused("{}", "{securityContext: {capabilities: {add: [IPC_LOCC]}}}").find("IPC_LOCC") !=
          std::string::npos);
    CHECK(refused("{}", "{securityContext: {privileged: true}}").find("privileged") == 0);
    CHECK(refused("{securityContext: {seccompProfile: {type: RuntimeDefault}}}", "{}").empty());
    CHECK(refused("{}", "{volumeMounts: [{name: v, mountPropagation: None}]}").empty());
    CHECK(refused("{os: {name: windows}}", "{}").find("os windows") == 0);
}

TEST_CASE("further groups are refused where pods have no users of their own") {
    CHECK(refused("{securityContext: {supplementalGroups: [5]}}", "{}").empty());
    CHECK_FALSE(
        refused("{securityContext: {supplementalGroups: [5]}}", "{}", PodUsers::shared).empty());
    CHECK(refused("{hostUsers: false}", "{}").empty());
}

TEST_CASE("only init containers may differ from the pod's restart policy") {
    const char* spec =
        "{restartPolicy: Never, containers: [{name: main}], initContainers: [{name: side}]}";
    CHECK(refused(spec, "{name: side, restartPolicy: Always}").empty());
    CHECK_FALSE(refused(spec, "{name: main, restartPolicy: Always}").empty());
    CHECK_FALSE(refused(spec, "{name: main, restartPolicyRules: [{action: Restart}]}").empty());
}

}  // namespace muster::agent
