// sim/scenario_files.h - the scenario files of the project, found from wherever in it one runs.
#pragma once

#include <string>
#include <vector>

namespace muster::sim {

struct ScenarioFile {
    std::string name;  // "order/strict_waits_behind_the_head"
    std::string text;
};

/// All of them, by name; none when this is not run inside the project.
std::vector<ScenarioFile> scenario_files();

}  // namespace muster::sim
