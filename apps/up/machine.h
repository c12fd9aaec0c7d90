// apps/up/machine.h - what this machine is: its name, addresses, processors and memory.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace muster::up {

std::string machine_name();  // Lower case, fit for a node's name.

/// All addresses of its interfaces.
std::vector<std::string> machine_addresses();

/// What the objects of one namespace may be, where the configuration does not say it: a sixteenth
/// of the memory, and 256 MiB at least.
std::size_t usual_bytes_per_namespace();

/// It as a node declaration: "name:cpu=8,memory=16384000Ki,pods=110,nvidia.com/gpu=1".
std::string machine_declaration();

}  // namespace muster::up
