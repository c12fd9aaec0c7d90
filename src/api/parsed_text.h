// api/parsed_text.h - for tests: JSON as a value.
#pragma once

#include <string_view>
#include <utility>
#include <variant>

#include <doctest/doctest.h>

#include "api/json.h"

namespace muster::api {

inline Value parsed(std::string_view text) {
    auto result = parse_json(text);
    REQUIRE(std::holds_alternative<Parsed>(result));
    return std::get<Parsed>(std::move(result)).value;
}

}  // namespace muster::api
