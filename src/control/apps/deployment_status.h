// control/apps/deployment_status.h - one reconcile of one Deployment in the making, and what its
// status says of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/apps/rollout.h"
#include "control/controller.h"

namespace muster::control::apps {

inline constexpr const char* revision_key = "deployment.kubernetes.io/revision";
inline constexpr const char* desired_key = "deployment.kubernetes.io/desired-replicas";
inline constexpr const char* max_key = "deployment.kubernetes.io/max-replicas";

struct DeploymentPass {
    const kube::Cache& seen;
    const kube::Object& deployment;
    const Time now;
    const api::Value& spec;
    bool recreates = false;
    std::vector<kube::ObjectPtr> sets = {};  // All, by creation.
    std::vector<kube::ObjectPtr> old = {};   // Those of other templates.
    kube::ObjectPtr current = {};            // That of the present template; null: not made yet.
    Rollout rollout = {};
    std::string created_name = {};  // Of the ReplicaSet that this pass makes.
    Reconciled result = {};
};

/// The annotation deployment.kubernetes.io/revision; 0: none.
std::int64_t revision_of(const kube::Object& set);

/// All pods are those of the present template, and available; as last observed.
bool is_complete(const DeploymentPass& pass);

/// Numbers and the conditions Available, Progressing and ReplicaFailure.
api::Value deployment_status(DeploymentPass& pass);

/// The event ScalingReplicaSet.
void tell_scaled(DeploymentPass& pass, const std::string& set, std::int64_t from, std::int64_t to);

}  // namespace muster::control::apps
