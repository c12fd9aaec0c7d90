// decide/scenario_parse.cpp - reads the text of a scenario into steps; knows verbs, not meanings.
#include <algorithm>

#include "base/text.h"
#include "decide/scenario.h"

namespace muster::decide {

namespace {

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : line) {
        if (c == '#') break;
        if (c == ' ' || c == '\t' || c == '\r') {
            if (!word.empty()) words.push_back(std::move(word));
            word.clear();
        } else {
            word += c;
        }
    }
    if (!word.empty()) words.push_back(std::move(word));
    return words;
}

std::variant<Step, ScenarioError> parse_step(std::int64_t number,
                                             const std::vector<std::string>& words) {
    Step step;
    step.line = number;
    step.verb = words.front();
    const auto names = names_of_verb(step.verb);
    if (!names) return ScenarioError{number, "no verb is called '" + step.verb + "'"};
    if (words.size() < 1 + *names) {
        return ScenarioError{number, "'" + step.verb + "' takes " + std::to_string(*names) +
                                         " names, found " + std::to_string(words.size() - 1)};
    }
    const auto first_option = words.begin() + 1 + static_cast<std::ptrdiff_t>(*names);
    step.names.assign(words.begin() + 1, first_option);
    for (auto word = first_option; word != words.end(); ++word) {
        const auto halves = split_first(*word, '=');
        if (!halves) {
            step.options.push_back({*word, {}});
        } else if (halves->before.empty() || halves->after.empty()) {
            return ScenarioError{number, "'" + *word + "' is not of the form key=value"};
        } else {
            step.options.push_back({std::string(halves->before), std::string(halves->after)});
        }
    }
    return step;
}

}  // namespace

std::variant<Scenario, ScenarioError> parse_scenario(std::string_view text) {
    Scenario scenario;
    std::int64_t number = 0;
    while (!text.empty()) {
        ++number;
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (trim(line) == "----") {
            scenario.expected = text;
            return scenario;
        }
        const std::vector<std::string> words = words_of(line);
        if (words.empty()) continue;
        if (words.front() == "on") {
            if (words.size() == 1 || !scenario.steps.empty() || !scenario.on.empty())
                return ScenarioError{number, "'on' names what it runs on, in the first step"};
            scenario.on.assign(words.begin() + 1, words.end());
            continue;
        }
        auto parsed = parse_step(number, words);
        if (auto* error = std::get_if<ScenarioError>(&parsed)) return std::move(*error);
        scenario.steps.push_back(std::get<Step>(std::move(parsed)));
    }
    return ScenarioError{number, "a line '----' and the expected output are missing"};
}

}  // namespace muster::decide
