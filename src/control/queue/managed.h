// control/queue/managed.h - which jobs are queued: those with a queue name that nothing queued has
// made.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/kind.h"
#include "api/owner.h"
#include "api/value.h"
#include "kube/cache.h"

namespace muster::control::queue {

/// Reads an object from wherever the caller sees it; null when absent.
using FindObject = std::function<api::Value(const api::Key& key)>;

std::string_view queue_name_of(const api::Value& object);

using api::controller_of;

/// True when a job above it in the chain of controllers has a queue name, or is an AppWrapper:
/// what holds quota for the whole holds it for the parts.
bool has_managed_ancestor(const api::Value& object, std::string_view ns, const FindObject& find);

/// Has a queue name of its own, and no managed ancestor.
bool is_managed(const api::Value& object, std::string_view ns, const FindObject& find);

FindObject find_in(const kube::Cache& seen);

}  // namespace muster::control::queue
