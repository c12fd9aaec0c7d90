// control/queue/limits.h - what LimitRanges and RuntimeClasses make of the pods of a Workload, and
// what they and the pods' own limits refuse.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/value.h"
#include "base/amount.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// All LimitRanges of a namespace as one: the least of what they allow, the most of what they ask
/// for, and the first of each default.
struct Limits {
    struct Range {
        Resources max;
        Resources min;
        api::Value defaults = api::Value::object();          // Of limits.
        api::Value default_requests = api::Value::object();  // Of requests.
    };
    std::optional<Range> container;  // Absent: none speaks of containers.
    std::optional<Range> pod;
};
Limits limits_of(const kube::Cache& seen, std::string_view ns);

/// The pod spec as the API server will complete the pods: limits stand in for requests, then the
/// defaults of the namespace; the overhead of its runtime class. Absent: it is complete.
std::optional<api::Value> completed(const api::Value& pod_spec, const Limits& limits,
                                    const kube::Cache& seen);

/// Why no pod of the Workload may be made as it is, in Kueue's words: requests above limits, what a
/// LimitRange refuses, a runtime class that is missing. Empty: nothing is wrong.
std::string request_fault(const api::Value& workload, const Limits& limits,
                          const kube::Cache& seen);

}  // namespace muster::control::queue
