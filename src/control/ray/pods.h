// control/ray/pods.h - the pods and services of a Ray cluster, built from its spec as KubeRay
// builds them.
#pragma once

#include <string>
#include <string_view>

#include "api/value.h"
#include "control/ray/start_command.h"
#include "kube/cache.h"

namespace muster::control::ray {

/// The head pod of a cluster. `number` tells replacements of a lost one apart in their names.
api::Value head_pod(const kube::Object& cluster, int number);

/// A worker pod of a group (an element of spec.workerGroupSpecs).
api::Value worker_pod(const kube::Object& cluster, const api::Value& group, int number);

/// The names that those pods get.
std::string head_pod_name(const kube::Object& cluster, int number);
std::string worker_pod_name(const kube::Object& cluster, const api::Value& group, int number);

/// The head service, headless unless `serviceType` says otherwise.
api::Value head_service(const kube::Object& cluster);

/// Annotation ray.io/enable-serve-service: a service in front of the pods that serve.
bool wants_serve_service(const kube::Object& cluster);
api::Value serve_service(const kube::Object& cluster);

}  // namespace muster::control::ray
