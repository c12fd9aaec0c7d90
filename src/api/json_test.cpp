// api/json_test.cpp - JSON as Kubernetes' clients write it, at its limits, and at random.
#include "api/json.h"

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster::api {
namespace {

Value parsed(std::string_view text) {
    auto result = parse_json(text);
    if (const auto* error = std::get_if<ParseError>(&result)) {
        INFO(text);
        FAIL(error->text);
    }
    return std::get<Parsed>(std::move(result)).value;
}

std::string fault(std::string_view text) {
    auto result = parse_json(text);
    const auto* error = std::get_if<ParseError>(&result);
    return error ? error->text : "accepted";
}

TEST_CASE("what is read is written the same") {
    for (const char* text : {
             R"(null)",
             R"(true)",
             R"([])",
             R"({})",
             R"([1,-2,3.5,"x",null,[{}]])",
             R"({"b":1,"a":{"":[false]}})",
             R"("\"\\\b\f\n\r\t\u0001ü😀/")",
             R"(9223372036854775807)",
             R"(-9223372036854775808)",
             R"(1e+21)",
             R"(1e-7)",
             R"(0.000001)",
             R"(100000000000000000000)",
             R"(1.5e+300)",
             R"(5e-324)",
         }) {
        CHECK(to_json(parsed(text)) == text);
    }
}

TEST_CASE("numbers keep their kind and their value") {
    CHECK(parsed("12").is_integer());
    CHECK(parsed("12.0").type() == Value::Type::real);
    CHECK(to_json(parsed("12.0")) == "12");
    CHECK(to_json(parsed("1e2")) == "100");
    CHECK(to_json(parsed("1.25e-10")) == "1.25e-10");
    CHECK(parsed("9223372036854775808").as_real() == 9223372036854775808.0);
    CHECK(parsed("-9223372036854775809").as_real() == -9223372036854775808.0);
    CHECK(parsed("[1,123456789012345678901234567890,2]")[1].as_real() == 1.2345678901234568e29);
    CHECK(fault("1e999") == "a number is out of range");
}

TEST_CASE("a member that stands twice is reported with its path and the last one wins") {
    auto result = std::get<Parsed>(
        parse_json(R"({"spec":{"a":1,"c":[{"x":1},{"x":2,"x":3}],"a":2},"spec2":0})"));
    CHECK(result.duplicates == std::vector<std::string>{"spec.c[1].x", "spec.a"});
    CHECK(to_json(result.value) == R"({"spec":{"a":2,"c":[{"x":1},{"x":3}]},"spec2":0})");

    std::string large = "{";
    for (int i = 0; i < 100; ++i)
        large += "\"k" + std::to_string(i) + "\":1,";
    large += R"("k7":2})";
    result = std::get<Parsed>(parse_json(large));
    CHECK(result.duplicates == std::vector<std::string>{"k7"});
    CHECK(result.value.size() == 100);
    CHECK(result.value["k7"].as_integer() == 2);
}

TEST_CASE("a fault is named with its place") {
    struct Row {
        const char* text;
        const char* fault;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"", "unexpected end of JSON input (line 1, column 1)"},
             {"{\n  \"a\": 1,\n}",
              "invalid character '}' looking for beginning of object key string (line 3, column "
              "1)"},
             {"{\"a\" 1}", "invalid character '1' after object key (line 1, column 6)"},
             {"{\"a\":1 \"b\":2}",
              "invalid character '\"' after object key:value pair (line 1, column 8)"},
             {"[1 2]", "invalid character '2' after array element (line 1, column 4)"},
             {"[1,]", "invalid character ']' looking for beginning of value (line 1, column 4)"},
             {"tru", "unexpected end of JSON input (line 1, column 4)"},
             {"trux", "invalid character 'x' in literal true (expecting 'e') (line 1, column 4)"},
             {"1.x",
              "invalid character 'x' after decimal point in numeric literal (line 1, column 3)"},
             {"01", "invalid character '1' after top-level value (line 1, column 2)"},
             {"{} x", "invalid character 'x' after top-level value (line 1, column 4)"},
             {"\"a\nb\"", "invalid character '\\n' in string literal (line 1, column 3)"},
             {"\"\\x\"", "invalid character 'x' in string escape code (line 1, column 3)"},
             {"\"\xff\"", "invalid UTF-8 (line 1, column 2)"},
             {"\"\\ud800\"", "unpaired surrogate in string (line 1, column 8)"},
             {"\"abc", "unexpected end of JSON input (line 1, column 5)"},
         }) {
        CHECK(fault(row.text) == row.fault);
    }
}

TEST_CASE("depth is limited") {
    const auto nested = [](std::size_t depth) {
        return std::string(depth, '[') + std::string(depth, ']');
    };
    CHECK(fault(nested(1000)) == "accepted");
    CHECK(fault(nested(1001)).find("exceeded max depth") == 0);
    CHECK(fault(nested(5000)).find("exceeded max depth") == 0);
    CHECK(fault(std::string(1'000'000, '[')) != "accepted");
}

