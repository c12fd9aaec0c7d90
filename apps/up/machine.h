// apps/up/machine.h - what this machine is: its name, addresses, processors and memory.
#pragma once

#include <string>
#include <vector>

namespace muster::up {

std::string machine_name();  // Lower case, fit for a node's name.

/// All addresses of its interfaces.
std::vector<std::string> machine_addresses();

/// It as a node declaration: "name:cpu=8,memory=16384000Ki,pods=110,nvidia.com/gpu=1".
std::string machine_declaration();

}  // namespace muster::up
