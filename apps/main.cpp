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
const char* malloc_conf = "narenas:2,dirty_decay_ms:1000,muzzy_decay_ms:0";
__attribute__((weak)) int mallctl(const char*, void*, std::size_t*, void*, std::size_t);
}

namespace {

/// Free pages go back by a thread of the allocator's own. Not in the node's helper processes: those
/// fork, and a lock that such a thread holds at that moment would never be free in the child.
void give_back_in_background() {
    bool on = true;
    if (mallctl != nullptr) mallctl("background_thread", nullptr, nullptr, &on, sizeof(on));
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    try {
        // The node's helper processes are this program too.
        if (const auto code = muster::agent::run_hidden_verb(arguments)) return *code;
        give_back_in_background();
        return muster::cli::run(arguments);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
