// test/fuzz/names_of_world.h - the same change in a world of its own: every name gets a prefix,
// only resources and labels' keys are shared.
#pragma once

#include <string>

#include "decide/change.h"

namespace muster::fuzz {

struct NamesOfWorld {
    std::string prefix;

    /// "" stays "".
    std::string of(const std::string& name) const { return name.empty() ? name : prefix + name; }
    decide::Assignment of(decide::Assignment assignment) const;
    decide::Change of(const decide::Change& change) const;
};

}  // namespace muster::fuzz
