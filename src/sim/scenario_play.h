// sim/scenario_play.h - a scenario file played in the simulated world, on a calm day and on bad
// ones.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "decide/scenario.h"
#include "sim/scenario_files.h"

namespace muster::sim {

/// False when the file says that it runs on other grounds only.
bool runs_on(const decide::Scenario& scenario, std::string_view ground);

/// The file's scenario, or "FILE:LINE: what is wrong" when it is none.
std::variant<decide::Scenario, std::string> read_scenario(const ScenarioFile& file);

/// Plays it on a calm day. Empty when all came out as the file says, or when it says that it does
/// not run here and is refused.
std::string play_calm(const ScenarioFile& file);

/// What another server is to be told and to say, a line of JSON each: first {"name", "on",
/// "verbs"}, then the lines of `SimGround::record`. Only the first when it does not run here.
std::vector<std::string> record(const ScenarioFile& file);

/// Plays it on a bad day of that seed. Empty when it ended as on a calm one, and, where nothing
/// hangs on the clock, each step did.
std::string play_faulty(const ScenarioFile& file, std::uint64_t seed);

}  // namespace muster::sim
