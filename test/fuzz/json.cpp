// test/fuzz/json.cpp - JSON text: what is read is written as text that reads the same.
#include "api/json.h"

#include <variant>

#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const auto parsed = api::parse_json(input);
    const auto* document = std::get_if<api::Parsed>(&parsed);
    if (document == nullptr) return;
    for (const std::string& text :
         {api::to_json(document->value), api::to_pretty_json(document->value)}) {
        const auto again = api::parse_json(text);
        const auto* same = std::get_if<api::Parsed>(&again);
        demand(same != nullptr, "what was written is JSON");
        demand(same->value == document->value, "what was written reads the same");
    }
}

}  // namespace

Target json_target() {
    return {"json",
            {R"({"a":[1,-2.5e3,"x\u00e9\n",null,true],"b":{"c":{}}})", R"([[[["deep"]]]])",
             R"({"a":1,"a":2})", "9223372036854775808", "\"\\ud83d\\ude00\""},
            take};
}

}  // namespace muster::fuzz
