// control/queue/places_test.cpp - pods of admitted workloads are told where to go.
#include "control/queue/places.h"

#include <string>

#include <doctest/doctest.h>

#include "control/cluster/small_cluster.h"
#include "control/queue/names.h"
#include "control/queue/topology.h"

namespace muster::control::queue {
namespace {

/// An admitted workload with two pods on n1 and one on n2.
struct Admitted : cluster::SmallCluster {
    Controller controller = places_controller();
    kube::ObjectPtr job = put(jobs, R"({apiVersion: batch/v1, kind: Job,
        metadata: {name: train, namespace: team}})");
    kube::ObjectPtr workload = put(workloads, R"({apiVersion: kueue.x-k8s.io/v1beta2,
        metadata: {name: w, namespace: team, labels: {kueue.x-k8s.io/job-uid: )" +
                                                  job->uid +
                                                  R"(}}, status: {
          conditions: [{type: Admitted, status: 'True'}],
          admission: {clusterQueue: q, podSetAssignments: [{name: main, count: 3,
            topologyAssignment: {levels: [kubernetes.io/hostname], slices: [{domainCount: 2,
              valuesPerLevel: [{individual: {prefix: 'n', roots: ['1', '2']}}],
              podCounts: {individual: [2, 1]}}]}}]}}})");

    void pod(const std::string& name, const std::string& index) {
        const std::string label =
            index.empty() ? "" : ", batch.kubernetes.io/job-completion-index: '" + index + "'";
        put(pods,
            "{apiVersion: v1, metadata: {name: " + name +
                ", namespace: team, labels: {kueue.x-k8s.io/podset: main" + label +
                "}, annotations: {kueue.x-k8s.io/workload: w}, ownerReferences: [{apiVersion: "
                "batch/v1, kind: Job, name: train, controller: true, uid: " +
                job->uid + "}]}, spec: {schedulingGates: [{name: kueue.x-k8s.io/topology}]}}");
    }
    void turn() { CHECK(carry_out(controller.reconcile(seen, workload->key, now))); }
    std::string host_of(const std::string& name) const {
        const auto found = find(pods, "team", name);
        return found->value["spec"]["nodeSelector"]["kubernetes.io/hostname"].text();
    }
    bool is_gated(const std::string& name) const {
        return !find(pods, "team", name)->value["spec"]["schedulingGates"].empty();
    }
};

}  // namespace

TEST_CASE("pods get their nodes by rank, and lose the gate") {
    Admitted cluster;
    cluster.pod("c", "0");
    cluster.pod("b", "1");
    cluster.pod("a", "2");
    cluster.turn();
    CHECK(cluster.host_of("c") == "n1");
    CHECK(cluster.host_of("b") == "n1");
    CHECK(cluster.host_of("a") == "n2");
    CHECK_FALSE(cluster.is_gated("a"));
}

TEST_CASE("pods without rank fill the nodes by name, and no more than fit") {
    Admitted cluster;
    cluster.pod("a", "");
    cluster.turn();
    CHECK(cluster.host_of("a") == "n1");
    for (const char* name : {"d", "c", "b"})
        cluster.pod(name, "");
    cluster.turn();
    CHECK(cluster.host_of("b") == "n1");
    CHECK(cluster.host_of("c") == "n2");
    CHECK(cluster.is_gated("d"));
}

TEST_CASE("the annotations of a pod template become its request") {
    auto parsed = api::parse_json(R"({"metadata":{"annotations":{
        "kueue.x-k8s.io/podset-required-topology":"rack",
        "kueue.x-k8s.io/podset-slice-required-topology":"kubernetes.io/hostname",
        "kueue.x-k8s.io/podset-slice-size":"4",
        "kueue.x-k8s.io/podset-group-name":"g"}}})");
    const api::Value request = topology_request_of(std::get<api::Parsed>(std::move(parsed)).value);
    CHECK(api::to_json(request) ==
          R"({"required":"rack","podSetSliceRequiredTopology":"kubernetes.io/hostname",)"
          R"("podSetSliceSize":4,"podSetGroupName":"g"})");
    const decide::TopologyRequest folded = fold_topology_request(request);
    CHECK(folded.mode == decide::TopologyRequest::Mode::required);
    REQUIRE(folded.slices.size() == 1);
    CHECK(folded.slices[0].size == 4);
    CHECK(topology_request_of(api::Value::object()).is_null());
}

}  // namespace muster::control::queue
