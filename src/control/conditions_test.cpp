// control/conditions_test.cpp - differences as merge patches.
#include "control/conditions.h"

#include <string>

#include <doctest/doctest.h>

#include "api/parsed_yaml.h"
#include "base/processor_time.h"

namespace muster::control {
namespace {

using api::parsed_yaml;
using api::Value;

TEST_CASE("a merge patch says what has changed, and nothing else") {
    const Value before = parsed_yaml("{a: 1, b: {c: 2, d: 3}, e: [1], f: null}");
    CHECK(merge_patch_between(before, before).empty());
    CHECK(merge_patch_between(before, parsed_yaml("{a: 1, b: {c: 2, d: 3}, e: [1]}")) ==
          parsed_yaml("{f: null}"));
    CHECK(merge_patch_between(before, parsed_yaml("{a: 2, b: {c: 2}, e: [2], f: null, g: {}}")) ==
          parsed_yaml("{a: 2, b: {d: null}, e: [2], g: {}}"));
}

TEST_CASE("labels of which there are very many cost what they are long") {
    Value before = Value::object();
    for (int i = 150'000; i > 0; --i)
        before.mutable_members().push_back({"k" + std::to_string(i), Value("v")});
    Value after = Value::object();
    for (const auto& member : before.members())
        after.mutable_members().push_back({member.key, Value("w")});
    const double seconds = processor_time(
        [&] { CHECK(merge_patch_between(before, after).members().size() == 150'000); });
    CHECK(seconds < 8);
}

}  // namespace
}  // namespace muster::control
