// api/told.h - how many of an object's faults a client is told.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster::api {

/// A client is told at most so many faults of each sort (unknown fields, duplicate fields), as by
/// Kubernetes. A body of three megabytes has hundreds of thousands of them, each with a path as
/// long as the body.
inline constexpr std::size_t told_max = 100;
inline constexpr std::size_t told_bytes_max = 64 << 10;

/// Whether one more path is told after these.
inline bool tells_more(const std::vector<std::string>& told) {
    if (told.size() >= told_max) return false;
    std::size_t size = 0;
    for (const std::string& each : told)
        size += each.size();
    return size < told_bytes_max;
}

}  // namespace muster::api
