// api/json_patch_between_test.cpp - patches that are made, and that they lead where they should.
#include "api/json_patch_between.h"

#include "api/parsed_text.h"
#include "api/patch.h"

namespace muster::api {
namespace {

TEST_CASE("a JSON patch between two documents leads from one to the other") {
    struct Pair {
        const char* before;
        const char* after;
        const char* patch;
    };
    for (
        const Pair& pair : std::initializer_list<Pair>{
            {R"({"a":1})", R"({"a":1})", R"([])"},
            {R"({})", R"({"a":{"b":1}})", R"([{"op":"add","path":"/a","value":{"b":1}}])"},
            {R"({"a":{"b":1}})", R"({"a":{}})", R"([{"op":"remove","path":"/a/b"}])"},
            {R"({"a":1})", R"({"a":"1"})", R"([{"op":"replace","path":"/a","value":"1"}])"},
            {R"({"x/y":{"~":1}})", R"({"x/y":{"~":2}})",
             R"([{"op":"replace","path":"/x~1y/~0","value":2}])"},
            {R"({"a":[1,{"b":2},3]})", R"({"a":[1,{"b":4}]})",
             R"([{"op":"replace","path":"/a/1/b","value":4},{"op":"remove","path":"/a/2"}])"},
            {R"({"a":[]})", R"({"a":[1,2]})",
             R"([{"op":"add","path":"/a/-","value":1},{"op":"add","path":"/a/-","value":2}])"},
            {R"({"a":[1,2,3]})", R"({"a":[]})",
             R"([{"op":"remove","path":"/a/2"},{"op":"remove","path":"/a/1"},{"op":"remove","path":"/a/0"}])"},
            {R"({"a":[1],"b":null})", R"({"a":{},"c":2})",
             R"([{"op":"replace","path":"/a","value":{}},{"op":"remove","path":"/b"},{"op":"add","path":"/c","value":2}])"},
        }) {
        const Value patch = json_patch_between(parsed(pair.before), parsed(pair.after));
        CHECK(to_json(patch) == pair.patch);
        CHECK(to_json(std::get<Value>(json_patch(parsed(pair.before), patch))) ==
              to_json(parsed(pair.after)));
    }
}

}  // namespace
}  // namespace muster::api
