// control/queue/topology_rules.h - what a pod template may ask of topologies, in the words of
// Kueue's webhooks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/field_error.h"
#include "api/value.h"

namespace muster::control::queue {

/// The annotations of pod metadata that stands at `path`.
void check_topology(const api::Value& metadata, const std::string& path,
                    std::vector<api::FieldError>& errors);

/// Slices may not be larger than the pod set.
void check_slice_bound(const api::Value& metadata, const std::string& path, std::int64_t count,
                       std::vector<api::FieldError>& errors);

struct GroupedPodSet {
    api::Value request;  // Its topologyRequest; null: none.
    std::int64_t count = 0;
    std::string path;  // Of its metadata.
};
/// A group is a leader with its workers: two pod sets that ask for the same.
void check_pod_set_groups(const std::vector<GroupedPodSet>& sets,
                          std::vector<api::FieldError>& errors);

}  // namespace muster::control::queue
