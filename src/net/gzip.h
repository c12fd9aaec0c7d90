// net/gzip.h - compressed bodies: gzip out, gzip in.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace muster::net {

std::string gzip(std::string_view text);

/// Absent when it is not gzip, is cut short, or would be larger than `limit`.
std::optional<std::string> gunzip(std::string_view bytes, std::size_t limit);

}  // namespace muster::net
