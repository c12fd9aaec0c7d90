// apiserver/metadata_test.cpp - which writes change an object, and which count as a new generation.
#include "apiserver/metadata.h"

#include <string>

#include <doctest/doctest.h>

#include "api/kind.h"
#include "api/parsed_yaml.h"
#include "base/processor_time.h"

namespace muster::apiserver {
namespace {

using api::parsed_yaml;
using api::Value;

TEST_CASE("an object that differs in its version only is the same") {
    const Value stored = parsed_yaml(
        "{spec: {a: 1}, status: null, metadata: {name: x, resourceVersion: '1', labels: {a: b}}}");
    CHECK(same_but_version(stored, parsed_yaml("{spec: {a: 1}, status: null, metadata: {name: x, "
                                               "resourceVersion: '2', labels: {a: b}}}")));
    for (const char* other :
         {"{spec: {a: 2}, status: null, metadata: {name: x, labels: {a: b}}}",
          "{spec: {a: 1}, status: null, metadata: {name: x}}",
          "{spec: {a: 1}, status: null, metadata: {name: x, labels: {a: b}, annotations: {}}}",
          "{spec: {a: 1}, status: null, data: {}, metadata: {name: x, labels: {a: b}}}"}) {
        CAPTURE(other);
        CHECK_FALSE(same_but_version(stored, parsed_yaml(other)));
    }
}

TEST_CASE("objects with very many members of their own cost what they are long") {
    const auto wide = [](const char* last) {
        Value made = parsed_yaml("{metadata: {name: x, generation: 3}}");
        for (int i = 150'000; i > 0; --i)
            made.mutable_members().push_back({"k" + std::to_string(i), Value("v")});
        made.mutable_members().push_back({"last", Value(last)});
        return made;
    };
    const Value before = wide("a");
    Value after = wide("b");
    const api::Kind& kind = *api::find_kind("batch", "jobs");
    const double seconds = processor_time([&] {
        CHECK(same_but_version(before, wide("a")));
        CHECK_FALSE(same_but_version(before, after));
        count_generation(kind, "", before, after);
    });
    CHECK(after["metadata"]["generation"].integer_or(0) == 4);
    CHECK(seconds < 8);
}

}  // namespace
}  // namespace muster::apiserver
