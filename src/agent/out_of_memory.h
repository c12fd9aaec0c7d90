// agent/out_of_memory.h - which pods the kernel ends first when the machine has no memory left.
#pragma once

#include <cstdint>

#include "api/value.h"

namespace muster::agent {

/// How much a container asks for before it runs.
enum class QualityOfService { guaranteed, burstable, best_effort };
QualityOfService quality_of_service(const api::Value& pod);

/// The kubelet's oom_score_adj of a container: -997 (guaranteed) to 1000 (best effort); a burstable
/// one is the safer the more of the node's memory (bytes) it asks for.
std::int64_t out_of_memory_score(const api::Value& pod, const api::Value& container,
                                 std::int64_t node_memory);

}  // namespace muster::agent
