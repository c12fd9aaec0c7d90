// api/members_by_name_test.cpp - members are found as by Value itself, and objects of very many
// cost what they are long.
#include "api/members_by_name.h"

#include <string>

#include <doctest/doctest.h>

#include "api/json_patch_between.h"
#include "api/kind.h"
#include "api/parsed_text.h"
#include "api/patch.h"
#include "api/told.h"
#include "api/typed_value.h"
#include "api/yaml.h"
#include "base/processor_time.h"
#include "base/random.h"

namespace muster::api {
namespace {

/// Twenty to a hundred times what each step below takes, and a small part of what it would take if
/// every member were looked for among all.
constexpr double seconds_at_most = 8;
constexpr int very_many = 150'000;

std::string name_of(int i) {
    std::string digits = std::to_string(i);
    return "k" + std::string(7 - digits.size(), '0') + digits;
}

enum class Order { rising, falling };

Value wide(Order order, const Value& each = Value("v"), int from = 0) {
    Value made = Value::object();
    for (int i = 0; i < very_many; ++i) {
        const int at = from + (order == Order::rising ? i : very_many - 1 - i);
        made.mutable_members().push_back({name_of(at), each});
    }
    return made;
}

Value map_with(Value data) {
    return Value::object({{"apiVersion", "v1"},
                          {"kind", "ConfigMap"},
                          {"metadata", Value::object({{"name", "m"}})},
                          {"data", std::move(data)}});
}

template <class Step>
void costs_little(const std::string& what, const Step& step) {
    CAPTURE(what);
    CHECK(processor_time(step) < seconds_at_most);
}

TEST_CASE("a table changes an object as the object's own functions do, few members or many") {
    Random random(7);
    for (const std::uint64_t names : {5, 40, 200}) {
        for (int round = 0; round < 60; ++round) {
            Value plain = Value::object();
            for (std::uint64_t i = random.below(names); i > 0; --i)
                plain.set("n" + std::to_string(random.below(names)), Value(1));
            Value changed = plain;
            changed.seal();  // Others may have it too.
            const Value others = changed;
            const Value before = plain;
            {
                MemberTable table(changed);
                for (std::uint64_t i = 0; i < 2 * names; ++i) {
                    const std::string name = "n" + std::to_string(random.below(names));
                    const Value value(static_cast<std::int64_t>(i));
                    switch (random.below(4)) {
                        case 0:
                            plain.erase(name);
                            table.erase(name);
                            break;
                        case 1:
                            CHECK((table.find(name) != nullptr) == plain.has(name));
                            break;
                        default:
                            plain.set(name, value);
                            table.set(name, value);
                    }
                }
            }
            CHECK(to_json(changed) == to_json(plain));
            CHECK(to_json(others) == to_json(before));
            const MemberIndex index(plain);
            for (std::uint64_t i = 0; i < names; ++i) {
                const std::string name = "n" + std::to_string(i);
                CHECK(index.find(name) == std::as_const(plain).find(name));
            }
        }
    }
}

TEST_CASE("objects of very many members are compared, patched and owned in little time") {
    const Value rising = map_with(wide(Order::rising));
    const Value falling = map_with(wide(Order::falling));
    costs_little("equal", [&] { CHECK(rising == falling); });
    const Value other = map_with(wide(Order::falling, Value("w"), very_many / 2));
    const Schema& schema = *find_schema("v1", "ConfigMap");
    const ApplyRequest request{"me", "v1", "", "2020-01-01T00:00:00Z", true};
    costs_little("tracked", [&] {
        const Value made = track_update(schema, Value(), falling, request);
        const Value now = track_update(schema, made, other, request);
        const Value& fields = now["metadata"]["managedFields"][0]["fieldsV1"]["f:data"];
        CHECK(fields.size() == very_many + 1);
        CHECK(fields.members()[1].key.view() == "f:" + name_of(very_many / 2));
    });
    costs_little("applied", [&] {
        const auto once = server_side_apply(schema, rising, other, request);
        const auto* merged = std::get_if<Value>(&once);
        REQUIRE(merged != nullptr);
        CHECK((*merged)["data"].size() == very_many + very_many / 2);
        const auto less = server_side_apply(schema, *merged, map_with(Value::object()), request);
        CHECK(std::get<Value>(less)["data"].size() == very_many / 2);
    });
    costs_little("difference",
                 [&] { CHECK(json_patch_between(falling, other).size() == 3 * (very_many / 2)); });
}

TEST_CASE("very many owners are held against a large change, and folded, in little time") {
    const Value before = map_with(wide(Order::rising));
    Value after = map_with(Value::object());
    constexpr int count = 20'000;
    Value& entries = after.at("metadata").at("managedFields");
    for (int i = 0; i < count; ++i) {
        const Value field = Value::object({{"f:own-" + std::to_string(i), Value::object()}});
        entries.push(Value::object({{"manager", "m" + std::to_string(i)},
                                    {"operation", "Update"},
                                    {"apiVersion", "v1"},
                                    {"fieldsType", "FieldsV1"},
                                    {"time", "2020-01-01T00:00:00Z"},
                                    {"fieldsV1", Value::object({{"f:data", field}})}}));
    }
    costs_little("folded", [&] {
        const Value tracked = track_update(*find_schema("v1", "ConfigMap"), before, after,
                                           {"me", "v1", "", "2020-01-01T00:00:00Z", true});
        const Value& left = tracked["metadata"]["managedFields"];
        CHECK(left.size() == 10);
        CHECK(left[0]["manager"].text() == "ancient-changes");
        CHECK(left[0]["fieldsV1"]["f:data"].size() == count - 9);
    });
}

TEST_CASE("patches of very many members are merged in little time") {
    const Value rising = map_with(wide(Order::rising));
    const Value added = Value::object({{"data", wide(Order::falling, Value("w"), very_many)}});
    const Value removed = Value::object({{"data", wide(Order::falling, Value())}});
    const Schema& schema = *find_schema("v1", "ConfigMap");
    const auto merged = [&](const Value& patch) {
        return std::get<Value>(merge_patch(rising, patch))["data"];
    };
    const auto strategic = [&](const Value& patch) {
        return std::get<Value>(strategic_merge_patch(schema, rising, patch))["data"];
    };
    costs_little("merge", [&] {
        CHECK(merged(added).size() == 2 * very_many);
        CHECK(merged(removed).empty());
    });
    costs_little("strategic merge", [&] {
        CHECK(strategic(added).size() == 2 * very_many);
        CHECK(strategic(removed).empty());
    });
    costs_little("retained keys", [&] {
        Value patch = wide(Order::rising);
        Value names = Value::array();
        for (const Value::Member& member : patch.members())
            names.push(member.key);
        patch.set("$retainKeys", std::move(names));
        const Value kept = strategic(Value::object({{"data", std::move(patch)}}));
        CHECK(kept.size() == very_many);
    });
}

TEST_CASE("lists of very many items are merged in little time, by key and without one") {
    const auto pod = [](int from, int to, bool gone = false) {
        Value variables = Value::array();
        Value finalizers = Value::array();
        for (int i = from; i < to; ++i) {
            Value variable = Value::object({{"name", name_of(i)}});
            if (gone) {
                variable.set("$patch", "delete");
            } else {
                variable.set("value", std::to_string(from));
            }
            variables.push(std::move(variable));
            finalizers.push(name_of(i));
        }
        const Value container = Value::object({{"name", "c"}, {"env", std::move(variables)}});
        Value metadata = Value::object({{"finalizers", finalizers}});
        if (gone) metadata = Value::object({{"$deleteFromPrimitiveList/finalizers", finalizers}});
        return Value::object(
            {{"metadata", std::move(metadata)},
             {"spec", Value::object({{"containers", Value::array({container})}})}});
    };
    constexpr int many = very_many / 3;
    const Value live = pod(0, many);
    const auto merged = [&](const Value& patch) {
        return std::get<Value>(strategic_merge_patch(*find_schema("v1", "Pod"), live, patch));
    };
    costs_little("added", [&] {
        const Value now = merged(pod(many / 2, many / 2 + many));
        const Value& variables = now["spec"]["containers"][0]["env"];
        CHECK(variables.size() == many / 2 + many);
        CHECK(now["metadata"]["finalizers"].size() == many / 2 + many);
        CHECK(variables[0]["value"].text() == "0");
        CHECK(variables[many / 2]["value"].text() == std::to_string(many / 2));
    });
    costs_little("removed", [&] {
        const Value now = merged(pod(1, many, true));
        CHECK(now["spec"]["containers"][0]["env"].size() == 1);
        CHECK(now["metadata"]["finalizers"].size() == 1);
    });
}

TEST_CASE("documents with very many members, each of them twice, are read in little time") {
    std::string json = "{";
    std::string yaml;
    for (const char* value : {"1", "2"}) {
        for (int i = 0; i < very_many; ++i) {
            json += (json.size() > 1 ? ",\"" : "\"") + name_of(i) + "\":" + value;
            if (i % 4 == 0) yaml += name_of(i) + ": " + value + "\n";
        }
    }
    json += "}";
    costs_little("JSON", [&] {
        const auto read = std::get<Parsed>(parse_json(json));
        CHECK(read.duplicates.size() == told_max);
        CHECK(read.value[name_of(very_many - 1)].integer_or(0) == 2);
        CHECK(read.value.size() == very_many);
    });
    costs_little("YAML", [&] {
        const auto read = parse_yaml(yaml);
        const auto& document = std::get<std::vector<Parsed>>(read).at(0);
        CHECK(document.duplicates.size() == told_max);
        CHECK(document.value.size() == (very_many + 3) / 4);
    });
}

}  // namespace
}  // namespace muster::api
