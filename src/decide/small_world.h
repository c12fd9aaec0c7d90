// decide/small_world.h - what tests build small worlds of: a queue, a workload, and the digits of a
// number that stands for one world of many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "decide/change.h"

namespace muster::decide {

/// Of its only resource, cpu, so much in the flavors f0, f1, ...
inline ClusterQueue queue(const std::string& name, const std::vector<std::int64_t>& cpu_by_flavor) {
    ClusterQueue made;
    made.name = name;
    made.namespaces = Selector{};
    made.groups.emplace_back().resources = {"cpu"};
    for (std::size_t i = 0; i < cpu_by_flavor.size(); ++i) {
        FlavorQuotas flavor{"f" + std::to_string(i), {}};
        flavor.resources["cpu"].nominal = {cpu_by_flavor[i]};
        made.groups.back().flavors.push_back(std::move(flavor));
    }
    return made;
}

/// The queue with a local queue of its name in the namespace "default".
inline std::vector<Change> with_local(const ClusterQueue& made) {
    return {QueueSet{made}, LocalQueueSet{{"default", made.name, made.name, StopPolicy::none}}};
}

/// One pod. Without a local queue it is bound to nodes.
inline Workload workload(const std::string& id, const std::string& in, std::int64_t cpu) {
    Workload made;
    made.id = id;
    made.ns = "default";
    made.local_queue = in;
    made.binds = in.empty() ? Workload::Binds::quota_and_nodes : Workload::Binds::quota;
    made.created = Time{1};
    made.pod_sets.emplace_back().pod.requests["cpu"] = {cpu};
    return made;
}

/// The digits of a code, lowest first, each in a base of its own: counting codes up to the product
/// of the bases meets every world once.
class Digits {
public:
    explicit Digits(std::int64_t code) : rest_(code) {}
    std::int64_t operator()(std::int64_t base) {
        const std::int64_t value = rest_ % base;
        rest_ /= base;
        return value;
    }

private:
    std::int64_t rest_;
};

}  // namespace muster::decide
