// api/shared_parts.h - equal parts of the many objects of a cache are one: pod templates,
// conditions, shares of a quota.
#pragma once

#include <cstddef>

#include "api/value.h"

namespace muster::api {

/// Seals `value`, and lets each of its larger parts be the very one of an equal value that went
/// through this on the same thread and still lives. Of thousands of jobs with the same template,
/// one template is kept. Members keep their order; what is equal in another order is not shared.
/// The whole, its metadata and its status are not looked for, only what they are made of.
void share_parts(Value& value);

/// How many parts this thread knows now; at most twice as many as are in use, or a thousand.
std::size_t known_parts();

}  // namespace muster::api
