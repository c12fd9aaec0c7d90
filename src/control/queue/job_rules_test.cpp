// control/queue/job_rules_test.cpp - what each kind of job may not say or change, to the letter.
#include "control/queue/job_rules.h"

#include <variant>

#include <doctest/doctest.h>

#include "api/parsed_yaml.h"
#include "control/queue/hooks.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

/// What the hooks of the queues say to a write; "" when nothing.
struct Gate {
    bool has_default_queue = false;

    std::string answer(const api::GroupResource& resource, const std::string& object,
                       const std::string& old = "") const {
        api::AdmissionRequest request;
        using Operation = api::AdmissionRequest::Operation;
        request.operation = old.empty() ? Operation::create : Operation::update;
        request.kind = api::find_kind(resource.group, resource.plural);
        REQUIRE(request.kind != nullptr);
        request.object = api::parsed_yaml(object);
        if (!old.empty()) request.old = api::parsed_yaml(old);
        request.find = [this](const api::Key& key) {
            return has_default_queue && key.resource == local_queues ? Value::object() : Value();
        };
        request.list = [](const api::GroupResource&, std::string_view) {
            return std::vector<Value>();
        };
        for (const api::AdmissionHook& hook : admission_hooks()) {
            const api::Admission admission = hook(request);
            if (admission.denied) return admission.denied->webhook + ": " + admission.denied->text;
            if (admission.changed) request.object = *admission.changed;
        }
        return "";
    }
};

std::string job(const std::string& labels, const std::string& spec = "suspend: true",
                const std::string& annotations = "") {
    return "{metadata: {name: j, namespace: team, labels: {" + labels + "}, annotations: {" +
           annotations + "}}, spec: {" + spec + "}}";
}

const std::string queued = "kueue.x-k8s.io/queue-name: a";
const std::string running = "suspend: false";
const std::string waiting = "suspend: true";

