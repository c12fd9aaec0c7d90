// control/queue/managed.h - which jobs are queued: those with a queue name that nothing queued has
// made.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/kind.h"
#include "api/owner.h"
#include "api/value.h"
#include "control/queue/integration.h"
#include "control/queue/settings.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// Reads an object from wherever the caller sees it; null when absent.
using FindObject = std::function<api::Value(const api::Key& key)>;

std::string_view queue_name_of(const api::Value& object);

using api::controller_of;

/// What stands above a job in the chain of controllers.
struct Above {
    enum class End { top, too_deep };
    /// The topmost that has a queue name or is an AppWrapper: what holds quota for the whole holds
    /// it for the parts. An empty name: none.
    api::Key managed;
    api::Value object;  // Of `managed`; null when it was not found.
    End end = End::top;
};
inline constexpr int owners_max = 10;  // More are not looked at.
Above find_above(const api::Value& object, std::string_view ns, const FindObject& find);

/// Queues leave it alone although it may name one.
bool is_left_alone(const JobKind& kind, const api::Value& object);

/// Has a queue name of its own, and no managed ancestor.
bool is_managed(const api::Value& object, std::string_view ns, const FindObject& find);

/// A controller of a kind that queues manage made it.
bool is_made_by_job(const api::Value& object);

FindObject find_in(const kube::Cache& seen);

/// Kueue's name of a kind of job: "batch/job", "pod".
std::string framework_of(const api::GroupResource& resource, std::string_view kind);

/// Jobs of that kind are managed at all. Both kinds of AppWrappers are one framework.
bool manages(const JobRules& rules, const JobKind& kind);

/// Jobs in that namespace are.
bool manages_namespace(const JobRules& rules, std::string_view ns, const FindObject& find);

/// What has always run where it was put: pods and what makes them to serve.
bool serves(const JobKind& kind);

/// The kind takes part though its objects name no queue: it gets the default one, or must find one
/// when all jobs must. What serves does so only where the settings name its framework.
bool takes_part_unlabelled(const JobRules& rules, const JobKind& kind);

/// It names no queue and nothing queued made it, but all jobs are to wait for one.
bool must_find_queue(const JobRules& rules, const JobKind& kind, const api::Value& object,
                     std::string_view ns, const FindObject& find);

}  // namespace muster::control::queue
