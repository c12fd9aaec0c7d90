// control/cluster/job_pods.cpp - making and judging the pods of a Job.
#include "control/cluster/job_pods.h"

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "control/fold_pod.h"
#include "control/owner.h"

namespace muster::control::cluster {
namespace {

constexpr std::string_view index_key = "batch.kubernetes.io/job-completion-index";

void add_index_variable(api::Value& containers) {
    for (api::Value& container : containers.mutable_items()) {
        const api::Value::Array& known = container["env"].items();
        const bool has = std::any_of(known.begin(), known.end(), [](const api::Value& variable) {
            return variable["name"].text_or("") == "JOB_COMPLETION_INDEX";
        });
        if (has) continue;
        const std::string path = "metadata.annotations['" + std::string(index_key) + "']";
        const api::Value source =
            api::Value::object({{"fieldRef", api::Value::object({{"fieldPath", path}})}});
        container.at("env").push(
            api::Value::object({{"name", "JOB_COMPLETION_INDEX"}, {"valueFrom", source}}));
    }
}

Time latest_container_end(const kube::Object& pod) {
    Time latest;
    for (const api::Value& container : pod.value["status"]["containerStatuses"].items()) {
        latest = std::max(latest, fold_time(container["state"]["terminated"]["finishedAt"]));
    }
    return latest;
}

}  // namespace

bool is_tracked(const kube::Object& pod) {
    const api::Value::Array& finalizers = pod.value["metadata"]["finalizers"].items();
    return std::any_of(finalizers.begin(), finalizers.end(), [](const api::Value& finalizer) {
        return finalizer.text_or("") == tracking_finalizer;
    });
}

api::Value without_tracking(const kube::Object& pod) {
    api::Value rest;
    for (const api::Value& finalizer : pod.value["metadata"]["finalizers"].items()) {
        if (finalizer.text_or("") != tracking_finalizer) rest.push(finalizer);
    }
    return rest;
}

std::optional<std::int64_t> completion_index(const kube::Object& pod) {
    const std::string_view text = pod.annotation(index_key);
    std::int64_t index = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return {};
    return index < 0 ? std::nullopt : std::optional(index);
}

api::Value make_job_pod(const kube::Object& job, const std::string& name,
                        std::optional<std::int64_t> index) {
    const api::Value& pod_template = job.value["spec"]["template"];
    api::Value metadata = api::Value::object({{"name", name}, {"namespace", job.key.ns}});
    api::Value labels = pod_template["metadata"]["labels"];
    for (const char* prefix : {"", "batch.kubernetes.io/"}) {
        labels.set(std::string(prefix) + "controller-uid", job.uid);
        labels.set(std::string(prefix) + "job-name", job.key.name);
    }
    api::Value annotations = pod_template["metadata"]["annotations"];
    api::Value spec = pod_template["spec"];
    if (index) {
        const std::string number = std::to_string(*index);
        labels.set(index_key, number);
        annotations.set(index_key, number);
        spec.set("hostname", job.key.name + "-" + number);
        if (spec.has("containers")) add_index_variable(spec.at("containers"));
        if (spec.has("initContainers")) add_index_variable(spec.at("initContainers"));
    }
    metadata.set("labels", std::move(labels));
    if (!annotations.is_null()) metadata.set("annotations", std::move(annotations));
    api::Value finalizers = pod_template["metadata"]["finalizers"];
    finalizers.push(tracking_finalizer);
    metadata.set("finalizers", std::move(finalizers));
    api::Value owner = owner_reference(job);
    owner.set("apiVersion", "batch/v1");
    owner.set("kind", "Job");
    metadata.set("ownerReferences", api::Value::array({std::move(owner)}));
    return api::Value::object({{"apiVersion", "v1"},
                               {"kind", "Pod"},
                               {"metadata", std::move(metadata)},
                               {"spec", std::move(spec)}});
}

std::string job_pod_name(const kube::Object& job, std::optional<std::int64_t> index,
                         std::int64_t attempt) {
    constexpr std::size_t base_max = 57;  // 63 less a dash and five characters: also a host name.
    std::string what = std::to_string(attempt);
    std::string tail = "-";
    if (index) {
        tail += std::to_string(*index) + "-";
        what = std::to_string(*index) + "/" + what;
    }
    const std::size_t room = base_max - std::min(base_max, tail.size() - 1);
    return job.key.name.substr(0, room) + tail + derived_suffix(job.uid, what);
}

Time finish_time(const kube::Object& pod) {
    const Time ended = latest_container_end(pod);
    if (ended != Time{}) return ended;
    const api::Value& metadata = pod.value["metadata"];
    if (pod.is_terminating()) return fold_time(metadata["deletionTimestamp"]);
    const Time not_ready =
        fold_time(condition_of(pod.value["status"], "Ready")["lastTransitionTime"]);
    return not_ready != Time{} ? not_ready : fold_time(metadata["creationTimestamp"]);
}

Duration backoff_left(const std::vector<kube::ObjectPtr>& pods, Duration first, Duration most,
                      Time now) {
    Time last_success;
    for (const kube::ObjectPtr& pod : pods) {
        if (pod->value["status"]["phase"].text_or("") == "Succeeded")
            last_success = std::max(last_success, finish_time(*pod));
    }
    Time last_failure;
    std::int64_t failures = 0;
    for (const kube::ObjectPtr& pod : pods) {
        if (pod->value["status"]["phase"].text_or("") != "Failed") continue;
        const Time ended = finish_time(*pod);
        if (ended <= last_success) continue;
        ++failures;
        last_failure = std::max(last_failure, ended);
    }
    if (failures == 0) return {};
    Duration delay = first;
    for (std::int64_t i = 1; i < failures && delay < most; ++i)
        delay = delay * 2;
    return last_failure + std::min(delay, most) - now;
}

std::vector<kube::ObjectPtr> cheapest_first(std::vector<kube::ObjectPtr> pods) {
    const auto rank = [](const kube::Object& pod) {
        const bool placed = !pod.value["spec"]["nodeName"].text_or("").empty();
        const bool running = pod.value["status"]["phase"].text_or("") == "Running";
        const Time created = fold_time(pod.value["metadata"]["creationTimestamp"]);
        return std::tuple(placed, running, is_ready_pod(pod), -created.since_epoch, pod.key.name);
    };
    std::sort(pods.begin(), pods.end(), [&](const kube::ObjectPtr& a, const kube::ObjectPtr& b) {
        return rank(*a) < rank(*b);
    });
    return pods;
}

std::int64_t restarts(const std::vector<kube::ObjectPtr>& pods) {
    std::int64_t sum = 0;
    for (const kube::ObjectPtr& pod : pods) {
        const api::Value& status = pod->value["status"];
        const std::string_view phase = status["phase"].text_or("");
        if (phase != "Pending" && phase != "Running") continue;
        for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
            for (const api::Value& container : status[list].items())
                sum += container["restartCount"].integer_or(0);
        }
    }
    return sum;
}

}  // namespace muster::control::cluster