TEST_CASE("the queue of a job is a name, stays while it runs, and stays where one is default") {
    Gate gate;
    const std::string path = "vjob.kb.io: metadata.labels[kueue.x-k8s.io/queue-name]: ";
    CHECK(gate.answer(jobs, job("kueue.x-k8s.io/queue-name: A")) ==
          path +
              "Invalid value: \"A\": a lowercase RFC 1123 subdomain must consist of lower case "
              "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
              "character (e.g. 'example.com', regex used for validation is "
              "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
    CHECK(gate.answer(jobs, job("kueue.x-k8s.io/queue-name: b", running), job(queued, running)) ==
          path + "Invalid value: \"b\": field is immutable");
    CHECK(gate.answer(jobs, job("kueue.x-k8s.io/queue-name: b"), job(queued)) == "");
    CHECK(gate.answer(jobs, job(""), job(queued)) == "");
    gate.has_default_queue = true;
    CHECK(gate.answer(jobs, job(""), job(queued)) ==
          path +
              "Invalid value: \"\": queue-name must not be empty in namespace with default queue");
}

TEST_CASE("a priority class is not added to what runs and never taken away") {
    const Gate gate;
    const std::string classed = "kueue.x-k8s.io/priority-class: high";
    const std::string path = "vjob.kb.io: metadata.labels[kueue.x-k8s.io/priority-class]: ";
    CHECK(gate.answer(jobs, job(classed, running), job("", running)) ==
          path +
              "Invalid value: \"high\": WorkloadPriorityClass cannot be added to a non-suspended "
              "workload");
    CHECK(gate.answer(jobs, job("", waiting), job(classed, waiting)) ==
          path + "Invalid value: \"\": WorkloadPriorityClass cannot be removed from a workload");
    CHECK(gate.answer(jobs, job("kueue.x-k8s.io/priority-class: low", running),
                      job(classed, running)) == "");
    CHECK(gate.answer(jobs, job(classed, waiting), job("", waiting)) == "");
}

TEST_CASE("a time limit is a number above 0 that changes only while the job waits") {
    const Gate gate;
    const auto limit = [](const std::string& text) {
        return "kueue.x-k8s.io/max-exec-time-seconds: '" + text + "'";
    };
    const std::string path = "vjob.kb.io: metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: ";
    CHECK(gate.answer(jobs, job(limit("soon"))) ==
          path + "Invalid value: \"soon\": strconv.Atoi: parsing \"soon\": invalid syntax");
    CHECK(gate.answer(jobs, job(limit("0"))) ==
          path + "Invalid value: 0: should be greater than 0");
    CHECK(gate.answer(jobs, job(limit("20"), running), job(limit("10"), running)) ==
          path + "Invalid value: \"20\": field is immutable");
    CHECK(gate.answer(jobs, job(limit("20")), job(limit("10"))) == "");
}

TEST_CASE("a Workload made beforehand is for kinds that can have one, and stays while they run") {
    const Gate gate;
    const auto prebuilt = [](const std::string& name) {
        return "kueue.x-k8s.io/prebuilt-workload-name: " + name;
    };
    const std::string path = "metadata.labels[kueue.x-k8s.io/prebuilt-workload-name]: ";
    CHECK(gate.answer(jobs, job(prebuilt("w"))) == "");
    CHECK(gate.answer(jobs, job(prebuilt("v"), running), job(prebuilt("w"), running)) ==
          "vjob.kb.io: " + path + "Invalid value: \"v\": field is immutable");
    CHECK(gate.answer(jobs, job(prebuilt("v")), job(prebuilt("w"))) == "");
}

TEST_CASE("partial admission of a Job") {
    const Gate gate;
    const auto least = [](const std::string& text) {
        return "kueue.x-k8s.io/job-min-parallelism: '" + text + "'";
    };
    const std::string four = "suspend: true, parallelism: 4";
    const std::string path =
        "vjob.kb.io: metadata.annotations[kueue.x-k8s.io/job-min-parallelism]: ";
    CHECK(gate.answer(jobs, job(queued, four, least("2"))) == "");
    CHECK(gate.answer(jobs, job(queued, four, least("few"))) ==
          path + "Invalid value: \"few\": strconv.Atoi: parsing \"few\": invalid syntax");
    for (const char* wrong : {"0", "4"}) {
        CHECK(gate.answer(jobs, job(queued, four, least(wrong))) ==
              path + "Invalid value: " + wrong + ": should be between 0 and 3");
    }
    CHECK(
        gate.answer(jobs, job(queued, "suspend: false, parallelism: 3", least("2")),
                    job(queued, "suspend: false, parallelism: 4", least("2"))) ==
        "vjob.kb.io: spec.parallelism: Forbidden: cannot change when partial admission is enabled "
        "and the job is not suspended");
    CHECK(gate.answer(jobs, job(queued, "suspend: false, parallelism: 3", least("2")),
                      job(queued, four, least("2"))) == "");
}

TEST_CASE("completions that follow parallelism are those of an Indexed Job") {
    const Gate gate;
    const std::string follow = "kueue.x-k8s.io/job-completions-equal-parallelism: 'true'";
    const std::string indexed = "suspend: true, completionMode: Indexed, parallelism: 4, ";
    const std::string path =
        "metadata.annotations[kueue.x-k8s.io/job-completions-equal-parallelism]: ";
    CHECK(gate.answer(jobs, job(queued, indexed + "completions: 4", follow)) == "");
    CHECK(gate.answer(jobs, job(queued, "parallelism: 4, completions: 4", follow)) ==
          "vjob.kb.io: " + path +
              "Invalid value: \"true\": should not be enabled for NonIndexed jobs");
    CHECK(gate.answer(jobs, job(queued, indexed + "completions: 5", follow)) ==
          "vjob.kb.io: spec.completions: Invalid value: 5: should be equal to parallelism when "
          "kueue.x-k8s.io/job-completions-equal-parallelism annotation is true");
    CHECK(gate.answer(
              jobs, job(queued, "completionMode: Indexed, parallelism: 4, completions: 4", follow),
              job(queued, "completionMode: Indexed, parallelism: 4, completions: 4")) ==
          "vjob.kb.io: " + path + "Forbidden: field is immutable while the job is not suspended");
}

TEST_CASE("what a pod template asks of topologies must hang together") {
    const Gate gate;
    const auto asks = [&](const std::string& annotations, const std::string& count = "4") {
        return gate.answer(
            jobs, job(queued, "suspend: true, parallelism: " + count +
                                  ", template: {metadata: {annotations: {" + annotations + "}}}"));
    };
    const std::string path = "vjob.kb.io: spec.template.metadata.annotations";
    const std::string k = "kueue.x-k8s.io/podset-";
    CHECK(asks(k + "required-topology: cloud/block") == "");
    CHECK(asks(k + "required-topology: cloud/block, " + k + "preferred-topology: cloud/block") ==
          path +
              ": Invalid value: must not contain more than one topology annotation: "
              "[\"kueue.x-k8s.io/podset-required-topology\", "
              "\"kueue.x-k8s.io/podset-preferred-topology\", "
              "\"kueue.x-k8s.io/podset-unconstrained-topology\"]");
    CHECK(asks(k + "unconstrained-topology: maybe") ==
          path +
              "[kueue.x-k8s.io/podset-unconstrained-topology]: Invalid value: \"maybe\": must be a "
              "boolean value");
    CHECK(asks(k + "slice-size: '2'") ==
          path +
              "[kueue.x-k8s.io/podset-slice-size]: Forbidden: may not be set when "
              "'kueue.x-k8s.io/podset-slice-required-topology' is not specified");
    const std::string slices = k + "slice-required-topology: cloud/rack";
    CHECK(asks(slices) ==
          path +
              "[kueue.x-k8s.io/podset-slice-size]: Required value: must be set when "
              "'kueue.x-k8s.io/podset-slice-required-topology' is specified");
    CHECK(asks(slices + ", " + k + "slice-size: '5'") ==
          path +
              "[kueue.x-k8s.io/podset-slice-size]: Invalid value: \"5\": must not be greater than "
              "pod set count 4");
    CHECK(asks(slices + ", " + k + "slice-size: '0'") ==
          path +
              "[kueue.x-k8s.io/podset-slice-size]: Invalid value: \"0\": must be greater than or "
              "equal to 1");
    CHECK(asks(k + "group-name: '7', " + k + "required-topology: cloud/block") ==
          path + "[kueue.x-k8s.io/podset-group-name]: Invalid value: \"7\": must not be a number");
    const std::string layers = k + "slice-required-topology-constraints: ";
    CHECK(asks(layers + R"('[{"topology":"a/b","size":4},{"topology":"a/c","size":3}]')") ==
          path +
              "[kueue.x-k8s.io/podset-slice-required-topology-constraints][1].size: Invalid value: "
              "3: must evenly divide the parent layer size 4");
}

TEST_CASE("a leader with its workers is a group of two that ask for the same") {
    const Gate gate;
    const auto cluster = [&](const std::string& head, const std::string& workers,
                             const std::string& replicas) {
        return gate.answer(
            ray_clusters,
            job(queued, "suspend: true, headGroupSpec: {template: {metadata: {annotations: {" +
                            head + "}}}}, workerGroupSpecs: [{groupName: w, replicas: " + replicas +
                            ", template: {metadata: {annotations: {" + workers + "}}}}]"));
    };
    const std::string together =
        "kueue.x-k8s.io/podset-group-name: g, kueue.x-k8s.io/podset-required-topology: a/b";
    const std::string apart =
        "kueue.x-k8s.io/podset-group-name: g, kueue.x-k8s.io/podset-required-topology: a/c";
    CHECK(cluster(together, together, "3") == "");
    CHECK(cluster("", together, "3") ==
          "vraycluster.kb.io: "
          "spec.workerGroupSpecs[0].template.metadata.annotations[kueue.x-k8s.io/"
          "podset-group-name]: Invalid value: \"g\": can only define groups of exactly 2 pod sets, "
          "got: 1 pod set(s)");
    const std::string head = "spec.headGroupSpec.template.metadata.annotations";
    const std::string workers = "spec.workerGroupSpecs[0].template.metadata.annotations";
    const std::string words =
        ": Invalid value: must specify 'kueue.x-k8s.io/podset-required-topology' or "
        "'kueue.x-k8s.io/podset-preferred-topology' topology consistent with '";
    CHECK(cluster(together, apart, "3") == "vraycluster.kb.io: [" + head + words + workers +
                                               "' in group 'g', " + workers + words + head +
                                               "' in group 'g']");
}

TEST_CASE("Ray under a queue does not scale by itself, and cleans up") {
    const Gate gate;
    const std::string scales = "enableInTreeAutoscaling: true, headGroupSpec: {}";
    const std::string words =
        ".enableInTreeAutoscaling: Invalid value: true: a kueue managed job should only use "
        "autoscaling when workload slicing is enabled";
    CHECK(gate.answer(ray_clusters, job(queued, scales)) ==
          "vraycluster.kb.io: spec.enableInTreeAutoscaling: Invalid value: true: a kueue-managed "
          "RayCluster can use autoscaling only as an elastic job: enable the "
          "ElasticJobsViaWorkloadSlices feature gate and set the "
          "\"kueue.x-k8s.io/elastic-job\": \"true\" annotation");
    CHECK(gate.answer(ray_clusters, job("", scales)) == "");
    CHECK(gate.answer(ray_clusters,
                      job(queued, "headGroupSpec: {}, workerGroupSpecs: [{groupName: head}]")) ==
          "vraycluster.kb.io: spec.workerGroupSpecs[0].groupName: Forbidden: \"head\" is reserved "
          "for the head group");
    CHECK(gate.answer(ray_jobs, job(queued, "rayClusterSpec: {" + scales + "}")) ==
          "vrayjob.kb.io: [spec.shutdownAfterJobFinishes: Invalid value: false: a kueue managed "
          "job should delete the cluster after finishing, spec.rayClusterSpec" +
              words + "]");
}

TEST_CASE("a RayJob on a cluster that is there is nobody's business but Ray's") {
    const Gate gate;
    const std::string elsewhere = "clusterSelector: {a: b}";
    CHECK(gate.answer(ray_jobs, job(queued, elsewhere)) == "");
    CHECK(gate.answer(ray_jobs, job(queued, elsewhere + ", rayClusterSpec: {headGroupSpec: {}}")) ==
          "vrayjob.kb.io: spec.clusterSelector: Invalid value: {\"a\":\"b\"}: a kueue managed job "
          "should not use an existing cluster");
    CHECK(gate.answer(ray_jobs, job(queued, "shutdownAfterJobFinishes: true")) ==
          "vrayjob.kb.io: spec.rayClusterSpec: Required value: rayClusterSpec is required for "
          "Kueue-managed jobs that don't use clusterSelector");
    api::AdmissionRequest request;
    request.kind = api::find_kind("ray.io", "rayjobs");
    request.find = [](const api::Key&) { return Value(); };
    request.object = api::parsed_yaml(job(queued, elsewhere));
    CHECK_FALSE(suspend_new_job(request).changed);
    JobRules all;
    all.unlabelled = JobRules::Unlabelled::managed;
    request.object = api::parsed_yaml(job("", elsewhere));
    CHECK_FALSE(suspend_unlabelled_job(request, all).changed);
}

TEST_CASE("owners are followed only so far") {
    Gate gate;
    std::string deep =
        "{metadata: {name: j0, namespace: team, uid: u, labels: {kueue.x-k8s.io/queue-name: a}, "
        "ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j0, uid: u, controller: "
        "true}]}, "
        "spec: {}}";
    // Its own owner: a chain without end.
    api::AdmissionRequest request;
    request.kind = api::find_kind("batch", "jobs");
    request.object = api::parsed_yaml(deep);
    request.find = [&](const api::Key& key) {
        return key.resource == jobs ? request.object : Value();
    };
    const api::Admission admission = suspend_new_job(request);
    REQUIRE(admission.denied);
    CHECK(admission.denied->text == "managed owners chain limit reached");
}

}  // namespace
}  // namespace muster::control::queue
