// control/apps/pod_family.h - what the controllers of the group apps share: their pods, counted and
// made, and the words of their writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "api/value.h"
#include "base/time.h"
#include "control/controller.h"
#include "kube/cache.h"

namespace muster::control::apps {

inline const api::GroupResource pods{"", "pods"};
inline const api::GroupResource replica_sets{"apps", "replicasets"};
inline const api::GroupResource deployments{"apps", "deployments"};
inline const api::GroupResource stateful_sets{"apps", "statefulsets"};
inline const api::GroupResource controller_revisions{"apps", "controllerrevisions"};

inline constexpr const char* pod_template_hash = "pod-template-hash";

/// Ready, and has been for `min_ready`.
bool is_available(const kube::Object& pod, Duration min_ready, Time now);

/// How long until a ready pod is available; absent when it is not ready or is available already.
std::optional<Duration> until_available(const kube::Object& pod, Duration min_ready, Time now);

/// Neither finished nor terminating.
std::vector<kube::ObjectPtr> active_of(const std::vector<kube::ObjectPtr>& all);

/// A metav1.LabelSelector against labels. An empty selector matches nothing:
/// that of a workload is never meant to take every pod.
bool selects(const api::Value& selector, const api::Value& labels);

/// A pod of a template, controlled by `owner`.
api::Value make_pod(const kube::Object& owner, const api::Value& pod_template,
                    const std::string& name);

/// A hash of a pod template in the alphabet of generated names, as `pod-template-hash` has it.
std::string template_hash(const api::Value& pod_template, std::int64_t collisions);

/// spec.replicas and the like: a number, or the default.
std::int64_t count_of(const api::Value& spec, std::string_view field, std::int64_t otherwise);

/// "25%" or 3, of `total`, with fractions rounded as told.
enum class Rounding { up, down };
std::int64_t scaled(const api::Value& value, std::int64_t total, Rounding rounding);

Write create_of(const api::Key& key, const std::string& api_version, api::Value body);
Write remove_of(const kube::Object& object, const std::string& api_version);
Write patch_of(const kube::Object& object, const std::string& api_version, api::Value body);

/// The patch of status from what it is to `after`, unless nothing changes.
std::optional<Write> status_of(const kube::Object& object, const api::Value& after);

}  // namespace muster::control::apps
