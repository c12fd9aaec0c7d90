// control/queue/small_queues.h - for tests: a small cluster with the planner and the controllers of
// the queues.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "api/json.h"
#include "control/appwrapper/controller.h"
#include "control/cluster/small_cluster.h"
#include "control/fold_pod.h"
#include "control/queue/jobs.h"
#include "control/queue/names.h"
#include "control/queue/planner.h"
#include "control/queue/workload.h"

namespace muster::control::queue {

/// A small cluster with the planner and the controllers of the queues.
struct SmallQueues : cluster::SmallCluster {
    QueuePlanner planner;
    std::vector<Controller> controllers;
    std::string last_writes;  // Of the last turn.

    explicit SmallQueues(const LifePolicy& policy = {}) : SmallQueues(Settings{.life = policy}) {}
    explicit SmallQueues(const Settings& settings)
        : planner(settings), controllers(job_controllers(settings)) {
        followers.push_back(&planner);
        controllers.push_back(appwrapper::controller(app_wrappers));
        put(nodes,
            "{metadata: {name: laptop}, status: {allocatable: {cpu: 8, memory: 8118372Ki, "
            "pods: 110}}}");
        put(namespaces, "{metadata: {name: team}}");
        put(flavors, "{apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: default-flavor}}");
        put(cluster_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2, metadata: {name: cluster-queue},
            spec: {namespaceSelector: {}, resourceGroups: [{
              coveredResources: [cpu, memory, nvidia.com/gpu], flavors: [{name: default-flavor,
              resources: [{name: cpu, nominalQuota: 9}, {name: memory, nominalQuota: 36Gi},
                          {name: nvidia.com/gpu, nominalQuota: 5}]}]}]}})");
        put(local_queues, R"({apiVersion: kueue.x-k8s.io/v1beta2,
            metadata: {name: lq, namespace: team}, spec: {clusterQueue: cluster-queue}})");
        rest();
    }

    /// Reconciles every object of every watched kind and plans, until nothing is written any more.
    void rest() {
        for (int round = 0; round < 50; ++round) {
            if (!turn()) return;
            now = now + milliseconds(150);
        }
        FAIL("the queues do not come to rest: " << last_writes);
    }

    bool turn() {
        bool wrote = false;
        last_writes.clear();
        const auto settle = [&](const Reconciled& result) {
            wrote = wrote || !result.writes.empty();
            for (const Write& write : result.writes) {
                last_writes += write.key.resource.plural + " " + write.key.name + " " +
                               api::to_json(write.body) + "\n";
                if (!take(write)) planner.failed(write);
            }
            events.insert(events.end(), result.events.begin(), result.events.end());
        };
        for (const Controller& controller : controllers) {
            for (const api::Key& key : keys_of(controller))
                settle(controller.reconcile(seen, key, now));
        }
        // Until after the pause before the next round of queues' counts, and at once after each
        // write is seen.
        for (const Duration passes :
             {Duration{}, milliseconds(150), Duration{}, milliseconds(150)}) {
            settle(planner.plan(seen, now));
            now = now + passes;
        }
        return wrote;
    }

    /// What a controller would be woken for if every object had just come.
    std::set<api::Key> keys_of(const Controller& controller) const {
        std::set<api::Key> keys;
        for (const Watch& watch : controller.watches) {
            for (const kube::ObjectPtr& object : seen.list(watch.resource)) {
                for (api::Key& key : watch.wakes(seen, nullptr, object.get()))
                    keys.insert(std::move(key));
            }
        }
        return keys;
    }

    kube::ObjectPtr job(const std::string& name, const std::string& requests, int parallelism = 1,
                        const std::string& labels = "") {
        return put(
            jobs, "{apiVersion: batch/v1, kind: Job, metadata: {namespace: team, name: " + name +
                      ", labels: {kueue.x-k8s.io/queue-name: lq" + labels +
                      "}}, spec: {suspend: true, parallelism: " + std::to_string(parallelism) +
                      ", template: {spec: {containers: " + "[{name: main, resources: {requests: {" +
                      requests + "}}}]}}}}");
    }
    kube::ObjectPtr job_now(const std::string& name) { return find(jobs, "team", name); }
    kube::ObjectPtr workload_of(const std::string& job) {
        for (const kube::ObjectPtr& each : seen.list(workloads, "team")) {
            if (each->value["metadata"]["ownerReferences"][0]["name"].text_or("") == job)
                return each;
        }
        return nullptr;
    }
    const api::Value& condition(const std::string& job, const std::string& type) {
        return condition_of(workload_of(job)->value["status"], type);
    }
    kube::ObjectPtr pod(const std::string& name, const kube::Object& owner,
                        const std::string& requests) {
        return put(pods,
                   "{metadata: {namespace: team, name: " + name +
                       ", ownerReferences: [{apiVersion: " + owner.value["apiVersion"].text() +
                       ", kind: " + owner.value["kind"].text() + ", name: " + owner.key.name +
                       ", uid: " + owner.uid +
                       ", controller: true}]}, spec: {nodeName: laptop,"
                       " containers: [{name: main, resources: {requests: {" +
                       requests + "}}}]}, status: {phase: Running}}");
    }
    kube::ObjectPtr wrapper(const std::string& name, const std::string& labels = "") {
        return put(app_wrappers, R"({apiVersion: workload.codeflare.dev/v1beta1, kind: AppWrapper,
            metadata: {namespace: team, name: )" +
                                     name + ", labels: {" + labels + R"(}},
            spec: {resources: {GenericItems: [{custompodresources: [
                {replicas: 1, requests: {cpu: 1, memory: 2G}, limits: {cpu: 1, memory: 2G}},
                {replicas: 1, requests: {cpu: 2, memory: 2G}, limits: {cpu: 2, memory: 2G}}],
              generictemplate: {apiVersion: batch/v1, kind: Job, metadata: {name: )" +
                                     name + "}, spec: {template: {spec: {containers: []}}}}}]}}}");
    }
    api::Value wrapper_status(const std::string& name) {
        const auto found = find(app_wrappers, "team", name);
        return found == nullptr ? api::Value() : found->value["status"];
    }
    std::string pending() {
        return std::to_string(find(cluster_queues, "", "cluster-queue")
                                  ->value["status"]["pendingWorkloads"]
                                  .integer_or(-1));
    }
};

}  // namespace muster::control::queue
