// base/text.h - small operations on text that several folders need.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

/// The parts between separators; one part when there is none, also of the empty text.
std::vector<std::string_view> split(std::string_view text, char separator);

/// What stands before and after the first separator; absent when there is none.
struct Halves {
    std::string_view before;
    std::string_view after;
};
std::optional<Halves> split_first(std::string_view text, char separator);
std::optional<Halves> split_last(std::string_view text, char separator);

std::string join(const std::vector<std::string>& parts, std::string_view between);
std::string join(const std::vector<std::string_view>& parts, std::string_view between);

/// Without blanks, tabs and line ends at both ends.
std::string_view trim(std::string_view text);

std::string to_lower(std::string_view text);  // ASCII only.
bool equal_ignoring_case(std::string_view a, std::string_view b);
std::string replace_all(std::string_view text, std::string_view what, std::string_view with);

/// A whole decimal number and nothing else. Absent when it is none or does not fit.
std::optional<std::int64_t> parse_integer(std::string_view text);

/// In quotes with escapes, as Go's %q.
std::string quoted(std::string_view text);

std::string to_hex(std::string_view bytes);

/// With padding; reading also accepts line ends, as Go does. The url form has no padding.
std::string to_base64(std::string_view bytes);
std::string to_base64url(std::string_view bytes);
std::optional<std::string> from_base64(std::string_view text);
std::optional<std::string> from_base64url(std::string_view text);

/// The length of the valid UTF-8 sequence at the start of a text; 0 when there is none.
std::size_t utf8_length(std::string_view text);

/// The whole text is valid UTF-8.
bool is_utf8(std::string_view text);

/// The first bytes of the text, `most` of them or up to three less: no character is cut.
std::string_view utf8_prefix(std::string_view text, std::size_t most);

}  // namespace muster
