// api/json.h - JSON text to value tree and back.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/value.h"

namespace muster::api {

/// Why a text is not the JSON it should be.
struct ParseError {
    std::string text;  // "unexpected end of JSON input (line 3, column 7)"
};

/// A parsed document and the paths of members that stood twice ("spec.replicas"; the last one won).
struct Parsed {
    Value value;
    std::vector<std::string> duplicates;
};

/// Parses one JSON document. Depth is limited to 1,000 levels; invalid UTF-8 is an error. An
/// integer beyond int64 becomes a real.
std::variant<Parsed, ParseError> parse_json(std::string_view text);

/// Compact JSON, members in order.
std::string to_json(const Value& value);
void append_json(std::string& out, const Value& value);

/// Indented JSON, as kubectl -o json prints it (4 blanks).
std::string to_pretty_json(const Value& value);

}  // namespace muster::api
