// api/kueue/topology.h - the two forms of a topology assignment: a list of domains (v1beta1) and
// compressed slices (v1beta2).
#pragma once

#include "api/value.h"

namespace muster::api {

/// {levels, domains: [{values, count}]} as {levels, slices: [{domainCount, valuesPerLevel,
/// podCounts}]}: what all domains share is said once. Loses nothing.
Value compressed_topology(const Value& assignment);

/// The way back, from any legal split into slices. Domains keep their order.
Value expanded_topology(const Value& assignment);

}  // namespace muster::api
