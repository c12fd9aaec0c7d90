// test/fuzz/json_path.cpp - JSONPath of columns and `kubectl wait`: a path, a zero byte, a
// document.
#include "api/json_path.h"

#include <variant>

#include "api/json.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const std::size_t at = input.find('\0');
    if (at == std::string_view::npos) return;
    const auto parsed = api::parse_json(input.substr(at + 1));
    const auto* document = std::get_if<api::Parsed>(&parsed);
    if (document == nullptr) return;
    for (const api::Value* found : api::find_by_json_path(document->value, input.substr(0, at)))
        demand(found != nullptr && !api::to_json(*found).empty(), "what is found is a value");
}

}  // namespace

Target json_path_target() {
    return {"json_path",
            {std::string(".status.conditions[?(@.type=='Ready')].status") + '\0' +
                 R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})",
             std::string(".a[*].b[0]") + '\0' + R"({"a":[{"b":[1]},{"b":[2]}]})",
             std::string("{.a['x.y']}") + '\0' + R"({"a":{"x.y":3}})",
             std::string(".a[-2:].b[1:9223372036854775807:9223372036854775807]") + '\0' +
                 R"({"a":[{"b":[1]},{"b":[2,3]}]})"},
            take};
}

}  // namespace muster::fuzz