TEST_CASE("the indented form is kubectl's") {
    CHECK(to_pretty_json(parsed(R"({"a":[],"b":{},"c":[1,{"d":"e"}]})")) == R"({
    "a": [],
    "b": {},
    "c": [
        1,
        {
            "d": "e"
        }
    ]
})");
}

Value random_value(Random& random, int depth) {
    const std::uint64_t kind = random.below(depth > 0 ? 8 : 6);
    switch (kind) {
        case 0:
            return {};
        case 1:
            return random.below(2) == 0;
        case 2:
            return static_cast<std::int64_t>(random.next() >> random.below(64));
        case 3:
            return static_cast<double>(random.below(1u << 30)) / 1024.0 * 1e-3;
        case 4:
        case 5: {
            std::string text;
            for (std::uint64_t i = random.below(20); i > 0; --i)
                text += random.below(8) == 0 ? "\u00fc\n\"\\"
                                             : std::string(1, "abc: #-{}&*!|"[random.below(13)]);
            return text;
        }
        case 6: {
            Value array = Value::array();
            for (std::uint64_t i = random.below(5); i > 0; --i)
                array.push(random_value(random, depth - 1));
            return array;
        }
        default: {
            Value object = Value::object();
            for (std::uint64_t i = random.below(5); i > 0; --i)
                object.set("k" + std::to_string(random.below(40)), random_value(random, depth - 1));
            return object;
        }
    }
}

TEST_CASE("random values survive the way to text and back") {
    Random random(1);
    for (int round = 0; round < 3000; ++round) {
        const Value value = random_value(random, 5);
        REQUIRE(parsed(to_json(value)) == value);
        REQUIRE(parsed(to_pretty_json(value)) == value);
    }
}

TEST_CASE("random damage never crashes, and a fault always has a place") {
    Random random(2);
    for (int round = 0; round < 6000; ++round) {
        std::string text = to_json(random_value(random, 4));
        for (std::uint64_t hits = 1 + random.below(3); hits > 0; --hits) {
            const std::size_t at = random.below(text.size());
            switch (random.below(3)) {
                case 0:
                    text[at] = "{}[]\",:0e.-\\u\x80\xc3t"[random.below(17)];
                    break;
                case 1:
                    text.erase(at, 1 + random.below(3));
                    break;
                default:
                    text.insert(at, 1, "{}[]\",:0"[random.below(8)]);
            }
            if (text.empty()) text = "x";
        }
        auto result = parse_json(text);
        if (const auto* error = std::get_if<ParseError>(&result)) {
            const bool placed = error->text.find("(line ") != std::string::npos ||
                                error->text == "a number is out of range";
            INFO(text);
            REQUIRE_MESSAGE(placed, error->text);
        } else {
            REQUIRE(parsed(to_json(std::get<Parsed>(result).value)) ==
                    std::get<Parsed>(result).value);
        }
    }
}

TEST_CASE("field owners are left out of metadata and of nowhere else") {
    const std::string text =
        R"({"metadata":{"name":"a","managedFields":[{"manager":"m"}]},"managedFields":1,)"
        R"("data":{"managedFields":"mine"}})";
    const auto without = parse_json(text, FieldOwners::left_out);
    CHECK(to_json(std::get<Parsed>(without).value) ==
          R"({"metadata":{"name":"a"},"managedFields":1,"data":{"managedFields":"mine"}})");
    CHECK(to_json(parsed(text)) == text);
}

TEST_CASE("the head of a watch event is known before its object is built") {
    const std::string line =
        R"({"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a","namespace":"n",)"
        R"("resourceVersion":"7","managedFields":[]}}})";
    WatchEvent head;
    const auto take = [&](bool wanted) {
        return parse_watch_event(line, [&](const WatchEvent& event) {
            head = event;
            return wanted;
        });
    };
    CHECK(std::get<WatchEvent>(take(false)).object.is_null());
    CHECK(head.type == "MODIFIED");
    CHECK(head.ns == "n");
    CHECK(head.name == "a");
    CHECK(head.version == "7");
    CHECK(to_json(std::get<WatchEvent>(take(true)).object) ==
          R"({"kind":"Pod","metadata":{"name":"a","namespace":"n","resourceVersion":"7"}})");
    const auto any = [](const WatchEvent&) { return true; };
    for (const char* strange : {"1", "[]", R"({"type":1,"object":[2]})", R"({"object":null})"})
        CHECK(std::get<WatchEvent>(parse_watch_event(strange, any)).type.empty());
    CHECK(std::holds_alternative<ParseError>(parse_watch_event(R"({"type":)", any)));
}

}  // namespace
}  // namespace muster::api
