// apiserver/guarded_parts.h - what a write leaves as it was, because another way of writing guards
// it: the status beside a write of the object, the rest beside a write of the status.
#pragma once

#include <string_view>

#include "api/kind.h"
#include "api/value.h"

namespace muster::apiserver {

/// The parts of an object that its subresources guard are again as in `old`.
void keep_guarded_parts(const api::Kind& kind, std::string_view subresource, const api::Value& old,
                        api::Value& object);

/// Of a namespace's spec only `finalize` says anything. Who wrote more owns it all the same.
void keep_namespace_spec(const api::Kind& kind, std::string_view subresource, const api::Value& old,
                         api::Value& object);

}  // namespace muster::apiserver
