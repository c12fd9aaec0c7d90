// test/fuzz/yaml.cpp - YAML text: what is read is written as text that reads the same.
#include "api/yaml.h"

#include <variant>

#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const auto parsed = api::parse_yaml(input);
    const auto* documents = std::get_if<std::vector<api::Parsed>>(&parsed);
    if (documents == nullptr) return;
    for (const api::Parsed& document : *documents) {
        const auto again = api::parse_yaml(api::to_yaml(document.value));
        const auto* same = std::get_if<std::vector<api::Parsed>>(&again);
        demand(same != nullptr, "what was written is YAML");
        if (document.value.is_null()) continue;
        demand(same->size() == 1, "what was written is one document");
        demand((*same)[0].value == document.value, "what was written reads the same");
    }
}

}  // namespace

Target yaml_target() {
    return {
        "yaml",
        {"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: 'yes'}}\n",
         "a: &x [1, 0o17, 1_000, ~, on, .inf]\nb: *x\n---\n- |\n  text\n  more\n- >-\n  folded\n",
         "t: 2020-01-01T00:00:00Z\nq: \"\\x41\\u00e9\"\n? k\n: v\n",
         "%YAML 1.1\n---\n!!str 12\n...\n"},
        take};
}

}  // namespace muster::fuzz
