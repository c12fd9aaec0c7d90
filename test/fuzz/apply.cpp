// test/fuzz/apply.cpp - Server-side apply: a live object and what is applied, parted by a zero
// byte.
#include <variant>

#include "api/patch.h"
#include "test/fuzz/target.h"
#include "test/fuzz/two_documents.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    api::Value live;
    api::Value applied;
    if (!split_input(input, live, applied)) return;
    if (!live.is_object() || !applied.is_object()) return;
    // The server refuses what has no type before it comes here.
    for (const char* field : {"apiVersion", "kind"}) {
        if (!applied[field].is_null() && !applied[field].is_string()) return;
    }
    // Nor does it keep who owns nothing: when they all fall out, the next apply is a first one.
    for (const api::Value& each : live["metadata"]["managedFields"].items()) {
        if (each["fieldsV1"].empty()) return;
    }
    const api::ApplyRequest request{"fuzz", "v1", "", "2020-01-01T00:00:00Z", true};
    const auto done = api::server_side_apply(pod_schema(), live, applied, request);
    const auto* now = std::get_if<api::Value>(&done);
    if (now == nullptr) return;
    const auto again = api::server_side_apply(pod_schema(), *now, applied, request);
    const auto* same = std::get_if<api::Value>(&again);
    demand(same != nullptr, "an apply can be repeated");
    demand(*same == *now, "an apply repeated changes nothing");
    api::track_update(pod_schema(), live, *now, request);
}

}  // namespace

Target apply_target() {
    return {
        "apply",
        {std::string(
             R"({"metadata":{"name":"a","labels":{"x":"y"}},"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"E","value":"1"}],"ports":[{"containerPort":80,"protocol":"TCP"}]}],"tolerations":[{"key":"k"}]}})") +
             '\0' +
             R"({"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"j"}],"tolerations":[]}})",
         std::string(
             R"({"metadata":{"managedFields":[{"manager":"fuzz","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{}}}}}}]},"spec":{"containers":[{"name":"c","image":"i"}]}})") +
             '\0' + R"({"spec":{"containers":[{"name":"d"}]}})"},
        take};
}

}  // namespace muster::fuzz
