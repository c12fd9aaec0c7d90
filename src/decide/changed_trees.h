// decide/changed_trees.h - which trees a change of quotas, flavors, topologies or checks concerns:
// only they are tried again. Only apply.cpp includes this.
#pragma once

#include <string>

#include "decide/world.h"

namespace muster::decide {

/// Of a queue or a cohort whose quotas change, or which is about to get another parent.
void change_tree(World& world, QuotaNode node);

void change_trees_with_flavor(World& world, FlavorId flavor);
void change_trees_with_topology(World& world, const std::string& topology);
void change_trees_with_check(World& world, const std::string& check);

}  // namespace muster::decide
