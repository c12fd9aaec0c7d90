// decide/scenario_read.h - the words of a scenario step as values; the first wrong one is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/amount.h"
#include "base/time.h"
#include "decide/place/pod.h"
#include "decide/scenario.h"
#include "decide/workload.h"

namespace muster::decide {

/// Reads the options of one step. After something wrong every reading gives a plain default.
class Reading {
public:
    explicit Reading(const Step& step) : line_(step.line) {}

    void wrong(const std::string& text);
    const std::optional<ScenarioError>& error() const { return error_; }

    std::int64_t integer(std::string_view text);
    Amount amount(std::string_view resource, std::string_view text);
    Duration duration(std::string_view text);
    std::pair<std::string, std::string> label(std::string_view text);
    Taint taint(std::string_view text);
    Toleration toleration(std::string_view text);
    StopPolicy stop(std::string_view text);

private:
    std::int64_t line_;
    std::optional<ScenarioError> error_;
};

}  // namespace muster::decide
