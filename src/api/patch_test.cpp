// api/patch_test.cpp - merge, JSON and strategic merge patches; the expected answers are those of
// the libraries of kube-apiserver 1.36.
#include "api/patch.h"

#include <doctest/doctest.h>

#include "api/json.h"

namespace muster::api {
namespace {

Value value_of(std::string_view json) {
    auto result = parse_json(json);
    REQUIRE_MESSAGE(std::holds_alternative<Parsed>(result), json);
    return std::get<Parsed>(std::move(result)).value;
}

std::string text_of(const Patched& patched) {
    if (const auto* error = std::get_if<PatchError>(&patched))
        return (error->invalid ? "invalid: " : "error: ") + error->text;
    return to_json(std::get<Value>(patched));
}

struct Row {
    const char* target;
    const char* patch;
    const char* result;
};

TEST_CASE("merge patches follow RFC 7386") {
    for (const Row& row : std::initializer_list<Row>{
             {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
             {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
             {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
             {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
             {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
             {R"({"a":[1,2]})", R"({"a":[{"b":null,"c":1},null]})", R"({"a":[{"c":1},null]})"},
             {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
             {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
             {R"({})", R"([])", "error: a merge patch must be a JSON object"},
         }) {
        CHECK(text_of(merge_patch(value_of(row.target), value_of(row.patch))) == row.result);
    }
}

TEST_CASE("JSON patches follow RFC 6902, with the reference's words") {
    for (const Row& row : std::initializer_list<Row>{
             {R"({"a":1})", R"([{"op":"add","path":"/b","value":[1]}])", R"({"a":1,"b":[1]})"},
             {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
             {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
             {R"({"a":[1]})", R"([{"op":"add","path":"/a/-1","value":2}])", R"({"a":[1,2]})"},
             {R"({"x/y":{"~":1}})", R"([{"op":"replace","path":"/x~1y/~0","value":2}])",
              R"({"x/y":{"~":2}})"},
             {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/0"}])", R"({"a":[2]})"},
             {R"({"a":1,"b":2})", R"([{"op":"move","from":"/a","path":"/c"}])", R"({"b":2,"c":1})"},
             {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])",
              R"({"a":{"b":1},"c":{"b":1}})"},
             {R"({"a":{"b":1}})", R"([{"op":"test","path":"/a","value":{"b":1}}])",
              R"({"a":{"b":1}})"},
             {R"({})", R"([{"op":"test","path":"/a","value":null}])", R"({})"},
             {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])",
              "invalid: testing value /a failed: test failed"},
             {R"({})", R"([{"op":"remove","path":"/a"}])",
              "invalid: error in remove for path: '/a': Unable to remove nonexistent key: a: "
              "missing value"},
             {R"({})", R"([{"op":"add","path":"/a/b","value":1}])",
              "invalid: add operation does not apply: doc is missing path: \"/a/b\": missing "
              "value"},
             {R"({"a":[]})", R"([{"op":"add","path":"/a/1","value":1}])",
              "invalid: error in add for path: '/a/1': Unable to access invalid index: 1: invalid "
              "index referenced"},
             {R"({"a":[]})", R"([{"op":"replace","path":"/a/x","value":1}])",
              "invalid: replace operation does not apply: doc is missing key: /a/x: missing value"},
             {R"({})", R"([{"op":"foo","path":"/a"}])", "invalid: Unexpected kind: foo"},
             {R"({})", R"({"op":"add"})", "error: a JSON patch must be a JSON array of operations"},
         }) {
        CHECK(text_of(json_patch(value_of(row.target), value_of(row.patch))) == row.result);
    }
}

TEST_CASE("a short JSON patch makes no huge document, nor a deep one") {
    std::string doubling = R"([{"op":"add","path":"/a","value":{"b":"some text"}})";
    for (int i = 0; i < 60; ++i)
        doubling += R"(,{"op":"copy","from":"/a","path":"/a/c)" + std::to_string(i) + "\"}";
    const std::string huge = text_of(json_patch(value_of("{}"), value_of(doubling + "]")));
    CHECK(huge.starts_with("invalid: Unable to complete the copy, the accumulated size increase"));
    std::string deepening = R"([{"op":"add","path":"/a","value":{}})";
    for (std::string path = "/a"; path.size() < 8192; path += path)
        deepening += R"(,{"op":"copy","from":"/a","path":")" + path + "/a\"}";
    CHECK(text_of(json_patch(value_of("{}"), value_of(deepening + "]"))) ==
          "invalid: exceeded max depth");
}

std::string patched_pod(const char* target, const char* patch) {
    return text_of(
        strategic_merge_patch(*schema_of("core.v1.Pod"), value_of(target), value_of(patch)));
}

TEST_CASE("strategic merge patches merge lists by their key") {
    for (
        const Row& row : std::initializer_list<Row>{
            {R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"y"}]}})",
             R"({"spec":{"containers":[{"name":"b","image":"z"},{"name":"c"}]}})",
             R"({"spec":{"containers":[{"name":"a","image":"x"},{"name":"b","image":"z"},{"name":"c"}]}})"},
            {R"({"spec":{"containers":[{"name":"a","env":[{"name":"E","value":"1"}]}]}})",
             R"({"spec":{"containers":[{"name":"a","env":[{"name":"F","value":"2"}]}]}})",
             R"({"spec":{"containers":[{"name":"a","env":[{"name":"F","value":"2"},{"name":"E","value":"1"}]}]}})"},
            {R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
             R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})",
             R"({"spec":{"containers":[{"name":"b"}]}})"},
            {R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
             R"({"spec":{"containers":[{"name":"c"},{"$patch":"replace"}]}})",
             R"({"spec":{"containers":[{"name":"c"}]}})"},
            {R"({"spec":{"tolerations":[{"key":"a"}],"nodeSelector":{"x":"1","y":"2"}}})",
             R"({"spec":{"tolerations":[{"key":"b"}],"nodeSelector":{"x":null,"z":"3"}}})",
             R"({"spec":{"tolerations":[{"key":"b"}],"nodeSelector":{"y":"2","z":"3"}}})"},
            {R"({"spec":{"containers":[{"name":"a"}]}})",
             R"({"spec":{"containers":[{"image":"x"}]}})",
             "error: map: {\"image\":\"x\"} does not contain declared merge key: name"},
        }) {
        CHECK(patched_pod(row.target, row.patch) == row.result);
    }
}

