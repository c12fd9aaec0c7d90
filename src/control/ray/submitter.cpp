// control/ray/submitter.cpp - the submitter Job's script and the HTTP submission.
#include "control/ray/submitter.h"

#include <utility>
#include <variant>

#include "api/json.h"
#include "api/yaml.h"
#include "control/owner.h"
#include "control/ray/auth.h"
#include "control/ray/names.h"

namespace muster::control::ray {
namespace {

using api::Value;

std::string quoted(std::string_view text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'') {
            out += "'\\''";
        } else {
            out += c;
        }
    }
    return out + "'";
}

/// runtimeEnvYAML as a value; null when there is none. The spec has been checked before.
Value runtime_environment(const Value& spec) {
    const std::string text = spec["runtimeEnvYAML"].text();
    if (text.empty()) return {};
    auto parsed = api::parse_yaml(text);
    auto* documents = std::get_if<std::vector<api::Parsed>>(&parsed);
    if (documents == nullptr || documents->empty()) return {};
    return std::move(documents->front().value);
}

std::string number_text(const Value& value) {
    return value.is_string() ? value.text() : api::to_json(value);
}

std::string submit_line(const Value& spec) {
    std::string line =
        "ray job submit --address \"http://$RAY_DASHBOARD_ADDRESS\" --no-wait --submission-id "
        "\"$RAY_JOB_SUBMISSION_ID\"";
    const Value environment = runtime_environment(spec);
    if (!environment.is_null()) line += " --runtime-env-json " + quoted(api::to_json(environment));
    if (!spec["metadata"].empty())
        line += " --metadata-json " + quoted(api::to_json(spec["metadata"]));
    if (spec.has("entrypointNumCpus"))
        line += " --entrypoint-num-cpus " + number_text(spec["entrypointNumCpus"]);
    if (spec.has("entrypointNumGpus"))
        line += " --entrypoint-num-gpus " + number_text(spec["entrypointNumGpus"]);
    const std::string resources = spec["entrypointResources"].text();
    if (!resources.empty()) line += " --entrypoint-resources " + quoted(resources);
    return line + " -- " + spec["entrypoint"].text();
}

/// KubeRay asks `ray job status` before it submits, so that a retried pod does not submit twice; a
/// second submission under the same id is refused by Ray itself, and the refusal names the id, so
/// one call does.
std::string script(const Value& spec, std::string_view dashboard) {
    const std::size_t colon = dashboard.rfind(':');
    const std::string host(dashboard.substr(0, colon));
    const std::string port(dashboard.substr(colon + 1));
    return "until (exec 3<>/dev/tcp/" + host + "/" + port + ") 2>/dev/null; do sleep 0.2; done\n" +
           "if ! said=$(" + submit_line(spec) + " 2>&1); then\n" +
           "  case \"$said\" in\n"
           "    *\"Please use a different submission_id\"*) echo \"$RAY_JOB_SUBMISSION_ID was "
           "submitted before\" ;;\n"
           "    *) printf '%s\\n' \"$said\"; exit 1 ;;\n"
           "  esac\n"
           "fi\n"
           "ray job logs --address \"http://$RAY_DASHBOARD_ADDRESS\" --follow "
           "\"$RAY_JOB_SUBMISSION_ID\"\n";
}

void default_env(Value& container, std::string_view name, std::string_view value) {
    for (const Value& entry : container["env"].items()) {
        if (entry["name"].text_or("") == name) return;
    }
    container.at("env").push(Value::object({{"name", name}, {"value", value}}));
}

/// What KubeRay's submitter asks for when the user does not say.
Value default_container(const Value& head_pod) {
    const Value resources =
        Value::object({{"limits", Value::object({{"cpu", "1"}, {"memory", "1Gi"}})},
                       {"requests", Value::object({{"cpu", "500m"}, {"memory", "200Mi"}})}});
    return Value::object({{"name", submitter_container},
                          {"image", head_pod["containers"][0]["image"]},
                          {"resources", resources}});
}

/// Gives a container the script, unless it has a command of its own, and the environment that both
/// read. `dashboard` is "HOST:PORT".
void make_submitter(Value& container, const Value& job_spec, std::string_view job_id,
                    std::string_view dashboard) {
    if (container["command"].empty()) {
        container.set("command", Value::array({"/bin/bash", "-ce", "--"}));
        container.set("args", Value::array({script(job_spec, dashboard)}));
    }
    default_env(container, "PYTHONUNBUFFERED", "1");
    default_env(container, "RAY_DASHBOARD_ADDRESS", dashboard);
    default_env(container, "RAY_JOB_SUBMISSION_ID", job_id);
}

}  // namespace

