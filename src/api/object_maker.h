// api/object_maker.h - for tests: odd objects of the right types, by chance.
#pragma once

#include <initializer_list>
#include <iterator>

#include "api/schema.h"
#include "api/value.h"
#include "base/random.h"

namespace muster::api {

/// Makes values that fit a schema, of lengths and contents that are often odd.
class ObjectMaker {
public:
    explicit ObjectMaker(std::uint64_t seed) : random_(seed) {}

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

}  // namespace muster::api
