// sim/scenario_test.cpp - every scenario comes out in the simulated world as its file says, and on
// bad days it ends in the same state.
#include <cstdlib>

#include <doctest/doctest.h>

#include "sim/scenario_files.h"
#include "sim/scenario_play.h"

namespace muster::sim {
namespace {

/// All files, or with SCENARIO=word those whose name has the word.
std::vector<ScenarioFile> chosen_files() {
    std::vector<ScenarioFile> files = scenario_files();
    CHECK(files.size() >= 20);
    if (const char* only = std::getenv("SCENARIO")) {
        std::erase_if(files, [only](const ScenarioFile& file) {
            return file.name.find(only) == std::string::npos;
        });
    }
    return files;
}

}  // namespace

TEST_CASE("every scenario comes out in the simulated world as its file says") {
    for (const ScenarioFile& file : chosen_files())
        CHECK(play_calm(file) == "");
}

TEST_CASE("on a bad day every scenario ends as on a calm one") {
    for (const ScenarioFile& file : chosen_files())
        CHECK(play_faulty(file, 1) == "");
}

}  // namespace muster::sim
