// sim/scenario_play.cpp - comparing what came with what was expected.
#include "sim/scenario_play.h"

#include <algorithm>
#include <set>
#include <utility>

#include "api/json.h"
#include "base/hash.h"
#include "sim/scenario_ground.h"

namespace muster::sim {
namespace {

using decide::Scenario;
using decide::ScenarioError;

struct Came {
    std::string printed;
    std::string rest;
};

Came play(const Scenario& scenario, std::uint64_t seed, const Faults& faults) {
    Came came;
    try {
        SimGround ground(seed, faults);
        auto result = decide::run_scenario(scenario, ground);
        if (const auto* error = std::get_if<ScenarioError>(&result)) {
            came.printed = "line " + std::to_string(error->line) + ": " + error->text + "\n";
            return came;
        }
        came.printed = std::get<std::string>(std::move(result));
        came.rest = ground.rest();
    } catch (const Broken& broken) {
        came.printed = "broken: " + broken.what + "\n";
    }
    return came;
}

/// Times in texts are the clock's, and on bad days that is far behind the scenario's.
std::string without_times(std::string text) {
    constexpr std::size_t length = std::string_view("2020-01-01T00:00:00Z").size();
    for (std::size_t at = text.find("2020-01-"); at != std::string::npos;
         at = text.find("2020-01-", at))
        text.replace(at, length, "TIME");
    return text;
}

/// What comes out hangs on the clock.
bool is_timed(const Scenario& scenario) {
    const std::set<std::string> timed = {"advance", "backoff"};
    return std::any_of(scenario.steps.begin(), scenario.steps.end(), [&](const decide::Step& step) {
        return timed.contains(step.verb) ||
               std::any_of(step.options.begin(), step.options.end(),
                           [](const auto& option) { return option.key == "slope"; });
    });
}

/// Faults that leave nodes and clocks alone: those a scenario speaks of itself. A cycle is short,
/// so crashes are frequent.
Faults bad_day(std::uint64_t seed) {
    Random random(seed ^ 0x5eed);
    Faults faults = Faults::draw(random);
    faults.node_loss_every = {};
    faults.clock_jump_every = {};
    if (faults.control_crash_every > Duration{}) faults.control_crash_every = seconds(3);
    if (faults.server_crash_every > Duration{}) faults.server_crash_every = seconds(7);
    return faults;
}

std::string differ(const ScenarioFile& file, const std::string& came, const std::string& wanted,
                   const std::string& when) {
    if (came == wanted) return {};
    return "scenario " + file.name + " " + when + " came out as\n" + came + "---- instead of\n" +
           wanted;
}

}  // namespace

bool runs_on(const Scenario& scenario, std::string_view ground) {
    return scenario.on.empty() ||
           std::find(scenario.on.begin(), scenario.on.end(), ground) != scenario.on.end();
}

std::variant<Scenario, std::string> read_scenario(const ScenarioFile& file) {
    auto parsed = decide::parse_scenario(file.text);
    if (const auto* error = std::get_if<ScenarioError>(&parsed))
        return file.name + ":" + std::to_string(error->line) + ": " + error->text;
    return std::get<Scenario>(std::move(parsed));
}

std::string play_calm(const ScenarioFile& file) {
    const auto read = read_scenario(file);
    if (const auto* wrong = std::get_if<std::string>(&read)) return *wrong;
    const Scenario& scenario = std::get<Scenario>(read);
    const Came came = play(scenario, 1, Faults::none());
    const std::string wanted = comparable(scenario.expected);
    if (runs_on(scenario, "sim") || runs_on(scenario, "calm"))
        return differ(file, comparable(came.printed), wanted, "on sim");
    // A verb is missing, or the controllers around the planner do more than it does alone.
    if (comparable(came.printed) != wanted) return {};
    return "scenario " + file.name + " says that it does not come out so on sim, and it does";
}

std::vector<std::string> record(const ScenarioFile& file) {
    using api::Value;
    const auto read = read_scenario(file);
    if (const auto* wrong = std::get_if<std::string>(&read)) throw Broken{*wrong};
    const Scenario& scenario = std::get<Scenario>(read);
    Value verbs = Value::array();
    Value grounds = Value::array();
    std::set<std::string> different;
    for (const decide::Step& step : scenario.steps)
        different.insert(step.verb);
    for (const std::string& verb : different)
        verbs.push(verb);
    for (const std::string& ground : scenario.on)
        grounds.push(ground);
    std::vector<std::string> lines{
        api::to_json(Value::object({{"name", file.name}, {"on", grounds}, {"verbs", verbs}}))};
    if (!runs_on(scenario, "sim") && !runs_on(scenario, "calm")) return lines;
    SimGround ground(1, Faults::none());
    ground.record([&lines](const Value& line) { lines.push_back(api::to_json(line)); });
    auto result = decide::run_scenario(scenario, ground);
    if (const auto* error = std::get_if<ScenarioError>(&result))
        throw Broken{file.name + ":" + std::to_string(error->line) + ": " + error->text};
    return lines;
}

std::string play_faulty(const ScenarioFile& file, std::uint64_t seed) {
    const auto read = read_scenario(file);
    if (const auto* wrong = std::get_if<std::string>(&read)) return *wrong;
    const Scenario& scenario = std::get<Scenario>(read);
    if (!runs_on(scenario, "sim")) return {};
    const std::uint64_t day = stable_hash(file.name, seed);
    const Faults faults = bad_day(day);
    const Came calm = play(scenario, 1, Faults::none());
    const Came came = play(scenario, day, faults);
    const std::string when = "with " + faults.text();
    if (!is_timed(scenario)) {
        if (std::string broken = differ(file, came.printed, calm.printed, when); !broken.empty())
            return broken;
    }
    return differ(file, without_times(came.rest), without_times(calm.rest), "in the end " + when);
}

}  // namespace muster::sim
