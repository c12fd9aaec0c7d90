// apps/replay/replay_command.h - `muster replay`: a recorded trace under several policies,
// compared.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muster::replay {

struct ReplayOptions {
    std::string trace;                  // A file.
    std::int64_t capacity = 512;        // Of the trace's resource.
    std::vector<std::string> policies;  // By name; empty: all.
    std::string output = "table";       // or "json"
    std::string plot;                   // A file to draw to; empty: none.
};

/// Returns the exit code. Throws Error when an option or the trace is wrong.
int run_replay(const ReplayOptions& options);

}  // namespace muster::replay
