// control/ray/validate.cpp - the rules of KubeRay's validation, and refusals of what is not built
// yet.
#include "control/ray/validate.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <variant>

#include "api/json.h"
#include "api/yaml.h"
#include "control/ray/auth.h"
#include "control/ray/deletion.h"
#include "control/ray/names.h"

namespace muster::control::ray {
namespace {

using api::Value;

constexpr std::size_t cluster_name_max = 53;
constexpr std::size_t job_name_max = 47;

bool is_dns_1035(std::string_view name) {
    if (name.empty() || name.size() > 63) return false;
    const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
    const auto digit = [](char c) { return c >= '0' && c <= '9'; };
    if (!lower(name.front()) || !(lower(name.back()) || digit(name.back()))) return false;
    for (const char c : name) {
        if (!lower(c) && !digit(c) && c != '-') return false;
    }
    return true;
}

std::optional<std::string> check_name(std::string_view kind, std::string_view name,
                                      std::size_t max) {
    if (name.size() > max) {
        return std::string(kind) + " name should be no more than " + std::to_string(max) +
               " characters";
    }
    if (!is_dns_1035(name)) {
        return std::string(kind) +
               " name should be a valid DNS1035 label: lower case letters, digits and '-', "
               "beginning with a letter";
    }
    return std::nullopt;
}

/// Fields that ask for what this version does not do. Each would be ignored in silence otherwise.
struct NotYet {
    const char* path;
    const char* what;
};
constexpr NotYet cluster_not_yet[] = {
    {"enableInTreeAutoscaling", "the in-tree autoscaler"},
    {"gcsFaultToleranceOptions", "GCS fault tolerance"},
    {"headGroupSpec.enableIngress", "an ingress for the head"},
    {"networkPolicy", "network policies"},
    {"tlsOptions.enabled", "mTLS"},
    {"historyServerOptions", "the history server"},
};

bool asks(const Value& value) {
    if (value.is_null()) return false;
    if (value.is_boolean()) return value.as_boolean();
    return true;
}

std::optional<std::string> check_not_yet(const Value& spec) {
    for (const NotYet& row : cluster_not_yet) {
        if (asks(spec.path(row.path))) {
            return "spec." + std::string(row.path) + ": " + row.what +
                   " is not supported yet by this version of Muster; remove the field";
        }
    }
    for (const Value& group : spec["workerGroupSpecs"].items()) {
        if (group["numOfHosts"].integer_or(1) > 1) {
            return "worker group " + group["groupName"].text() +
                   ": numOfHosts above 1 is not supported yet by this version of Muster";
        }
    }
    return std::nullopt;
}

/// Environment variables that ask Ray for what only an operator can give it.
std::optional<std::string> check_environment(const Value& group, const std::string& what) {
    for (const Value& variable : group["template"]["spec"]["containers"][0]["env"].items()) {
        const std::string_view name = variable["name"].text_or("");
        if (name == "RAY_REDIS_ADDRESS")
            return what +
                   ": the variable RAY_REDIS_ADDRESS asks for GCS fault tolerance, which is "
                   "not supported yet by this version of Muster";
        if (name == "RAY_enable_autoscaler_v2")
            return what +
                   ": the variable RAY_enable_autoscaler_v2 asks for the in-tree "
                   "autoscaler, which is not supported yet by this version of Muster";
    }
    return std::nullopt;
}

std::optional<std::string> check_group(const Value& group, const std::string& what) {
    if (group["template"]["spec"]["containers"].empty()) {
        return what + " should have at least one container";
    }
    const Value& parameters = group["rayStartParams"];
    if (parameters.has("labels")) {
        return what + ": rayStartParams.labels is not allowed; use the group's labels field";
    }
    if (auto wrong = check_environment(group, what)) return wrong;
    if (!group["resources"].empty()) {
        for (const char* name : {"num-cpus", "num-gpus", "memory", "resources"}) {
            if (parameters.has(name)) {
                return what + ": set " + name +
                       " either in rayStartParams or in resources, not in both";
            }
        }
    }
    return std::nullopt;
}

std::optional<std::string> check_replicas(const Value& group, const std::string& what) {
    const std::int64_t low = group["minReplicas"].integer_or(0);
    const std::int64_t high = group["maxReplicas"].integer_or(INT32_MAX);
    const std::int64_t replicas = group["replicas"].integer_or(0);
    if (group.has("idleTimeoutSeconds"))
        return what +
               ": idleTimeoutSeconds is for the in-tree autoscaler, which is not supported "
               "yet by this version of Muster";
    if (group["priority"].integer_or(0) != 0)
        return what +
               ": priority is for the in-tree autoscaler, which is not supported yet by "
               "this version of Muster";
    if (low < 0) return what + ": minReplicas must not be negative";
    if (high < 0) return what + ": maxReplicas must not be negative";
    if (replicas < 0) return what + ": replicas must not be negative";
    if (low > high) {
        return what + ": minReplicas (" + std::to_string(low) +
               ") must not be above maxReplicas (" + std::to_string(high) + ")";
    }
    return std::nullopt;
}

/// Token authentication begins with Ray 2.52; which Ray it is must be said.
std::optional<std::string> check_authentication(const Value& spec) {
    if (!uses_token(spec)) return std::nullopt;
    if (spec["authOptions"]["enableK8sTokenAuth"].boolean_or(false)) {
        return "spec.authOptions.enableK8sTokenAuth is not supported yet by this version of "
               "Muster; leave it out, and the cluster gets a token of its own";
    }
    if (!is_ray_at_least(spec["rayVersion"].text_or(""), 2, 52)) {
        return "spec.authOptions needs rayVersion to be given, and 2.52 or newer";
    }
    return std::nullopt;
}

std::optional<std::string> check_cluster_spec(const Value& spec) {
    if (auto wrong = check_authentication(spec)) return wrong;
    if (auto wrong = check_group(spec["headGroupSpec"], "headGroupSpec")) return wrong;
    std::set<std::string> names;
    for (const Value& group : spec["workerGroupSpecs"].items()) {
        const std::string name = group["groupName"].text();
        const std::string what = "worker group " + (name.empty() ? std::string("(no name)") : name);
        if (name.empty()) return what + ": groupName is required";
        if (!names.insert(name).second) return what + ": worker group names must be unique";
        if (auto wrong = check_group(group, what)) return wrong;
        if (auto wrong = check_replicas(group, what)) return wrong;
    }
    return check_not_yet(spec);
}

std::optional<std::string> check_job_numbers(const Value& spec) {
    if (spec.has("backoffLimit") && spec["backoffLimit"].integer_or(0) < 0) {
        return "spec.backoffLimit must not be negative";
    }
    const std::int64_t ttl = spec["ttlSecondsAfterFinished"].integer_or(0);
    if (ttl < 0) return "spec.ttlSecondsAfterFinished must not be negative";
    if (ttl > 0 && !spec["shutdownAfterJobFinishes"].boolean_or(false)) {
        return "a RayJob with shutdownAfterJobFinishes set to false cannot have "
               "ttlSecondsAfterFinished";
    }
    for (const char* name : {"activeDeadlineSeconds", "preRunningDeadlineSeconds"}) {
        if (spec.has(name) && spec[name].integer_or(0) <= 0) {
            return "spec." + std::string(name) + " must be a positive number of seconds";
        }
    }
    return std::nullopt;
}

/// What each submission mode forbids and needs.
std::optional<std::string> check_submission(const Value& spec) {
    const std::string mode(spec["submissionMode"].text_or("K8sJobMode"));
    static constexpr std::array<std::string_view, 4> modes{"K8sJobMode", "HTTPMode", "SidecarMode",
                                                           "InteractiveMode"};
    if (std::find(modes.begin(), modes.end(), mode) == modes.end()) {
        return "spec.submissionMode: \"" + mode +
               "\" is none of K8sJobMode, HTTPMode, SidecarMode, InteractiveMode";
    }
    if (!spec["runtimeEnv"].text_or("").empty()) {
        return "spec.runtimeEnv is of an older KubeRay and would be ignored; give its content as "
               "spec.runtimeEnvYAML";
    }
    const auto refuse = [&](std::string_view what) {
        return "a RayJob with submissionMode " + mode + std::string(what);
    };
    const bool retries = spec["backoffLimit"].integer_or(0) > 0;
    if (mode == "InteractiveMode")
        return retries ? std::optional(refuse(" cannot have a backoffLimit")) : std::nullopt;
    if (mode == "SidecarMode") {
        if (!spec["clusterSelector"].empty())
            return refuse(" needs a cluster of its own: it cannot have a clusterSelector");
        for (const char* field : {"submitterPodTemplate", "submitterConfig"}) {
            if (spec.has(field)) return refuse(std::string(" cannot have a ") + field);
        }
        const Value& head = spec["rayClusterSpec"]["headGroupSpec"]["template"]["spec"];
        const std::string_view restart = head["restartPolicy"].text_or("Never");
        if (restart != "Never") {
            return refuse(" needs restartPolicy Never or none in its head's template, not " +
                          std::string(restart));
        }
    }
    const Value& submitter = spec["submitterPodTemplate"]["spec"]["containers"][0];
    const bool brings_command = mode == "K8sJobMode" && !submitter["command"].empty();
    if (spec["entrypoint"].text_or("").empty() && !brings_command)
        return "spec.entrypoint is required";
    const std::string resources = spec["entrypointResources"].text();
    if (resources.empty()) return std::nullopt;
    const auto parsed = api::parse_json(resources);
    const auto* document = std::get_if<api::Parsed>(&parsed);
    if (document == nullptr || !document->value.is_object()) {
        return "spec.entrypointResources must be a JSON object of names and amounts, for example "
               "{\"Custom\": 1}";
    }
    return std::nullopt;
}

std::optional<std::string> check_job_spec(const Value& spec) {
    const bool has_selector = !spec["clusterSelector"].empty();
    const bool has_cluster = spec["rayClusterSpec"].is_object();
    if (!has_selector && !has_cluster)
        return "one of rayClusterSpec or clusterSelector must be set";
    if (has_selector && has_cluster) return "rayClusterSpec and clusterSelector exclude each other";
    if (has_selector &&
        spec["clusterSelector"][std::string_view("ray.io/cluster")].text_or("").empty()) {
        return "clusterSelector: the only key is ray.io/cluster, and it needs the name of a "
               "cluster";
    }
    if (spec["suspend"].boolean_or(false)) {
        if (!spec["shutdownAfterJobFinishes"].boolean_or(false)) {
            return "a RayJob with shutdownAfterJobFinishes set to false is not allowed to be "
                   "suspended";
        }
        if (has_selector)
            return "a RayJob with clusterSelector does not support the suspend operation";
    }
    if (has_selector && spec["backoffLimit"].integer_or(0) > 0) {
        return "a RayJob with clusterSelector cannot have a backoffLimit: a retry makes a new "
               "cluster";
    }
    if (auto wrong = check_submission(spec)) return wrong;
    if (auto wrong = check_job_numbers(spec)) return wrong;
    const std::string environment = spec["runtimeEnvYAML"].text();
    if (!environment.empty()) {
        const auto parsed = api::parse_yaml(environment);
        if (const auto* problem = std::get_if<api::ParseError>(&parsed)) {
            return "spec.runtimeEnvYAML is not valid YAML: " + problem->text;
        }
    }
    if (auto wrong = check_deletion(spec)) return wrong;
    if (spec["rayClusterSpec"]["upgradeStrategy"].has("type"))
        return "spec.rayClusterSpec.upgradeStrategy is not for the cluster of a RayJob";
    if (has_cluster) return check_cluster_spec(spec["rayClusterSpec"]);
    return std::nullopt;
}

}  // namespace

std::optional<Problem> check_cluster(const Value& cluster) {
    if (auto wrong =
            check_name("RayCluster", cluster["metadata"]["name"].text_or(""), cluster_name_max)) {
        return Problem{"InvalidRayClusterMetadata", *wrong};
    }
    if (cluster["metadata"]["annotations"]["ray.io/ft-enabled"].text_or("") == "true") {
        return Problem{"InvalidRayClusterSpec",
                       "annotation ray.io/ft-enabled: GCS fault tolerance is not supported "
                       "yet by this version of Muster; remove the annotation"};
    }
    const std::string maker =
        cluster["metadata"]["labels"][std::string_view("ray.io/originated-from-crd")].text();
    if ((maker == "RayJob" || maker == "RayService") &&
        cluster["spec"]["upgradeStrategy"].has("type")) {
        return Problem{"InvalidRayClusterSpec",
                       "spec.upgradeStrategy is not for the cluster of a " + maker};
    }
    if (auto wrong = check_cluster_spec(cluster["spec"]))
        return Problem{"InvalidRayClusterSpec", *wrong};
    return std::nullopt;
}

std::optional<Problem> check_job(const Value& job) {
    if (auto wrong = check_name("RayJob", job["metadata"]["name"].text_or(""), job_name_max)) {
        return Problem{"InvalidRayJobMetadata", *wrong};
    }
    if (auto wrong = check_job_spec(job["spec"])) return Problem{"InvalidRayJobSpec", *wrong};
    return std::nullopt;
}

}  // namespace muster::control::ray
