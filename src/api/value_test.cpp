// api/value_test.cpp - the value tree: reading is safe on any shape, changing keeps the order.
#include "api/value.h"

#include <doctest/doctest.h>

namespace muster::api {
namespace {

TEST_CASE("reading never fails on shape") {
    const Value pod = Value::object({{"spec", Value::object({{"nodeName", "a"}})}, {"n", 3}});
    CHECK(pod["spec"]["nodeName"].text_or("") == "a");
    CHECK(pod["status"]["phase"][4]["x"].is_null());
    CHECK(pod["n"]["x"].text_or("none") == "none");
    CHECK(pod["n"].integer_or(0) == 3);
    CHECK(pod["spec"].boolean_or(true));
    CHECK(pod["n"].items().empty());
    CHECK(pod.path("spec.nodeName").text() == "a");
    CHECK(Value::array({1, Value::object({{"k", "v"}})}).path("1.k").text() == "v");
    CHECK(Value::array({1}).path("x").is_null());
}

TEST_CASE("members keep the order in which they were first set") {
    Value value;
    value.set("b", 1);
    value.set("a", 2);
    value.set("b", 3);
    REQUIRE(value.size() == 2);
    CHECK(value.members()[0].key == "b");
    CHECK(value["b"].as_integer() == 3);
    CHECK(value.erase("b"));
    CHECK(!value.erase("b"));
    CHECK(value.members()[0].key == "a");
}

TEST_CASE("a value may be assigned a part of itself") {
    Value value = Value::object({{"a", Value::array({1, Value::object({{"b", "c"}})})}});
    value = value["a"];
    CHECK(value == Value::array({1, Value::object({{"b", "c"}})}));
    value = std::move(value.mutable_items()[1]);
    CHECK(value == Value::object({{"b", "c"}}));
}

TEST_CASE("objects are equal in any order, numbers by value") {
    CHECK(Value::object({{"a", 1}, {"b", 2}}) == Value::object({{"b", 2}, {"a", 1.0}}));
    CHECK(Value::object({{"a", 1}}) != Value::object({{"b", 1}}));
    CHECK(Value::object({{"a", nullptr}}) != Value::object());
    CHECK(Value(1) != Value("1"));
    CHECK(Value::array({1, 2}) != Value::array({2, 1}));
    CHECK(Value(false) != Value(nullptr));
}

}  // namespace
}  // namespace muster::api
