// apps/main.cpp - the program `muster`: what the first words mean, and the one place where an error
// becomes an exit code.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "agent/network.h"
#include "apps/cli/command_line.h"

/// Read by jemalloc before anything is allocated. Objects are made on one thread and dropped on
/// another: few arenas let them find each other's room, and what is free goes back within a second,
/// also when nothing happens (docs/decisions/0007-jemalloc.md).
extern "C" {
const char* malloc_conf = "narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:0,background_thread:true";
}

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
