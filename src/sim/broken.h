// sim/broken.h - what ends a run.
#pragma once

#include <string>

namespace muster::sim {

/// Something that must never be so, or never came true.
struct Broken {
    std::string what;
};

}  // namespace muster::sim