TEST_CASE("the directives of strategic merge patches work") {
    for (
        const Row& row : std::initializer_list<Row>{
            {R"({"metadata":{"finalizers":["a","b","c"]}})",
             R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"]}})",
             R"({"metadata":{"finalizers":["a","c"]}})"},
            {R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["c","a"]}})",
             R"({"metadata":{"finalizers":["c","a","b"]}})"},
            {R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"s"}]}})",
             R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"b"},{"name":"a"}],
                  "containers":[{"name":"c"}]}})",
             R"({"spec":{"containers":[{"name":"c"},{"name":"b"},{"name":"a"},{"name":"s"}]}})"},
            {R"({"spec":{"containers":[{"name":"a"}]}})",
             R"({"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"b"}]}})",
             "error: The order in patch list:\n[{\"name\":\"b\"}]\n doesn't match "
             "$setElementOrder list:\n[{\"name\":\"a\"}]\n"},
            {R"({"spec":{"volumes":[{"name":"v","hostPath":{"path":"/x"}}]}})",
             R"({"spec":{"volumes":[{"name":"v","$retainKeys":["name","emptyDir"],"emptyDir":{}}]}})",
             R"({"spec":{"volumes":[{"name":"v","emptyDir":{}}]}})"},
            {R"({"spec":{"volumes":[{"name":"v"}]}})",
             R"({"spec":{"volumes":[{"name":"v","$retainKeys":["name"],"emptyDir":{}}]}})",
             "error: invalid patch format of retainKeys"},
            {R"({"spec":{"securityContext":{"runAsUser":1,"fsGroup":2}}})",
             R"({"spec":{"securityContext":{"$patch":"replace","fsGroup":3}}})",
             R"({"spec":{"securityContext":{"fsGroup":3}}})"},
            {R"({"spec":{"securityContext":{"runAsUser":1}}})",
             R"({"spec":{"securityContext":{"$patch":"delete"}}})",
             R"({"spec":{"securityContext":{}}})"},
            {R"({"spec":{}})", R"({"spec":{"securityContext":{"$patch":"delete"}}})",
             R"({"spec":{}})"},
            {R"({"spec":{}})", R"({"spec":{"$patch":"merge"}})",
             "error: unknown patch type: merge in map: {\"$patch\":\"merge\"}"},
        }) {
        CHECK(patched_pod(row.target, row.patch) == row.result);
    }
}

TEST_CASE("what a strategic merge patch adds has neither nulls nor directives") {
    CHECK(patched_pod(R"({"spec":{}})",
                      R"({"spec":{"containers":[{"name":"a","image":null,
                          "$setElementOrder/env":[{"name":"E"}],"env":[{"name":"E"}]},
                          {"name":"b","$patch":"delete"}]}})") ==
          R"({"spec":{"containers":[{"name":"a","env":[{"name":"E"}]}]}})");
}

TEST_CASE("ten thousand operations on a wide object are refused before they take long") {
    Value wide = Value::object({{"data", Value::object()}, {"list", Value::array()}});
    for (int i = 0; i < 3'000; ++i) {
        wide.at("list").push(i);
        wide.at("data").mutable_members().push_back({Symbol("key-" + std::to_string(i)), Value(i)});
    }
    const auto many = [](const std::string& operation) {
        Value operations = Value::array();
        for (int i = 0; i < 10'000; ++i)
            operations.push(value_of(operation));
        return operations;
    };
    const std::string refused =
        "invalid: the operations take too much work on an object this large; send fewer of them in "
        "one patch";
    for (const char* operation : {
             R"({"op":"replace","path":"/data/key-2999","value":1})",
             R"({"op":"add","path":"/list/0","value":1})",
             R"({"op":"move","from":"/list","path":"/list"})",
             R"({"op":"test","path":"/data/key-2999","value":2999})",
         }) {
        CHECK(text_of(json_patch(wide, many(operation))) == refused);
    }
    // As many on an object of usual width are done.
    Value usual = value_of(R"({"a":{"b":1},"l":[1,2,3]})");
    CHECK(text_of(json_patch(usual, many(R"({"op":"replace","path":"/a/b","value":2})"))) ==
          R"({"a":{"b":2},"l":[1,2,3]})");
}

}  // namespace
}  // namespace muster::api
