// api/cel_text.h - texts as they are written in CEL: quotes, escapes, raw ones.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace muster::api {

/// What a text says and how much of the source it takes, or what is wrong with it.
struct CelText {
    std::string text;
    std::size_t length = 0;
    std::string error;
};

/// Requires: `source` begins with a quote, or with r and a quote.
CelText read_cel_text(std::string_view source);

/// Code points of a text.
std::size_t characters_in(std::string_view text);

}  // namespace muster::api
