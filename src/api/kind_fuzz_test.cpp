// api/kind_fuzz_test.cpp - whatever has the right types goes through every function of its kind,
// and comes out an answer.
#include <string>

#include <doctest/doctest.h>

#include "api/columns.h"
#include "api/json.h"
#include "api/kind.h"
#include "base/random.h"

namespace muster::api {
namespace {

/// Makes values that fit a schema, of lengths and contents that are often odd.
class Maker {
public:
    explicit Maker(std::uint64_t seed) : random_(seed) {}

    Value make(const Schema& schema, int depth) {
        switch (schema.type) {
            case Schema::Type::boolean:
                return random_.below(2) == 0;
            case Schema::Type::integer:
                return pick_number();
            case Schema::Type::number:
                return 0.5;
            case Schema::Type::quantity:
                return pick({"1", "500m", "-1", "2Gi", "0"});
            case Schema::Type::int_or_string:
                return random_.below(2) == 0 ? Value(pick_number()) : pick({"http", "", "50%"});
            case Schema::Type::time:
                return "2026-01-01T00:00:00Z";
            case Schema::Type::micro_time:
                return "2026-01-01T00:00:00.000001Z";
            case Schema::Type::bytes:
                return pick({"", "YQ=="});
            case Schema::Type::any:
                return Value::object({{"kind", "Thing"}});
            case Schema::Type::string:
                return pick_text(schema);
            case Schema::Type::object:
                return make_object(schema, depth);
            case Schema::Type::map:
                return make_map(schema, depth);
            case Schema::Type::list:
                return make_list(schema, depth);
        }
        return Value();
    }

private:
    static constexpr int depth_max = 9;

    std::int64_t pick_number() {
        static constexpr std::int64_t numbers[] = {0, 1, -1, 2, 80, 70000, 2147483647};
        return numbers[random_.below(std::size(numbers))];
    }

    Value pick(std::initializer_list<const char*> texts) {
        return *(texts.begin() + random_.below(texts.size()));
    }

    Value pick_text(const Schema& schema) {
        if (!schema.enum_values.empty() && random_.below(4) != 0) {
            return schema.enum_values[random_.below(schema.enum_values.size())];
        }
        return pick({"", "a", "main", "Always", "None", "Never", "In", "True", "a/b", "A B",
                     "/x/../y", "QuotaReserved", "repo/image:tag", "sandbox"});
    }

    Value make_object(const Schema& schema, int depth) {
        Value object = Value::object();
        for (const Schema::Field& field : schema.fields) {
            const bool top = depth < 2;
            if (depth < depth_max && random_.below(top ? 8 : 3) != 0) {
                if (!top && random_.below(2) == 0) continue;
                object.set(field.name, make(*field.schema, depth + 1));
            }
        }
        return object;
    }

    Value make_map(const Schema& schema, int depth) {
        Value object = Value::object();
        for (std::uint64_t i = random_.below(3); i > 0; --i) {
            object.set(pick({"cpu", "memory", "a", "example.com/gpu", "", "tls.crt"}).as_string(),
                       make(*schema.element, depth + 1));
        }
        return object;
    }

    Value make_list(const Schema& schema, int depth) {
        Value list = Value::array();
        for (std::uint64_t i = random_.below(3); i > 0; --i) {
            list.push(make(*schema.element, depth + 1));
        }
        return list;
    }

    Random random_;
};

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
    Maker maker(20260822);
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
    Maker maker(20260823);
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
