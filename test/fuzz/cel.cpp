// test/fuzz/cel.cpp - CEL: a rule, a zero byte, the object that it is asked of.
#include "api/cel.h"

#include <variant>

#include "api/json.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const std::size_t at = input.find('\0');
    const api::CelRule rule(input.substr(0, at));
    if (at == std::string_view::npos || !rule.error().empty()) return;
    const auto parsed = api::parse_json(input.substr(at + 1));
    const auto* document = std::get_if<api::Parsed>(&parsed);
    if (document == nullptr) return;
    const auto answer = rule.ask(document->value, &document->value);
    demand(!answer.holds || answer.trouble.empty(), "what cannot be said does not hold");
}

}  // namespace

Target cel_target() {
    return {"cel",
            {std::string("self.a.all(x, x.b <= 3 && has(x.c))") + '\0' + R"({"a":[{"b":1,"c":2}]})",
             std::string("self.a.filter(i, self.a.filter(j, j == i).size() > 1).size() == 0") +
                 '\0' + R"({"a":[1,2,2]})",
             std::string("!has(oldSelf.a) || self.a in ['x', \"y\"] ? size(self) > -1 : true") +
                 '\0' + R"({"a":"x"})"},
            take};
}

}  // namespace muster::fuzz
