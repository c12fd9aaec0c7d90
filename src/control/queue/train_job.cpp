// control/queue/train_job.cpp - the JobSet that Trainer will make of a TrainJob, as far as queues
// must know it.
#include "control/queue/train_job.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "api/patch.h"
#include "api/schema.h"
#include "base/text.h"
#include "control/conditions.h"
#include "control/queue/guest_job_kinds.h"

namespace muster::control::queue {
namespace {

using api::Value;

const api::GroupResource runtimes{"trainer.kubeflow.org", "trainingruntimes"};
const api::GroupResource cluster_runtimes{"trainer.kubeflow.org", "clustertrainingruntimes"};

constexpr std::string_view manager = "kueue.x-k8s.io/manager";  // Of the runtime patch.
constexpr std::string_view step_label = "trainer.kubeflow.org/trainjob-ancestor-step";

/// That of the job in the namespace, or of the cluster when it names no kind.
api::Key runtime_of(const Value& job) {
    const Value& named = job["spec"]["runtimeRef"];
    if (named["kind"].text_or("") == "TrainingRuntime")
        return {runtimes, job["metadata"]["namespace"].text(), named["name"].text()};
    return {cluster_runtimes, "", named["name"].text()};
}

std::vector<std::string_view> runs_by(const Value& job) {
    return {job["spec"]["runtimeRef"]["name"].text_or("")};
}

/// The template of a replicated job with the patches of everybody but us.
Value patched(const Value& job, const Value& replicated) {
    Value made = replicated["template"];
    for (const Value& patch : job["spec"]["runtimePatches"].items()) {
        if (patch["manager"].text_or("") == manager) continue;
        for (const Value& each :
             patch.path("trainingRuntimeSpec.template.spec.replicatedJobs").items()) {
            if (each["name"] != replicated["name"] || each["template"].is_null()) continue;
            api::Patched result = api::strategic_merge_patch(
                *api::schema_of("batch.v1.JobTemplateSpec"), made, each["template"]);
            if (Value* good = std::get_if<Value>(&result)) made = std::move(*good);
        }
    }
    return made;
}

bool has_launcher_as_node(const Value& policy) {
    return policy["mpi"]["runLauncherAsNode"].boolean_or(false);
}

/// How many pods a replicated job has: by the runtime, then by the job's own trainer.
std::int64_t pods_of(const Value& job, const Value& policy, std::string_view name,
                     const Value& job_template) {
    const bool trains = job_template["metadata"]["labels"][step_label].text_or("") == "trainer";
    std::int64_t count = job_template["spec"]["parallelism"].integer_or(1);
    if (trains && policy.is_object()) count = policy["numNodes"].integer_or(1);
    const Value& nodes = job["spec"]["trainer"]["numNodes"];
    if (!nodes.is_integer()) return count;
    if (!policy["mpi"].is_object()) return trains ? nodes.as_integer() : count;
    if (name != "node") return count;
    const std::int64_t launchers = has_launcher_as_node(policy) ? 1 : 0;
    return launchers > 0 ? std::max<std::int64_t>(nodes.as_integer() - launchers, 1)
                         : nodes.as_integer();
}

/// What the job says that each node needs stands instead of what the runtime says.
void set_resources(const Value& job, const Value& policy, Value& pod_template) {
    const Value& wanted = job["spec"]["trainer"]["resourcesPerNode"];
    if (wanted["limits"].is_null() && wanted["requests"].is_null()) return;
    Value* containers = pod_template.at("spec").find("containers");
    if (containers == nullptr || !containers->is_array()) return;
    for (Value& container : containers->mutable_items()) {
        const std::string_view name = container["name"].text_or("");
        if (name == "node" || (name == "launcher" && has_launcher_as_node(policy)))
            container.set("resources", wanted);
    }
}

std::vector<PodSet> pod_sets(const kube::Cache& seen, const Value& job) {
    std::vector<PodSet> sets;
    const kube::ObjectPtr runtime = seen.find(runtime_of(job));
    if (runtime == nullptr) return sets;
    const Value& spec = runtime->value["spec"];
    const Value& policy = spec["mlPolicy"];
    for (const Value& replicated : spec.path("template.spec.replicatedJobs").items()) {
        Value job_template = patched(job, replicated);
        const std::string name = replicated["name"].text();
        const bool is_step = job_template["metadata"]["labels"].has(step_label);
        const std::int64_t replicas = is_step ? 1 : replicated["replicas"].integer_or(1);
        PodSet set{
            to_lower(name), pods_of(job, policy, name, job_template) * replicas, {}, "", 0, ""};
        set.pod_template = job_template["spec"]["template"];
        set_resources(job, policy, set.pod_template);
        sets.push_back(std::move(set));
    }
    return sets;
}

/// The list of our own patch, made on the way.
Value& own_patches(Value& job) {
    Value& patches = job.at("spec").at("runtimePatches");
    if (!patches.is_array()) patches = Value::array();
    for (Value& patch : patches.mutable_items()) {
        if (patch["manager"].text_or("") == manager)
            return at_path(patch, "trainingRuntimeSpec.template.spec.replicatedJobs");
    }
    patches.push(Value::object({{"manager", manager}}));
    return at_path(patches.mutable_items().back(),
                   "trainingRuntimeSpec.template.spec.replicatedJobs");
}

bool has_own_patch(const Value& job) {
    const auto& patches = job["spec"]["runtimePatches"].items();
    return std::any_of(patches.begin(), patches.end(),
                       [](const Value& patch) { return patch["manager"].text_or("") == manager; });
}

void erase_named(Value& list, std::string_view name) {
    if (!list.is_array()) return;
    std::erase_if(list.mutable_items(),
                  [&](const Value& each) { return to_lower(each["name"].text_or("")) == name; });
}

void put(Value& job, const PodSet& set, const Value& pod_template) {
    Value& list = own_patches(job);
    erase_named(list, set.name);
    Value added = merge_patch_between(set.pod_template, pod_template);
    if (added.empty()) return;
    Value patch = Value::object({{"name", set.name}});
    at_path(patch, "template.spec").set("template", std::move(added));
    list.push(std::move(patch));
}

void take_back(Value& job, std::string_view pod_set, const Value&) {
    if (has_own_patch(job)) erase_named(own_patches(job), pod_set);
}

bool are_ready(const Value& job) {
    const auto& parts = job["status"]["jobsStatus"].items();
    return !parts.empty() && std::all_of(parts.begin(), parts.end(), [](const Value& part) {
        const std::int64_t ready = part["ready"].integer_or(0);
        return ready + part["succeeded"].integer_or(0) > 0 && part["active"].integer_or(0) <= ready;
    });
}

std::vector<ReclaimablePods> find_done(const Value& job, const std::vector<PodSet>& sets) {
    std::vector<ReclaimablePods> done;
    for (const Value& part : job["status"]["jobsStatus"].items()) {
        if (part["succeeded"].integer_or(0) == 0 || part["active"].integer_or(0) > 0) continue;
        for (const PodSet& set : sets) {
            if (set.name == to_lower(part["name"].text_or("")))
                done.push_back({set.name, set.count});
        }
    }
    return done;
}

}  // namespace

JobKind train_job_kind() {
    JobKind kind = named_guest("trainer.kubeflow.org", "TrainJob", "spec.suspend");
    kind.find_pod_sets_by = pod_sets;
    kind.runs_by = {runtimes, cluster_runtimes};
    kind.names_of_runs_by = runs_by;
    kind.put = put;
    kind.take_back = take_back;
    kind.ends = {{EndRule::Sign::condition, "Complete", "", EndRule::Success::yes, ""},
                 {EndRule::Sign::condition, "Failed", "", EndRule::Success::no, ""}};
    kind.are_ready = are_ready;
    kind.find_reclaimable = find_done;
    kind.prebuilt = JobKind::Support::yes;
    return kind;
}

}  // namespace muster::control::queue
