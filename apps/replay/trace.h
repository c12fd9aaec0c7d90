// apps/replay/trace.h - the jobs of a recorded cluster trace, as values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace muster::replay {

struct TraceJob {
    std::int64_t submitted = 0;  // Seconds after the first submission.
    std::int64_t duration = 0;   // Seconds that it ran, or would run without interruption.
    std::int64_t amount = 0;     // Of the trace's resource.
    std::int64_t priority = 0;   // 0 where the trace has none.
    std::string queue;
    friend bool operator==(const TraceJob&, const TraceJob&) = default;
};

struct Trace {
    std::string resource;        // "nvidia.com/gpu" or "cpu"
    std::vector<TraceJob> jobs;  // By submission; equal ones as in the file.
    std::int64_t left_out = 0;   // Lines of jobs that never ran: no duration or no resource.
};

/// Reads a trace: CSV with a header (columns `timestamp` or `submit_time`, `duration`, `num_gpus`
/// or `num_cpus`, and if there `cluster`, `vc`, `queue` or `user`, and `priority`), or the Standard
/// Workload Format (processors; its queue field). Throws Error with the line that is wrong.
Trace parse_trace(std::string_view text);

/// The same of a file, which may be compressed with gzip. Throws Error when it cannot be read.
Trace read_trace(const std::filesystem::path& file);

}  // namespace muster::replay
