// decide/scenario_write.h - what happened to a state, written down in the scenario language: how a
// failing random case is told.
#pragma once

#include <map>
#include <string>

#include "decide/scenario.h"

namespace muster::decide {

/// Takes changes and decisions in their order. What the language cannot say becomes a comment.
class ScenarioWriter {
public:
    /// Something happened; not what only shows what was decided.
    void write(const Change& change, Time now);
    void cycle(Time now);

    /// All steps, and the line below which expectations would stand.
    std::string text() const { return text_ + "----\n"; }

private:
    friend struct StepOf;
    void line(const std::string& words) { text_ += words + "\n"; }
    void move_clock(Time now);

    std::string text_ = "on decide\n";
    Time clock_ = scenario_start;
    std::map<std::string, Workload> workloads_;  // As last written.
    std::map<std::string, LocalQueue> locals_;   // By "ns/name".
};

}  // namespace muster::decide
