// control/queue/managed_test.cpp - which jobs are queued, as the administrator wants it.
#include "control/queue/managed.h"

#include <doctest/doctest.h>

#include "api/parsed_yaml.h"
#include "control/cluster/small_cluster.h"
#include "control/queue/jobs.h"
#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

/// The controller of Jobs under some rules.
struct Ruled : cluster::SmallCluster {
    std::vector<Controller> controllers;

    explicit Ruled(const JobRules& rules) : controllers(job_controllers(Settings{.jobs = rules})) {
        put(namespaces, "{metadata: {name: team, labels: {queued: 'yes'}}}");
        put(namespaces, "{metadata: {name: kube-system}}");
    }

    kube::ObjectPtr job(const std::string& ns, const std::string& labels) {
        const auto made =
            put(jobs, "{apiVersion: batch/v1, kind: Job, metadata: {name: train, namespace: " + ns +
                          ", labels: {" + labels +
                          "}}, spec: {suspend: false, parallelism: 1, template: {spec: "
                          "{containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}");
        settle(made->key);
        return find(jobs, ns, "train");
    }
    void settle(const api::Key& key) {
        for (const Controller& controller : controllers) {
            if (controller.watches[0].resource != key.resource) continue;
            for (int i = 0; i < 5; ++i)
                carry_out(controller.reconcile(seen, key, now));
        }
    }
    kube::ObjectPtr workload(const std::string& ns) {
        const auto all = seen.list(workloads, ns);
        return all.empty() ? nullptr : all.front();
    }
};

const std::string queued = "kueue.x-k8s.io/queue-name: lq";

TEST_CASE("a job without a queue is left alone, unless every job is to wait for one") {
    Ruled usual{JobRules{}};
    CHECK_FALSE(usual.job("team", "")->value["spec"]["suspend"].boolean_or(true));
    CHECK(usual.workload("team") == nullptr);

    JobRules rules;
    rules.unlabelled = JobRules::Unlabelled::managed;
    Ruled all{rules};
    CHECK(all.job("team", "")->value["spec"]["suspend"].boolean_or(false));
    REQUIRE(all.workload("team") != nullptr);
    CHECK(all.workload("team")->value["spec"]["queueName"].text_or("").empty());
    all.patch(all.find(jobs, "team", "train"), "{metadata: {labels: {" + queued + "}}}");
    all.settle({jobs, "team", "train"});
    CHECK(all.workload("team")->value["spec"]["queueName"].text_or("") == "lq");
}

TEST_CASE("a RayJob on a cluster that is there has no Workload, and its parts start at once") {
    Ruled usual{JobRules{}};
    const auto made =
        usual.put(ray_jobs,
                  "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: go, namespace: team, "
                  "uid: u, labels: {" +
                      queued +
                      "}}, spec: {suspend: false, entrypoint: e, clusterSelector: "
                      "{ray.io/cluster: c}}}");
    usual.settle(made->key);
    CHECK(usual.workload("team") == nullptr);
    const Value seen = usual.find(ray_jobs, "team", "go")->value;
    CHECK_FALSE(seen["spec"]["suspend"].boolean_or(true));
    const Value submitter = api::parsed_yaml(
        "{metadata: {name: go, namespace: team, ownerReferences: [{apiVersion: ray.io/v1, kind: "
        "RayJob, name: go, uid: " +
        seen["metadata"]["uid"].text() + ", controller: true}]}}");
    CHECK(find_above(submitter, "team", find_in(usual.seen)).managed.name.empty());
}

TEST_CASE("in namespaces that the selector leaves out nothing is managed") {
    Ruled usual{JobRules{}};
    usual.job("kube-system", queued);
    CHECK(usual.workload("kube-system") == nullptr);
    JobRules rules;
    rules.unlabelled = JobRules::Unlabelled::managed;
    rules.namespaces = {{{"queued", "no"}}, {}};
    Ruled other{rules};
    other.job("team", queued);
    CHECK(other.workload("team") == nullptr);
    CHECK_FALSE(other.job("team", "")->value["spec"]["suspend"].boolean_or(true));
}

TEST_CASE("only the kinds that are named are managed, and named labels are copied") {
    JobRules rules;
    rules.frameworks = {"ray.io/rayjob"};
    Ruled rays{rules};
    rays.job("team", queued);
    CHECK(rays.workload("team") == nullptr);
    rules.frameworks = {"batch/job", "workload.codeflare.dev/appwrapper"};
    rules.labels_to_copy = {"owner", "absent"};
    Ruled some{rules};
    some.job("team", queued + ", owner: ann, other: x");
    REQUIRE(some.workload("team") != nullptr);
    CHECK(some.workload("team")->label("owner") == "ann");
    CHECK(some.workload("team")->label("other").empty());
    CHECK(manages(rules, *find_job_kind(old_app_wrappers)));
    CHECK_FALSE(manages(rules, *find_job_kind(ray_clusters)));
    CHECK(has_framework("batch/job"));
    CHECK(has_framework("jobset.x-k8s.io/jobset"));
    CHECK(has_framework("kubeflow.org/mpijob"));
    CHECK(has_framework("trainer.kubeflow.org/trainjob"));
    CHECK(has_framework("sparkoperator.k8s.io/sparkapplication"));
    CHECK(has_framework("leaderworkerset.x-k8s.io/leaderworkerset"));
    CHECK_FALSE(has_framework("ray.io/rayservice"));
}

}  // namespace
}  // namespace muster::control::queue
