// api/kueue/topology.h - the two forms of a topology assignment: a list of domains (v1beta1) and
// compressed slices (v1beta2).
#pragma once

#include <cstddef>

#include "api/value.h"

namespace muster::api {

/// What both forms may have at most, and so is converted at most.
inline constexpr std::size_t topology_levels_max = 16;
/// How many domains an object is shown with in v1beta1. Slices say a number and not each domain:
/// without this a few bytes would be a thousand times a hundred thousand domains.
inline constexpr std::size_t topology_domains_max = 100'000;

/// {levels, domains: [{values, count}]} as {levels, slices: [{domainCount, valuesPerLevel,
/// podCounts}]}: what all domains share is said once. Loses nothing that the schema allows.
Value compressed_topology(const Value& assignment);

/// The way back, from any legal split into slices. Domains keep their order; those after the first
/// `most` are left out.
Value expanded_topology(const Value& assignment, std::size_t most = topology_domains_max);

}  // namespace muster::api
