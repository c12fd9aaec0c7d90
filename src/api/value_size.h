// api/value_size.h - how large a value is: to be known before it is copied, compared or written.
#pragma once

#include <cstddef>

#include "api/value.h"

namespace muster::api {

/// Bytes that a copy takes; counts no further than `limit`. Texts are shared by copies.
std::size_t copy_size(const Value& value, std::size_t limit);

/// Bytes of a value written out as text, about; counts no further than `limit`.
std::size_t written_size(const Value& value, std::size_t limit);

/// Values in it, long texts as many; counts no further than `limit`.
std::size_t values_in(const Value& value, std::size_t limit);

}  // namespace muster::api
