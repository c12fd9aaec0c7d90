// test/fuzz/json.cpp - JSON text: what is read is written as text that reads the same.
#include "api/json.h"

#include <variant>

#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const auto parsed = api::parse_json(input);
    const auto event = api::parse_watch_event(input, [](const auto&) { return true; });
    demand(std::holds_alternative<api::ParseError>(parsed) ||
               std::holds_alternative<api::WatchEvent>(event),
           "what is JSON can be looked at as an event");
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
             R"({"a":1,"a":2})", "9223372036854775808",
             R"({"type":"ADDED","object":{"metadata":{"name":"a","managedFields":[{}]}}})",
             "\"\\ud83d\\ude00\""},
            take};
}

}  // namespace muster::fuzz
