// apiserver/scale.h - an object as autoscaling/v1 Scale.
#pragma once

#include <cstdint>

#include "api/kind.h"
#include "api/value.h"

namespace muster::apiserver {

/// `object` is in any version of the kind, which has a scale.
api::Value scale_of(const api::Kind& kind, const api::Value& object);
void set_scale(const api::Kind& kind, api::Value& object, std::int64_t replicas);

}  // namespace muster::apiserver
