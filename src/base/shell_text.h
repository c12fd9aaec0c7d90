// base/shell_text.h - words of a command line that a user copies into a shell.
#pragma once

#include <string>
#include <string_view>

namespace muster {

/// The text as one word of a POSIX shell: as it is when it has only letters, digits and
/// `_-./:@%+,`, else in single quotes.
std::string shell_quoted(std::string_view text);

}  // namespace muster
