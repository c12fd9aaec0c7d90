// test/fuzz/patch.cpp - Merge, JSON and strategic patches: a document and a patch, parted by a zero
// byte.
#include "api/patch.h"

#include <variant>

#include "api/json.h"
#include "test/fuzz/target.h"
#include "test/fuzz/two_documents.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    api::Value target;
    api::Value patch;
    if (!split_input(input, target, patch)) return;
    const api::Patched merged = api::merge_patch(target, patch);
    if (const auto* done = std::get_if<api::Value>(&merged)) {
        const api::Patched again = api::merge_patch(*done, patch);
        demand(std::get_if<api::Value>(&again) != nullptr, "a merge can be repeated");
        demand(std::get<api::Value>(again) == *done, "a merge repeated changes nothing");
    }
    const api::Patched patched = api::json_patch(target, patch);
    if (const auto* done = std::get_if<api::Value>(&patched))
        demand(!api::to_json(*done).empty(), "a patched document can be written");
    const api::Patched strategic = api::strategic_merge_patch(pod_schema(), target, patch);
    if (const auto* done = std::get_if<api::Value>(&strategic))
        demand(!api::to_json(*done).empty(), "a patched document can be written");
}

}  // namespace

Target patch_target() {
    return {
        "patch",
        {std::string(
             R"({"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"E","value":"1"}],"ports":[{"containerPort":80,"protocol":"TCP"}]}],"tolerations":[{"key":"k"}]}})") +
             '\0' +
             R"({"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"name":"c","image":null,"env":[{"name":"E","$patch":"delete"}]},{"$patch":"replace"}],"$retainKeys":["containers"]}})",
         std::string(R"({"a":[1,{"b~/c":2}],"d":null})") + '\0' +
             R"([{"op":"add","path":"/a/-","value":3},{"op":"move","from":"/a/0","path":"/e"},{"op":"test","path":"/d","value":null},{"op":"remove","path":"/a/1/b~0~1c"},{"op":"copy","from":"","path":"/x"},{"op":"replace","path":"/a","value":{}}])",
         std::string(R"({"a":{"b":1}})") + '\0' +
             R"({"a":{"b":null,"c":[{}]},"$deleteFromPrimitiveList/f":["x"]})"},
        take};
}

}  // namespace muster::fuzz
