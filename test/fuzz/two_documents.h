// test/fuzz/two_documents.h - an input of two JSON documents, parted by a zero byte.
#pragma once

#include <string_view>
#include <utility>
#include <variant>

#include "api/json.h"
#include "api/kind.h"

namespace muster::fuzz {

/// False when the input is not two documents.
inline bool split_input(std::string_view input, api::Value& first, api::Value& second) {
    const std::size_t at = input.find('\0');
    if (at == std::string_view::npos) return false;
    auto left = api::parse_json(input.substr(0, at));
    auto right = api::parse_json(input.substr(at + 1));
    auto* one = std::get_if<api::Parsed>(&left);
    auto* two = std::get_if<api::Parsed>(&right);
    if (one == nullptr || two == nullptr) return false;
    first = std::move(one->value);
    second = std::move(two->value);
    return true;
}

inline const api::Schema& pod_schema() {
    return *api::find_kind("", "pods")->versions.front().schema;
}

}  // namespace muster::fuzz
