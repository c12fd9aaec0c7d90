// test/fuzz/selector.cpp - Label and field selectors in a query.
#include "apiserver/selector.h"

#include "api/json.h"
#include "api/kind.h"
#include "base/error.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const api::Value labels = api::Value::object({{"a", "b"}, {"c", "5"}});
    try {
        const auto selector = apiserver::LabelSelector::parse(input);
        const auto again = apiserver::LabelSelector::parse(selector.text());
        demand(selector.matches(labels) == again.matches(labels), "its text selects the same");
    } catch (const Error&) {
        demand(true, "it is refused");
    }
    try {
        const auto fields = apiserver::FieldSelector::parse(*api::find_kind("", "pods"), input);
        const api::Value pod = api::Value::object(
            {{"metadata", api::Value::object({{"name", "a"}, {"namespace", "b"}})}});
        if (fields.matches(pod))
            demand(fields.may_match(api::to_json(pod)), "what matches may match");
    } catch (const Error&) {
        demand(true, "it is refused");
    }
}

}  // namespace

Target selector_target() {
    return {"selector",
            {"a=b,c!=d,e in (f,g),h notin (i),j,!k", "c>3,c<9", "a==b",
             "metadata.name=a,status.phase!=Failed", "x.io/y in ( a , b ),!z"},
            take};
}

}  // namespace muster::fuzz
