// apps/cli/missing_crds_test.cpp - what `muster crds --missing` prints for a cluster.
#include "apps/cli/missing_crds.h"

#include <doctest/doctest.h>

#include "api/parsed_yaml.h"

namespace muster::cli {
namespace {

using Names = std::vector<std::string>;

Names names_of(const std::vector<const api::Kind*>& kinds) {
    Names names;
    for (const api::Kind* kind : kinds)
        names.push_back(kind->plural);
    return names;
}

MissingCrds missing_beside(const char* present) {
    return missing_crds(
        {api::find_kind("kueue.x-k8s.io", "workloads"), api::find_kind("ray.io", "rayclusters")},
        api::parsed_yaml(present));
}

TEST_CASE("an empty cluster needs every definition") {
    CHECK(names_of(missing_beside("[]").wanted) == Names{"workloads", "rayclusters"});
}

TEST_CASE("what somebody else brought stays, what Muster brought is brought again") {
    const MissingCrds missing = missing_beside(
        "[{metadata: {name: workloads.kueue.x-k8s.io, labels: {app: kueue}}}, {metadata: {name: "
        "rayclusters.ray.io, labels: {app.kubernetes.io/part-of: muster, more: labels}}}, "
        "{metadata: {name: workloads.example.com}}]");
    CHECK(names_of(missing.wanted) == Names{"rayclusters"});
    CHECK(missing.others == Names{"workloads.kueue.x-k8s.io"});
    CHECK(missing.leaving.empty());
    const MissingCrds other = missing_beside(
        "[{metadata: {name: workloads.kueue.x-k8s.io, labels: {app.kubernetes.io/part-of: kueue}}},"
        " {metadata: {name: rayclusters.ray.io}}]");
    CHECK(other.wanted.empty());
    CHECK(other.others == Names{"workloads.kueue.x-k8s.io", "rayclusters.ray.io"});
}

TEST_CASE("what is being deleted is waited for, whoever brought it") {
    const MissingCrds missing = missing_beside(
        "[{metadata: {name: workloads.kueue.x-k8s.io, deletionTimestamp: now, labels: "
        "{app.kubernetes.io/part-of: muster}}}]");
    CHECK(missing.leaving == Names{"workloads.kueue.x-k8s.io"});
    CHECK(names_of(missing.wanted) == Names{"rayclusters"});
}

}  // namespace
}  // namespace muster::cli
