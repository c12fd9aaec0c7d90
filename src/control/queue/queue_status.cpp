// control/queue/queue_status.cpp - counts, usage and the condition Active of queues.
#include "control/queue/queue_status.h"

#include <string>
#include <utility>

#include "base/quantity.h"
#include "control/conditions.h"
#include "control/queue/fold.h"

namespace muster::control::queue {
namespace {

using api::Value;
using Active = decide::QueueReport::Active;

enum class Borrowed { hidden, shown };
/// Of all that hold quota, or only of those that are admitted.
enum class Of { reserving, admitted };

/// Flavors and resources in the order of the ClusterQueue's spec.
Value usage_of(const Value& cluster_queue, const decide::QueueReport& report, Borrowed borrowed,
               Of of) {
    Value usage = Value::array();
    for (const Value& group : cluster_queue["spec"]["resourceGroups"].items()) {
        for (const Value& flavor : group["flavors"].items()) {
            Value resources = Value::array();
            const auto found = report.flavors.find(flavor["name"].text());
            for (const Value& resource : flavor["resources"].items()) {
                const std::string name = resource["name"].text();
                decide::QueueReport::Use use;
                if (found != report.flavors.end()) {
                    const auto used = found->second.find(name);
                    if (used != found->second.end()) use = used->second;
                }
                if (of == Of::admitted) {
                    use.used -= use.reserved;
                    use.borrowed = std::max(Amount{}, use.borrowed - use.reserved);
                }
                Value entry =
                    Value::object({{"name", name}, {"total", quantity_text(name, use.used)}});
                if (borrowed == Borrowed::shown)
                    entry.set("borrowed", quantity_text(name, use.borrowed));
                resources.push(std::move(entry));
            }
            usage.push(
                Value::object({{"name", flavor["name"]}, {"resources", std::move(resources)}}));
        }
    }
    return usage;
}

void set_counts(Value& status, const decide::QueueReport& report) {
    status.set("pendingWorkloads", report.pending);
    status.set("reservingWorkloads", report.admitted);
    status.set("admittedWorkloads", report.admitted - report.reserved);
}

ConditionText active_of_cluster_queue(const kube::Object& queue,
                                      const decide::QueueReport& report) {
    const std::string no = "Can't admit new workloads: ";
    if (queue.is_terminating())
        return {"Active", "False", "Terminating",
                "Can't admit new workloads; clusterQueue is terminating"};
    switch (report.active) {
        case Active::ready:
            return {"Active", "True", "Ready", "Can admit new workloads"};
        case Active::stopped:
            return {"Active", "False", "Stopped", no + "is stopped."};
        case Active::flavor_not_found:
            return {"Active", "False", "FlavorNotFound",
                    no + "references missing ResourceFlavor(s): " + report.detail + "."};
        case Active::topology_not_found:
            return {"Active", "False", "TopologyNotFound",
                    no + "there is no Topology " + report.detail + " for a TAS flavor."};
        case Active::check_not_found:
            return {"Active", "False", "AdmissionCheckNotFound",
                    no + "references missing AdmissionCheck(s): " + report.detail + "."};
        case Active::check_inactive:
            return {"Active", "False", "AdmissionCheckInactive",
                    no + "references inactive AdmissionCheck(s): " + report.detail + "."};
        case Active::cohort_cycle:
            return {"Active", "False", "Unknown", no + "its cohorts form a circle."};
        case Active::cluster_queue_not_found:
        case Active::cluster_queue_inactive:
            break;
    }
    return {"Active", "False", "Unknown", no + "unknown."};
}

ConditionText active_of_local_queue(const decide::QueueReport& report) {
    const std::string no = "Can't submit new workloads to clusterQueue";
    switch (report.active) {
        case Active::ready:
            return {"Active", "True", "Ready", "Can submit new workloads to localQueue"};
        case Active::stopped:
            return {"Active", "False", "Stopped", "LocalQueue is stopped"};
        case Active::cluster_queue_not_found:
            return {"Active", "False", "ClusterQueueDoesNotExist", no};
        case Active::flavor_not_found:
        case Active::topology_not_found:
        case Active::check_not_found:
        case Active::check_inactive:
        case Active::cohort_cycle:
        case Active::cluster_queue_inactive:
            break;
    }
    return {"Active", "False", "ClusterQueueIsInactive", no};
}

/// What was used of late, in thousandths of units as Kueue has it.
void set_use(Value& status, const decide::QueueReport::PastUse& use) {
    Value consumed = Value::object();
    for (const auto& [resource, thousandths] : use.thousandths) {
        const std::int64_t milli = resource == "cpu" ? thousandths / 1'000 : thousandths;
        consumed.set(resource, Quantity::from_milli(milli).text());
    }
    Value& sharing = status.at("fairSharing");
    if (!sharing.has("weightedShare")) sharing.set("weightedShare", 0);
    sharing.set("admissionFairSharingStatus",
                Value::object({{"consumedResources", std::move(consumed)},
                               {"lastUpdate", to_rfc3339(use.updated)}}));
}

Value status_of(const kube::Object& queue) {
    Value status = queue.value["status"];
    if (!status.is_object()) status = Value::object();
    return status;
}

}  // namespace

Value cluster_queue_status(const kube::Object& queue, const decide::QueueReport& report, Time now) {
    Value status = status_of(queue);
    set_condition(status.at("conditions"), active_of_cluster_queue(queue, report), now);
    status.set("flavorsReservation", usage_of(queue.value, report, Borrowed::shown, Of::reserving));
    status.set("flavorsUsage", usage_of(queue.value, report, Borrowed::shown, Of::admitted));
    set_counts(status, report);
    if (report.weighted_share)
        status.at("fairSharing").set("weightedShare", *report.weighted_share);
    return status;
}

Value cohort_status(const kube::Object& cohort, std::optional<std::int64_t> weighted_share) {
    if (!weighted_share) return cohort.value["status"];
    Value status = status_of(cohort);
    status.at("fairSharing").set("weightedShare", *weighted_share);
    return status;
}

Value local_queue_status(const kube::Object& queue, const kube::Object* cluster_queue,
                         const decide::QueueReport& report, Time now) {
    Value status = status_of(queue);
    set_condition(status.at("conditions"), active_of_local_queue(report), now);
    if (cluster_queue != nullptr) {
        const Value& behind = cluster_queue->value;
        status.set("flavorsReservation", usage_of(behind, report, Borrowed::hidden, Of::reserving));
        status.set("flavorsUsage", usage_of(behind, report, Borrowed::hidden, Of::admitted));
    }
    set_counts(status, report);
    if (report.use) set_use(status, *report.use);
    return status;
}

}  // namespace muster::control::queue
