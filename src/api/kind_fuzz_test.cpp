// api/kind_fuzz_test.cpp - whatever has the right types goes through every function of its kind,
// and comes out an answer.
#include <string>

#include <doctest/doctest.h>

#include "api/columns.h"
#include "api/json.h"
#include "api/kind.h"
#include "api/object_maker.h"
#include "base/random.h"

namespace muster::api {
namespace {

void take_through(const Kind& kind, Value object, const Value* old) {
    for (const Version& version : kind.versions) {
        if (kind.convert != nullptr && kind.stored_as.empty()) {
            object = kind.convert(std::move(object), version.name);
        }
        const Schema& schema = *version.schema;
        prune(schema, object);
        CHECK(unknown_fields(schema, object).empty());
        apply_defaults(schema, object);
        static_cast<void>(validate(schema, object));
        canonicalize(schema, object);
        CHECK(columns_of(kind, version.name).size() ==
              row_of(kind, version.name, object, Time{}).size());
    }
    if (kind.defaulting != nullptr) {
        kind.defaulting(object);
        Value again = object;
        kind.defaulting(again);
        CHECK(again == object);  // Defaults are filled once.
    }
    if (kind.validate != nullptr) static_cast<void>(kind.validate(object, old));
}

TEST_CASE("objects of the right types go through every function of their kind") {
    ObjectMaker maker(20260822);
    for (int round = 0; round < 20; ++round) {
        for (const Kind& kind : all_kinds()) {
            CAPTURE(kind.kind);
            const Schema& schema = *kind.versions[0].schema;
            const Value old = maker.make(schema, 0);
            take_through(kind, maker.make(schema, 0), round % 2 == 0 ? nullptr : &old);
        }
    }
}

TEST_CASE("objects of wrong types are refused, not walked into") {
    ObjectMaker maker(20260823);
    Random random(7);
    const Value wrong[] = {Value("text"),       Value(1),    Value::array({1}),
                           Value::array({"a"}), Value(true), Value::object({{"a", 1}})};
    for (const Kind& kind : all_kinds()) {
        const Schema& schema = *kind.versions[0].schema;
        for (int round = 0; round < 10; ++round) {
            Value object = maker.make(schema, 0);
            if (object.empty()) continue;
            Value::Object& members = object.mutable_members();
            members[random.below(members.size())].value = wrong[random.below(std::size(wrong))];
            static_cast<void>(unknown_fields(schema, object));
            prune(schema, object);
            apply_defaults(schema, object);
            static_cast<void>(validate(schema, object));
            static_cast<void>(row_of(kind, kind.versions[0].name, object, Time{}));
        }
    }
}

}  // namespace
}  // namespace muster::api
