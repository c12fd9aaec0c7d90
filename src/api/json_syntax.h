// api/json_syntax.h - where and why a text is not JSON: the careful reader behind the fast parser.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster::api {

/// The first fault in a text, or none.
struct JsonSyntax {
    std::optional<std::string> fault;  // In the words of Go's encoding/json, with line and column.
    std::vector<std::size_t> long_integers;  // Ends of integers of 19 digits and more.
};

/// Reads a whole text without building anything. Deeper than `depth_max` levels is a fault.
JsonSyntax check_json_syntax(std::string_view text, int depth_max);

/// "line 3, column 7" of a byte offset; both count from 1, columns in bytes.
std::string line_and_column(std::string_view text, std::size_t offset);

}  // namespace muster::api
