// apps/replay/report.h - what a comparison of policies looks like: a table, JSON lines, a plot.
#pragma once

#include <string>
#include <vector>

#include "apps/replay/replay.h"

namespace muster::replay {

/// One policy's figures, and what is drawn of it.
struct Compared {
    std::string policy;
    Summary summary;
    std::vector<std::int64_t> waits;  // Rising, in seconds.
};

/// Aligned columns, one policy a line; times as people say them ("9h15m").
std::string table(const std::vector<Compared>& all);

/// One JSON object a line, times in seconds.
std::string json_lines(const std::vector<Compared>& all);

/// An SVG picture: for each policy the part of all its jobs that waited at most so long (a
/// logarithmic axis from a second to the longest wait).
std::string plot(const std::string& title, const std::vector<Compared>& all);

}  // namespace muster::replay
