// apiserver/people_roles.h - view, edit and admin, and Kueue's roles of queues: what people get.
#pragma once

#include <vector>

#include "api/value.h"

namespace muster::apiserver {

/// The roles for people, as objects without the metadata that all bootstrap roles share. Those that
/// gather others have the rules that they gather at the start.
std::vector<api::Value> people_roles();

}  // namespace muster::apiserver
