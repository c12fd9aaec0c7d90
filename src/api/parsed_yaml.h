// api/parsed_yaml.h - for tests: YAML as a value.
#pragma once

#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "api/yaml.h"

namespace muster::api {

inline Value parsed_yaml(std::string_view text) {
    auto result = parse_yaml(text);
    REQUIRE(std::holds_alternative<std::vector<Parsed>>(result));
    return std::get<std::vector<Parsed>>(std::move(result)).at(0).value;
}

}  // namespace muster::api
