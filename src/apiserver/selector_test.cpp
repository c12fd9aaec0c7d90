// apiserver/selector_test.cpp - selectors of hostile length are answered with little work.
#include "apiserver/selector.h"

#include <string>

#include <doctest/doctest.h>

#include "api/json.h"
#include "apiserver/known_claims.h"

namespace muster::apiserver {
namespace {

using api::Value;

Value labels_of(int count) {
    Value labels = Value::object();
    for (int i = 0; i < count; ++i)
        labels.set("key-" + std::to_string(i), "v" + std::to_string(i));
    return labels;
}

TEST_CASE("an index of labels answers as the labels do, few or many") {
    const char* selectors[] = {"key-1=v1", "key-1!=v1",   "key-1 in (a,v1)",
                               "none",     "!none",       "key-3>2",
                               "key-9=v1", "key-1,key-2", "key-0 notin (v0)"};
    for (const int count : {0, 3, 200}) {
        const Value labels = labels_of(count);
        const LabelIndex index(labels);
        for (const char* text : selectors) {
            const LabelSelector selector = LabelSelector::parse(text);
            CHECK_MESSAGE(selector.matches(index) == selector.matches(labels), text);
        }
    }
}

TEST_CASE("a field's value is looked for in a text in no more time than both are long") {
    // Compared at each place it would take a hundred thousand million steps.
    const std::string value = std::string(100'000, 'a') + "b";
    const std::string json = "{\"spec\":\"" + std::string(1'000'000, 'a') + "\"}";
    const api::Kind& pods = *api::find_kind("", "pods");
    const FieldSelector selector = FieldSelector::parse(pods, "spec.nodeName=" + value);
    CHECK_FALSE(selector.may_match(json));
    CHECK(selector.may_match(json + value));
}

TEST_CASE("of very many requirements a text is asked few: an object of the others is parsed") {
    std::string selector = "key-0=v0";
    for (int i = 1; i < 100; ++i)
        selector += ",none-" + std::to_string(i);
    const std::string json = R"({"key-0":"v0"})";
    CHECK_FALSE(LabelSelector::parse("none,key-0").may_match(json));
    std::string known = R"({"key-0":"v0")";
    for (int i = 1; i < 20; ++i)
        known += ",\"none-" + std::to_string(i) + "\":\"\"";
    CHECK(LabelSelector::parse(selector).may_match(known + "}"));
}

TEST_CASE(
    "of the tokens seen lately the oldest is forgotten for each new one, the others are not") {
    KnownClaims claims;
    for (std::size_t i = 0; i <= KnownClaims::kept_max; ++i)
        claims.keep(std::to_string(i), Value(std::int64_t{1}));
    CHECK(claims.find("0") == nullptr);
    for (std::size_t i = 1; i <= KnownClaims::kept_max; ++i)
        CHECK(claims.find(std::to_string(i)) != nullptr);
}

}  // namespace
}  // namespace muster::apiserver
