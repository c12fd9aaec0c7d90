// apps/cli/command_line.h - the words of a command line, and what they start.
#pragma once

#include <string>
#include <vector>

namespace muster::cli {

/// Runs what the arguments (without the program) say; gives the exit code. Throws Error.
int run(const std::vector<std::string>& arguments);

}  // namespace muster::cli
