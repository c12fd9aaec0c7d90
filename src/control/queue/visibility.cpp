// control/queue/visibility.cpp - lists of pending workloads with their positions.
#include "control/queue/visibility.h"

#include <map>
#include <utility>

#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

Value entry_of(const kube::Object& workload, std::int64_t in_cluster_queue,
               std::int64_t in_local_queue) {
    const Value& metadata = workload.value["metadata"];
    Value shown = Value::object({{"name", workload.key.name}, {"namespace", workload.key.ns}});
    for (const char* field : {"creationTimestamp", "ownerReferences", "uid"}) {
        if (!metadata[field].is_null()) shown.set(field, metadata[field]);
    }
    return Value::object({{"metadata", std::move(shown)},
                          {"priority", workload.value["spec"]["priority"].integer_or(0)},
                          {"localQueueName", workload.value["spec"]["queueName"].text()},
                          {"positionInClusterQueue", in_cluster_queue},
                          {"positionInLocalQueue", in_local_queue}});
}

}  // namespace

Value pending_workloads(const QueuePlanner& planner, const kube::Cache& seen, const api::Key& key,
                        const std::string& version, Window window, Time now) {
    const bool local = !key.ns.empty();
    std::string cluster_queue = key.name;
    if (local) {
        const auto queue = seen.find({local_queues, key.ns, key.name});
        if (queue == nullptr) return {};
        cluster_queue = queue->value["spec"]["clusterQueue"].text();
    } else if (seen.find({cluster_queues, "", key.name}) == nullptr) {
        return {};
    }
    Value items = Value::array();
    std::map<std::pair<std::string, std::string>, std::int64_t> in_local_queue;
    std::int64_t in_cluster_queue = 0;
    std::int64_t counted = 0;  // Of those that are asked for.
    for (const std::string& id : decide::pending_in(planner.state(), cluster_queue, now)) {
        const api::Key* found = planner.key_of(id);
        const kube::ObjectPtr workload = found == nullptr ? nullptr : seen.find(*found);
        if (workload == nullptr || workload->key.resource != workloads) continue;
        const std::string queue = workload->value["spec"]["queueName"].text();
        const std::int64_t place = in_local_queue[{workload->key.ns, queue}]++;
        const std::int64_t overall = in_cluster_queue++;
        if (local && (workload->key.ns != key.ns || queue != key.name)) continue;
        if (counted++ < window.offset) continue;
        if (static_cast<std::int64_t>(items.size()) >= window.limit) break;
        items.push(entry_of(*workload, overall, place));
    }
    return Value::object({{"kind", "PendingWorkloadsSummary"},
                          {"apiVersion", std::string(visibility_group) + "/" + version},
                          {"metadata", Value::object({{"creationTimestamp", Value()}})},
                          {"items", std::move(items)}});
}

}  // namespace muster::control::queue
