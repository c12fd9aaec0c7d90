// apps/main.cpp - the program `muster`: what the first words mean, and the one place where an error
// becomes an exit code.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "agent/network.h"
#include "apps/cli/command_line.h"

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    try {
        // The node's helper processes are this program too.
        if (const auto code = muster::agent::run_hidden_verb(arguments)) return *code;
        return muster::cli::run(arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
