// decide/scenario_test.cpp - every scenario file comes out as it says; no text breaks the parser.
#include "decide/scenario.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster::decide {

namespace {

namespace fs = std::filesystem;

/// The project's scenarios, found from wherever in it the test runs.
fs::path scenario_folder() {
    for (fs::path at = fs::current_path(); at != at.root_path(); at = at.parent_path()) {
        if (fs::exists(at / "CMakePresets.json")) return at / "scenarios";
    }
    return {};
}

std::vector<fs::path> scenario_files() {
    std::vector<fs::path> files;
    const fs::path folder = scenario_folder();
    REQUIRE_MESSAGE(fs::exists(folder), "run this test inside the project");
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (entry.path().extension() == ".scenario") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
}

std::string outcome(std::string_view text) {
    const auto parsed = parse_scenario(text);
    if (const auto* error = std::get_if<ScenarioError>(&parsed)) {
        return "line " + std::to_string(error->line) + ": " + error->text + "\n";
    }
    DecideGround ground;
    const auto result = run_scenario(std::get<Scenario>(parsed), ground);
    if (const auto* error = std::get_if<ScenarioError>(&result)) {
        return "line " + std::to_string(error->line) + ": " + error->text + "\n";
    }
    return std::get<std::string>(result);
}

}  // namespace

TEST_CASE("every scenario comes out as its file says") {
    const auto files = scenario_files();
    CHECK(files.size() >= 20);
    for (const fs::path& file : files) {
        const std::string text = read(file);
        const std::string came = outcome(text);
        const auto mark = text.find("\n----\n");
        if (std::getenv("UPDATE_SCENARIOS") != nullptr) {
            const std::string head = text.substr(0, mark == std::string::npos ? mark : mark + 1);
            std::ofstream(file) << head << "----\n" << came;
            continue;
        }
        REQUIRE_MESSAGE(mark != std::string::npos, file.string());
        if (text.find("\non sim\n") != std::string::npos) {
            CHECK_MESSAGE(came.find("cannot be run on decide") != std::string::npos, file.string());
            continue;
        }
        CHECK_MESSAGE(came == text.substr(mark + 6), file.string());
    }
}

TEST_CASE("errors name the line and what is wrong") {
    CHECK(outcome("queue q cpu=1\nfly away\n----\n") == "line 2: no verb is called 'fly'\n");
    CHECK(outcome("submit a\n----\n") == "line 1: 'submit' takes 2 names, found 1\n");
    CHECK(outcome("queue q cpu=x\n----\n") == "line 1: 'x' is not a quantity\n");
    CHECK(outcome("queue q cpu=\n----\n") == "line 1: 'cpu=' is not of the form key=value\n");
    CHECK(outcome("finish a\n----\n") == "line 1: 'a' was not submitted\n");
    CHECK(outcome("cycle\n") == "line 1: a line '----' and the expected output are missing\n");
}

TEST_CASE("no text breaks the parser or the run") {
    const std::vector<std::string> words = {
        "queue",
        "flavor",
        "submit",
        "node",
        "cycle",
        "finish",
        "delete",
        "release",
        "a",
        "b",
        "default",
        "cpu=1",
        "cpu=2",
        "count=2",
        "gang",
        "-",
        "strict",
        "stop=hold_and_drain",
        "why",
        "show",
        "pod",
        "of=a",
        "gone",
        "fail",
        "#",
        "=",
        "cpu=-1",
        "memory=9Ei",
        "group",
        "flavor=x",
        "cohort=c",
        "backoff",
        "5s",
        "advance",
        "deactivate",
        "activate",
        "set=w",
        "priority",
        "3",
        "remove",
        "local",
        "a/b",
        "cpu=1@default",
        "admitted",
        "reclaim",
        "options",
    };
    for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
        Random random(seed);
        std::string text = "queue a cpu=3\nsubmit b a cpu=1\n";
        for (std::uint64_t line = 0; line < random.below(12); ++line) {
            for (std::uint64_t word = 0; word <= random.below(6); ++word) {
                text += words[random.below(words.size())] + " ";
            }
            text += "\n";
        }
        if (random.below(10) != 0) text += "cycle\n----\n";
        if (random.below(4) == 0)
            text[random.below(text.size())] = static_cast<char>(random.below(256));
        const std::string came = outcome(text);
        CHECK_MESSAGE(came.find("invariant") == std::string::npos, text, came);
        CHECK(came == outcome(text));
    }
}

}  // namespace muster::decide
