// api/yaml_lines_test.cpp - the lines of fields, whatever way they are written.
#include "api/yaml_lines.h"

#include <doctest/doctest.h>

namespace muster::api {
namespace {

TEST_CASE("fields are found on their lines, absent ones on the line of what is around them") {
    const auto lines = yaml_lines(
        "# one\n---\nspec:\n  groups:\n  - name: a\n    flavors: [x,\n      y]\n  - {name: b}\n"
        "labels: {k: v}\n---\n---\nother: 1\n");
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].of("spec") == 3);
    CHECK(lines[0].of("spec.groups[0].name") == 5);
    CHECK(lines[0].of("spec.groups[0].flavors[1]") == 7);
    CHECK(lines[0].of("spec.groups[1].name") == 8);
    CHECK(lines[0].of("spec.groups[1].missing") == 8);
    CHECK(lines[0].of("labels[k]") == 9);
    CHECK(lines[0].of("nothing.of.it") == 3);
    CHECK(lines[1].of("other") == 12);
}

TEST_CASE("aliases and odd keys do not shift what follows") {
    const auto lines = yaml_lines("a: &x {b: 1}\nc: *x\n? [odd, key]\n: 1\nd: 2\n");
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].of("c") == 2);
    CHECK(lines[0].of("d") == 5);
}

}  // namespace
}  // namespace muster::api
