// base/shell_text.cpp - single quotes around what a shell would read as more than a word.
#include "base/shell_text.h"

#include "base/text.h"

namespace muster {

std::string shell_quoted(std::string_view text) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@%+,";
    if (!text.empty() && text.find_first_not_of(plain) == std::string_view::npos)
        return std::string(text);
    return "'" + replace_all(text, "'", R"('\'')") + "'";
}

}  // namespace muster
