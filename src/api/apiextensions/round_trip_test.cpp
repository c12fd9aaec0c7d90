// api/apiextensions/round_trip_test.cpp - the definitions that we write, read as those of users:
// they say the same of the same objects.
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "api/apiextensions/crd_schema.h"
#include "api/apiextensions/crd_validation.h"
#include "api/crd.h"
#include "api/json.h"
#include "api/kind.h"
#include "api/object_maker.h"
#include "api/rules.h"
#include "api/structural_schema.h"
#include "base/text.h"

namespace muster::api {
namespace {

/// Empty texts and nulls stand for "not given" in the tables; users' definitions take them as they
/// are.
bool is_left_out(const Value& value) {
    return value.is_null() || (value.is_string() && value.as_string().empty());
}

void leave_out(Value& value) {
    if (value.is_object()) {
        std::erase_if(value.mutable_members(),
                      [](const Value::Member& member) { return is_left_out(member.value); });
        for (Value::Member& member : value.mutable_members())
            leave_out(member.value);
    } else if (value.is_array()) {
        std::erase_if(value.mutable_items(), is_left_out);
        for (Value& item : value.mutable_items())
            leave_out(item);
    }
}

/// What the definitions ask for and the tables do not: docs/deviations.md, or it says nothing here.
bool is_explained(const FieldError& error) {
    return error.reason == "FieldValueDuplicate" || error.field.ends_with(".redisAddress") ||
           error.field.ends_with(".generictemplate.apiVersion") ||
           error.field == "spec.resources" ||
           // What state a service to be made is in says nothing.
           error.field.find(".headService.status.conditions[") != std::string::npos;
}

std::string fields_of(const std::vector<FieldError>& errors) {
    std::set<std::string> fields;
    for (const FieldError& error : errors) {
        if (!is_explained(error)) fields.insert(error.field);
    }
    return join(std::vector<std::string>(fields.begin(), fields.end()), " ");
}

TEST_CASE("the definitions of our own kinds are valid") {
    for (const Kind& kind : all_kinds()) {
        if (!kind.custom) continue;
        CAPTURE(kind.plural);
        for (Value crd : {crd_of(kind, Conversion()), listed_crd_of(kind)}) {
            default_crd(crd);
            for (const FieldError& error : validate_crd(crd, nullptr))
                FAIL_CHECK(error.field << ": " << error.text);
        }
    }
}

TEST_CASE("a schema that went through its definition refuses the same fields") {
    ObjectMaker maker(20261122);
    int wrong = 0, right = 0;
    for (const Kind& kind : all_kinds()) {
        for (const Version& version : kind.versions) {
            if (!kind.custom) continue;
            CAPTURE(kind.plural);
            CAPTURE(version.name);
            const auto read = parse_crd_schema(structural_schema(*version.schema));
            for (int round = 0; round < 30; ++round) {
                Value object = maker.make(*version.schema, 0);
                object.erase("metadata");
                prune(*read, object);
                prune(*version.schema, object);
                leave_out(object);
                // AppWrappers without one are taken here: it says nothing.
                if (!object.has("spec")) object.set("spec", Value::object());
                Value there = object;
                apply_defaults(*version.schema, object);
                apply_defaults(*read, there);
                const std::vector<FieldError> ours = validate(*version.schema, object);
                const std::vector<FieldError> theirs = validate(*read, there);
                CHECK_MESSAGE(fields_of(ours) == fields_of(theirs), to_json(object));
                if (!ours.empty() || !theirs.empty()) {
                    ++wrong;
                    continue;
                }
                ++right;
                CHECK_MESSAGE(fields_of(broken_rules(*version.schema, object, nullptr)) ==
                                  fields_of(broken_rules(*read, there, nullptr)),
                              to_json(object));
            }
        }
    }
    CHECK(wrong > 0);
    CHECK(right > 0);
}

}  // namespace
}  // namespace muster::api
