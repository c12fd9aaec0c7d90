// api/yaml_scalar.h - what a plain YAML scalar means to Kubernetes: the rules of go-yaml v2.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

namespace muster::api {

/// Null (monostate), boolean, integer, real, or text. An integer beyond int64 is a real.
struct YamlText {};       // The scalar's own text.
struct YamlTimestamp {};  // Text too, but must be quoted to be so.
struct YamlMerge {};      // "<<"
using YamlScalar =
    std::variant<std::monostate, bool, std::int64_t, double, YamlText, YamlTimestamp, YamlMerge>;

YamlScalar resolve_plain_scalar(std::string_view text);

/// "1:30": a number to older readers; such text is written in quotes.
bool is_base60(std::string_view text);

}  // namespace muster::api
