// api/scale_faults_test.cpp - counts and selectors that a Scale cannot show.
#include "api/scale_faults.h"

#include <doctest/doctest.h>

#include "api/json.h"

namespace muster::api {
namespace {

std::string said(const char* object, ScalePart part = ScalePart::whole) {
    Kind kind;
    kind.scale_spec_path = ".spec.roles.replicas";
    kind.scale_status_path = ".status.replicas";
    kind.scale_selector_path = ".status.selector";
    const Value value = std::get<Parsed>(parse_json(object)).value;
    std::string text;
    for (const FieldError& error : scale_faults(kind, value, part))
        text += error.field + ": " + error.text + "\n";
    return text;
}

TEST_CASE("a Scale needs counts that are whole, not negative and of 32 bits, and a text") {
    CHECK(said(R"({"spec":{"roles":{"replicas":0}},"status":{"replicas":2147483647}})").empty());
    CHECK(said(R"({"status":{"selector":"a=b"}})").empty());
    CHECK(said(R"({"spec":{"roles":null}})").empty());
    CHECK(said(R"({"spec":{"roles":{"replicas":-1}}})") ==
          ".spec.roles.replicas: Invalid value: -1: should be a non-negative integer\n");
    CHECK(said(R"({"status":{"replicas":2147483648}})") ==
          ".status.replicas: Invalid value: 2147483648: should be less than or equal to "
          "2147483647\n");
    CHECK(said(R"({"spec":{"roles":{"replicas":"2"}}})") ==
          ".spec.roles.replicas: Invalid value: 0: .spec.roles.replicas accessor error: 2 is of "
          "the type string, expected int64\n");
    CHECK(said(R"({"spec":{"roles":[1,{"a":true}]}})") ==
          ".spec.roles.replicas: Invalid value: 0: .spec.roles.replicas accessor error: "
          "[1 map[a:true]] is of the type []interface {}, expected map[string]interface{}\n");
    CHECK(said(R"({"status":{"selector":{"a":"b"}}})") ==
          ".status.selector: Invalid value: \"\": .status.selector accessor error: map[a:b] is of "
          "the type map[string]interface {}, expected string\n");
}

TEST_CASE("a write of the status is not asked about the spec's count") {
    CHECK(said(R"({"spec":{"roles":{"replicas":-1}}})", ScalePart::status).empty());
    CHECK_FALSE(said(R"({"status":{"replicas":-1}})", ScalePart::status).empty());
}

}  // namespace
}  // namespace muster::api
