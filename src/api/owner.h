// api/owner.h - reading owner references.
#pragma once

#include <string_view>

#include "api/value.h"

namespace muster::api {

/// The owner reference of the object's controller; null when it has none.
const Value& controller_of(const Value& object);

/// The object has an owner with this uid, controlling or not.
bool is_owned_by(const Value& object, std::string_view owner_uid);

}  // namespace muster::api