std::int64_t dashboard_port(const Value& cluster_spec) {
    const Value& container = cluster_spec["headGroupSpec"]["template"]["spec"]["containers"][0];
    for (const Value& port : container["ports"].items()) {
        if (port["name"].text_or("") == "dashboard") return port["containerPort"].integer_or(8265);
    }
    return 8265;
}

bool has_sidecar(const Value& job_spec) {
    return job_spec["submissionMode"].text_or("") == "SidecarMode";
}

Value submitter_template(const Value& job_spec, const Value& cluster_spec) {
    Value pod = job_spec["submitterPodTemplate"];
    if (pod["spec"]["containers"].empty()) {
        const Value& head = cluster_spec["headGroupSpec"]["template"]["spec"];
        pod = Value::object(
            {{"spec", Value::object({{"containers", Value::array({default_container(head)})},
                                     {"restartPolicy", "Never"}})}});
        if (const Value* pull_secrets = head.find("imagePullSecrets"))
            pod.at("spec").set("imagePullSecrets", *pull_secrets);
    }
    if (!pod["spec"].has("restartPolicy")) pod.at("spec").set("restartPolicy", "Never");
    return pod;
}

Value head_template(const Value& job_spec) {
    Value head = job_spec["rayClusterSpec"]["headGroupSpec"]["template"];
    if (has_sidecar(job_spec))
        head.at("spec").at("containers").push(default_container(head["spec"]));
    return head;
}

Value cluster_spec_of(const Value& job_spec, const std::string& name, std::string_view job_id) {
    Value cluster = job_spec["rayClusterSpec"];
    if (!has_sidecar(job_spec)) return cluster;
    Value head = head_template(job_spec);
    Value& container = head.at("spec").at("containers").mutable_items().back();
    make_submitter(container, job_spec, job_id,
                   "127.0.0.1:" + std::to_string(dashboard_port(cluster)));
    add_token(container, cluster, name);
    head.at("spec").set("restartPolicy", "Never");
    cluster.at("headGroupSpec").set("template", std::move(head));
    return cluster;
}

Value submitter_job(const kube::Object& job, const kube::Object& cluster, std::string_view job_id,
                    std::string_view dashboard) {
    const Value& spec = job.value["spec"];
    const Value& cluster_spec = cluster.value["spec"];
    Value pod = submitter_template(spec, cluster_spec);
    Value& container = pod.at("spec").at("containers").mutable_items()[0];
    make_submitter(container, spec, job_id, dashboard);
    add_token(container, cluster_spec, cluster.key.name);
    const Value labels = Value::object({{originated_from_label, job.key.name},
                                        {"ray.io/originated-from-crd", "RayJob"},
                                        {submission_mode_label, "K8sJobMode"},
                                        {"app.kubernetes.io/created-by", "kuberay-operator"}});
    for (const auto& [name, value] : labels.members())
        pod.at("metadata").at("labels").set(name, value);
    const Value metadata =
        Value::object({{"name", job.key.name},
                       {"namespace", job.key.ns},
                       {"labels", labels},
                       {"ownerReferences", Value::array({owner_reference(job)})}});
    const std::int64_t retries = spec["submitterConfig"]["backoffLimit"].integer_or(2);
    return Value::object(
        {{"apiVersion", "batch/v1"},
         {"kind", "Job"},
         {"metadata", metadata},
         {"spec", Value::object({{"backoffLimit", retries}, {"template", std::move(pod)}})}});
}

Value submission(const kube::Object& job, std::string_view job_id) {
    const Value& spec = job.value["spec"];
    Value body = Value::object({{"entrypoint", spec["entrypoint"]}, {"submission_id", job_id}});
    const Value environment = runtime_environment(spec);
    if (!environment.is_null()) body.set("runtime_env", environment);
    if (!spec["metadata"].empty()) body.set("metadata", spec["metadata"]);
    if (spec.has("entrypointNumCpus")) body.set("entrypoint_num_cpus", spec["entrypointNumCpus"]);
    if (spec.has("entrypointNumGpus")) body.set("entrypoint_num_gpus", spec["entrypointNumGpus"]);
    const std::string resources = spec["entrypointResources"].text();
    if (!resources.empty()) {
        auto parsed = api::parse_json(resources);
        if (auto* document = std::get_if<api::Parsed>(&parsed)) {
            body.set("entrypoint_resources", std::move(document->value));
        }
    }
    return body;
}

}  // namespace muster::control::ray
