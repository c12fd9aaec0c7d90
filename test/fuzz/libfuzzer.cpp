// test/fuzz/libfuzzer.cpp - libFuzzer's way in: the environment's FUZZ names the target, and its
// seeds are written into the folder FUZZ_CORPUS first.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "test/fuzz/target.h"

namespace {

muster::fuzz::Target chosen_target() {
    const char* name = std::getenv("FUZZ");
    for (const muster::fuzz::Target& target : muster::fuzz::all_targets()) {
        if (name != nullptr && target.name == name) return target;
    }
    std::fputs("FUZZ must name a target; there are:\n", stderr);
    for (const muster::fuzz::Target& target : muster::fuzz::all_targets())
        std::fprintf(stderr, "%s\n", target.name.c_str());
    std::exit(2);
}

const muster::fuzz::Target& target() {
    static const muster::fuzz::Target chosen = chosen_target();
    return chosen;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    const char* folder = std::getenv("FUZZ_CORPUS");
    int number = 0;
    for (const std::string& seed : target().seeds) {
        if (folder != nullptr)
            std::ofstream(std::string(folder) + "/seed-" + std::to_string(number++)) << seed;
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    target().take({reinterpret_cast<const char*>(data), size});
    return 0;
}
