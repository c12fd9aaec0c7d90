// test/fuzz/protobuf.cpp - Kubernetes protobuf bodies: what is read can be written as JSON.
#include "api/protobuf.h"

#include <variant>

#include "api/json.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const auto parsed = api::parse_protobuf(input);
    const auto* object = std::get_if<api::Value>(&parsed);
    if (object == nullptr) return;
    demand(!api::to_json(*object).empty(), "it is an object");
}

}  // namespace

Target protobuf_target() {
    return {
        "protobuf",
        {std::string("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x05\x0a\x03\x0a\x01\x61", 22),
         std::string(
             "k8s\0\x0a\x0f\x0a\x08"
             "batch/v1\x12\x03Job\x12\x0e\x0a\x03\x0a\x01\x61\x12\x07\x08\x02\x10\x03\x20\x06\x50",
             37),
         std::string("k8s\0\x0a\x0f\x0a\x02v1\x12\x09"
                     "ConfigMap\x12\x0d\x0a\x03\x0a\x01\x61\x12\x06\x0a\x01k\x12\x01v",
                     36)},
        take};
}

}  // namespace muster::fuzz
