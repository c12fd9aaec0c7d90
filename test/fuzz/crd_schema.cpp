// test/fuzz/crd_schema.cpp - schemas that definitions bring: a schema, a zero byte, an object.
#include "api/apiextensions/crd_schema.h"

#include <variant>

#include "api/json.h"
#include "api/rules.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const std::size_t at = input.find('\0');
    const auto document = api::parse_json(input.substr(0, at));
    const auto* schema_text = std::get_if<api::Parsed>(&document);
    if (schema_text == nullptr) return;
    const auto read = api::read_crd_schema(schema_text->value);
    const auto* schema = std::get_if<std::shared_ptr<const api::Schema>>(&read);
    if (schema == nullptr || at == std::string_view::npos) return;
    auto object = api::parse_json(input.substr(at + 1));
    auto* parsed = std::get_if<api::Parsed>(&object);
    if (parsed == nullptr) return;
    api::Value& value = parsed->value;
    api::prune(**schema, value);
    demand(api::unknown_fields(**schema, value).empty(), "what was pruned has no unknown fields");
    api::apply_defaults(**schema, value);
    if (api::validate(**schema, value).empty())
        static_cast<void>(api::broken_rules(**schema, value, &value));
}

}  // namespace

Target crd_schema_target() {
    return {
        "crd_schema",
        {std::string(R"({"type":"object","properties":{"spec":{"type":"object","required":["a"],)"
                     R"("properties":{"a":{"type":"string","pattern":"^a","default":"a"},)"
                     R"("l":{"type":"array","x-kubernetes-list-type":"map",)"
                     R"("x-kubernetes-list-map-keys":["k"],"items":{"type":"object",)"
                     R"("required":["k"],"properties":{"k":{"type":"string"}}}}},)"
                     R"("x-kubernetes-validations":[{"rule":"self.a != 'b'"}]}}})") +
             '\0' + R"({"spec":{"a":"ab","l":[{"k":"1"}],"x":1}})",
         std::string(R"({"type":"object","properties":{"s":{"x-kubernetes-int-or-string":true},)"
                     R"("m":{"type":"object","additionalProperties":{"type":"integer"},)"
                     R"("oneOf":[{"required":["a"]},{"not":{"minProperties":2}}]},)"
                     R"("o":{"type":"object","x-kubernetes-embedded-resource":true,)"
                     R"("x-kubernetes-preserve-unknown-fields":true}}})") +
             '\0' + R"({"s":"1%","m":{"a":1},"o":{"apiVersion":"v1","kind":"P","spec":{}}})"},
        take};
}

}  // namespace muster::fuzz
