// decide/scenario_read.cpp - reads integers, amounts, durations, labels and taints of a scenario.
#include "decide/scenario_read.h"

#include <charconv>

#include "base/quantity.h"
#include "base/text.h"

namespace muster::decide {

void Reading::wrong(const std::string& text) {
    if (!error_) error_ = ScenarioError{line_, text};
}

std::int64_t Reading::integer(std::string_view text) {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size()) {
        wrong("'" + std::string(text) + "' is not an integer");
    }
    return value;
}

Amount Reading::amount(std::string_view resource, std::string_view text) {
    const auto quantity = Quantity::parse(text);
    if (!quantity) {
        wrong("'" + std::string(text) + "' is not a quantity");
        return {};
    }
    return {resource == "cpu" ? quantity->milli() : quantity->units()};
}

Duration Reading::duration(std::string_view text) {
    const auto parsed = parse_go_duration(text);
    if (!parsed || *parsed < Duration{} || *parsed > hours(24 * 365)) {
        wrong("'" + std::string(text) + "' is not a duration such as 30s, of at most a year");
        return {};
    }
    return *parsed;
}

std::pair<std::string, std::string> Reading::label(std::string_view text) {
    const auto halves = split_first(text, ':');
    if (!halves) return {std::string(text), {}};
    return {std::string(halves->before), std::string(halves->after)};
}

Taint Reading::taint(std::string_view text) {
    const auto parts = split(text, ':');
    Taint made;
    if (parts.size() != 3) {
        wrong("'" + std::string(text) + "' is not of the form key:value:effect");
        return made;
    }
    made.key = parts[0];
    made.value = parts[1];
    if (parts[2] == "NoExecute") {
        made.effect = Taint::Effect::no_execute;
    } else if (parts[2] == "PreferNoSchedule") {
        made.effect = Taint::Effect::prefer_no_schedule;
    } else if (parts[2] != "NoSchedule") {
        wrong("'" + std::string(parts[2]) + "' is not a taint effect");
    }
    return made;
}

Toleration Reading::toleration(std::string_view text) {
    if (text == "all") return {"", Toleration::Op::exists, "", Toleration::Effect::any};
    const Taint that = taint(text);
    return {that.key, Toleration::Op::equal, that.value, Toleration::Effect::any};
}

StopPolicy Reading::stop(std::string_view text) {
    if (text == "hold") return StopPolicy::hold;
    if (text == "hold_and_drain") return StopPolicy::hold_and_drain;
    if (text != "none") wrong("'" + std::string(text) + "' is not a stop policy");
    return StopPolicy::none;
}

}  // namespace muster::decide
