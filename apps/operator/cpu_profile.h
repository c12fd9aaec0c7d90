// apps/operator/cpu_profile.h - where this process spends its CPU time, in a format that
// `go tool pprof` reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace muster::on_cluster {

/// One call stack, innermost first, and how often it was met.
struct SampledStack {
    std::vector<std::uintptr_t> places;
    std::uint64_t count = 0;
};

/// The profile of gperftools: stacks as machine words, then `maps` (/proc/self/maps), by which
/// pprof finds the programs.
std::string profile_text(const std::vector<SampledStack>& stacks, Duration period,
                         const std::string& maps);

/// Looks at all threads a hundred times per second of CPU time that they spend together, from
/// `start_sampling` to `stop_sampling`. One at a time in a process: start says whether it began.
/// What does not fit in the room for `longest` of four busy cores is not counted.
bool start_sampling(Duration longest);
std::vector<SampledStack> stop_sampling();
constexpr Duration sampling_period = milliseconds(10);

}  // namespace muster::on_cluster
