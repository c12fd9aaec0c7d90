// apiserver/namespace_room.h - whether a namespace may have more.
#pragma once

#include "api/kind.h"
#include "api/value.h"
#include "apiserver/exchange.h"
#include "base/bytes.h"

namespace muster::apiserver {

/// Throws when the objects of the object's namespace have all that they may (see object_bounds.h),
/// and this one would be new, or longer than it was (`before`; null: new). What the server's own
/// controllers and nodes tell of objects that are there is taken: it must not stop.
void check_namespace_room(const Context& context, const Exchange& exchange, const api::Kind& kind,
                          const api::Value& object, const Bytes& before);

}  // namespace muster::apiserver
