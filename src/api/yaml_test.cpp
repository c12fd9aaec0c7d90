// api/yaml_test.cpp - YAML against what sigs.k8s.io/yaml 1.6 reads and writes, and at random.
#include "api/yaml.h"

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster::api {
namespace {

std::vector<Parsed> parsed(std::string_view text) {
    auto result = parse_yaml(text);
    if (const auto* error = std::get_if<ParseError>(&result)) {
        INFO(text);
        FAIL(error->text);
    }
    return std::get<std::vector<Parsed>>(std::move(result));
}

/// The first document as JSON.
std::string json_of(std::string_view text) {
    const std::vector<Parsed> documents = parsed(text);
    return documents.empty() ? "null" : to_json(documents[0].value);
}

std::string fault(std::string_view text) {
    auto result = parse_yaml(text);
    const auto* error = std::get_if<ParseError>(&result);
    return error ? error->text : "accepted";
}

Value value_of(std::string_view json) {
    return std::get<Parsed>(parse_json(json)).value;
}

struct Row {
    const char* yaml;
    const char* json;
};

TEST_CASE("plain scalars mean what they mean to Kubernetes") {
    for (const Row& row : std::initializer_list<Row>{
             {"y", "true"},
             {"yes", "true"},
             {"On", "true"},
             {"TRUE", "true"},
             {"n", "false"},
             {"off", "false"},
             {"yEs", "\"yEs\""},
             {"~", "null"},
             {"Null", "null"},
             {"0o17", "15"},
             {"017", "15"},
             {"08", "8"},
             {"0x1F", "31"},
             {"-0x1f", "-31"},
             {"0b101", "5"},
             {"1_000", "1000"},
             {"+1", "1"},
             {"-0", "0"},
             {"1e3", "1000"},
             {"1.", "1"},
             {".5", "0.5"},
             {".5_5", "0.55"},
             {"1e400", "\"1e400\""},
             {"0o8", "\"0o8\""},
             {"0x", "\"0x\""},
             {"1e", "\"1e\""},
             {"1.2.3", "\"1.2.3\""},
             {"1:30", "\"1:30\""},
             {"2001-12-14", "\"2001-12-14\""},
             {"99999999999999999999999", "1e+23"},
             {"-9223372036854775808", "-9223372036854775808"},
             {"'1'", "\"1\""},
             {"!!str 1", "\"1\""},
             {"!!int '7'", "7"},
             {"!!float 5", "5"},
             {"!!binary aGk=", "\"hi\""},
             {"!foo x", "\"x\""},
         }) {
        CHECK_MESSAGE(
            json_of("a: " + std::string(row.yaml)) == "{\"a\":" + std::string(row.json) + "}",
            row.yaml);
    }
}

TEST_CASE("documents, anchors, merges, keys and block text are read") {
    for (const Row& row : std::initializer_list<Row>{
             {"a:\n- b\n-  c: d\n   e: f", R"({"a":["b",{"c":"d","e":"f"}]})"},
             {"a: >-\n  x\n  y\n\n  z\n", R"({"a":"x y\nz"})"},
             {"a: |2\n   x\n", R"({"a":" x\n"})"},
             {"a: &x 1\nb: *x", R"({"a":1,"b":1})"},
             {"base: &b {x: 1, z: 2}\nc:\n  <<: *b\n  z: 3",
              R"({"base":{"x":1,"z":2},"c":{"x":1,"z":3}})"},
             {"c:\n  <<: [{a: 1}, {a: 2, b: 3}]\n", R"({"c":{"a":1,"b":3}})"},
             {"{x: 1, <<: {x: 2}}", R"({"x":2})"},
             {"'<<': {a: 1}", R"({"<<":{"a":1}})"},
             {"{1: a, true: b, 1.5: d, 0x10: e}", R"({"1":"a","true":"b","1.5":"d","16":"e"})"},
             {"? a\n: b", R"({"a":"b"})"},
             {"{a,b}", R"({"a":null,"b":null})"},
             {"%YAML 1.1\n---\na: 1", R"({"a":1})"},
             {"\xef\xbb\xbf"
              "a: 1",
              R"({"a":1})"},
             {R"({"a": "\ud83d\ude00"})", "{\"a\":\"\U0001F600\"}"},
         }) {
        CHECK_MESSAGE(json_of(row.yaml) == row.json, row.yaml);
    }
    const std::vector<Parsed> documents = parsed("# none\n---\na: 1\n---\n---\nnull\n--- b\n...\n");
    REQUIRE(documents.size() == 2);
    CHECK(documents[0].value == value_of(R"({"a":1})"));
    CHECK(documents[1].value == Value("b"));
    CHECK(parsed("").empty());
}

TEST_CASE("a member that stands twice is reported with its path and the last one wins") {
    const std::vector<Parsed> documents =
        parsed("spec:\n  a: 1\n  c:\n  - x: 1\n    x: 2\n  a: 3\n---\n1: a\n'1': b\n");
    CHECK(documents[0].duplicates == std::vector<std::string>{"spec.c[0].x", "spec.a"});
    CHECK(to_json(documents[0].value) == R"({"spec":{"a":3,"c":[{"x":2}]}})");
    CHECK(documents[1].duplicates == std::vector<std::string>{"1"});
    CHECK(parsed("x: &x {a: 1}\nz:\n  <<: *x\n  a: 2\n")[0].duplicates.empty());
}

TEST_CASE("faults name their line") {
    for (const Row& row : std::initializer_list<Row>{
             {"a: b: c", "yaml: line 1: mapping values are not allowed in this context"},
             {"a: 1\n\tb: 2", "yaml: line 2: found a tab character that violates indentation"},
             {"a: 1\nb: *x", "yaml: line 2: unknown anchor 'x' referenced"},
             {"a: &x\n- *x", "yaml: line 2: anchor 'x' value contains itself"},
             {"a: 1\nb: .nan", "yaml: line 2: unsupported value: .nan"},
             {"<<: 1", "yaml: line 1: map merge requires map or sequence of maps as the value"},
             {"[a]: 1", "yaml: line 1: invalid map key: it must be a scalar"},
             {"~: 1", "yaml: line 1: unsupported map key: null; put it in quotes"},
             {"a: !!int x", "yaml: line 1: cannot decode `x` as a !!int"},
         }) {
        CHECK(fault(row.yaml) == row.json);
    }
    CHECK(fault("a: \xff").starts_with("yaml: "));
}

TEST_CASE("aliases and depth are bounded") {
    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 9; ++i) {
        const std::string before = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int j = 0; j < 9; ++j)
            bomb += before + (j < 8 ? "," : "]\n");
    }
    CHECK(fault(bomb).find("excessive aliasing") != std::string::npos);
    CHECK(fault(std::string(5000, '[')).starts_with("yaml: line 1: "));
    std::string steps;
    for (std::size_t i = 0; i < 1500; ++i)
        steps += std::string(i, ' ') + "a:\n";
    CHECK(fault(steps).find("max") != std::string::npos);
}

TEST_CASE("YAML is written as kubectl writes it") {
    const std::string line(40, 'x');
    for (const auto& [json, yaml] : std::initializer_list<std::pair<std::string, std::string>>{
             {R"({"b":[1,{"c":2,"d":[]}],"a":1,"e":{},"f":null,"g":true})",
              "a: 1\nb:\n- 1\n- c: 2\n  d: []\ne: {}\nf: null\ng: true\n"},
             {R"({"a10":1,"a2":2,"B":3,"_":5,"-":6,"1":7,"10":8,"9":9})",
              "'-': 6\n_: 5\n\"1\": 7\n\"9\": 9\n\"10\": 8\nB: 3\na2: 2\na10: 1\n"},
             {R"(["yes","1","null","~","","a: b","#x","- a","it's","1:30","2001-01-01","a\nb"])",
              "- \"yes\"\n- \"1\"\n- \"null\"\n- \"~\"\n- \"\"\n- 'a: b'\n- '#x'\n- '- a'\n- it's\n"
              "- \"1:30\"\n- \"2001-01-01\"\n- |-\n  a\n  b\n"},
             {R"({"a":"b\n","c":"d\n\n","e":"x \ny"})", "a: |\n  b\nc: |+\n  d\n\ne: \"x \\ny\"\n"},
             {R"([1e6,1.5,123456789.5,0.00001,[[1]],[{"b":[1]}]])",
              "- 1e+06\n- 1.5\n- 1.234567895e+08\n- 1e-05\n- - - 1\n- - b:\n    - 1\n"},
             {"[\"" + line + " " + line + " " + line + "\"]",
              "- " + line + " " + line + "\n  " + line + "\n"},
         }) {
        CHECK(to_yaml(value_of(json)) == yaml);
    }
}

Value random_value(Random& random, int depth) {
    static constexpr std::string_view pieces[] = {
        "a",    "b c",    " ",          "\n", "'",  "\"",         ": ",
        "#",    "- ",     "?",          "|",  ">",  "%",          "@",
        "&",    "*",      "!",          "[",  "]",  "{",          "}",
        ",",    "0",      "1.5",        "e3", "_",  "~",          "yes",
        "null", "\u00fc", "\U0001F600", "\t", "\\", "2001-01-01", "a long word or two "};
    const std::uint64_t kind = random.below(depth > 0 ? 7 : 5);
    if (kind == 0) return random.below(3) == 0 ? Value() : Value(random.below(2) == 0);
    if (kind == 1) return static_cast<std::int64_t>(random.next() >> random.below(64));
    if (kind == 2) return static_cast<double>(random.below(1u << 30)) * 1e-5;
    std::string text;
    for (std::uint64_t left = random.below(8); left > 0; --left)
        text += pieces[random.below(std::size(pieces))];
    if (kind < 5) return text;
    Value value = kind == 5 ? Value::array() : Value::object();
    for (std::uint64_t left = random.below(5); left > 0; --left) {
        if (kind == 5) {
            value.push(random_value(random, depth - 1));
        } else {
            value.set(text + std::to_string(left), random_value(random, depth - 1));
        }
    }
    return value;
}

TEST_CASE("random values survive the way to YAML and back") {
    Random random(6);
    for (int round = 0; round < 2000; ++round) {
        const Value value = Value::array({random_value(random, 4)});
        const std::string yaml = to_yaml(value);
        auto read = parse_yaml(yaml);
        REQUIRE_MESSAGE(std::holds_alternative<std::vector<Parsed>>(read), yaml);
        REQUIRE_MESSAGE(std::get<0>(read)[0].value == value, yaml);
    }
}

TEST_CASE("random damage never crashes, and what is accepted can be written and read again") {
    Random random(7);
    for (int round = 0; round < 4000; ++round) {
        std::string text = to_yaml(Value::object({{"a", random_value(random, 3)}}));
        for (std::uint64_t hits = 1 + random.below(4); hits > 0; --hits) {
            const std::size_t at = random.below(text.size());
            if (random.below(2) == 0) {
                text[at] = "{}[]:#-&*!|>'\"%@?, \n\t\x80\x01"[random.below(23)];
            } else {
                text.insert(at, 1, "{}[]:-&*a <~"[random.below(12)]);
            }
        }
        auto read = parse_yaml(text);
        if (std::holds_alternative<ParseError>(read)) continue;
        for (const Parsed& document : std::get<0>(read))
            REQUIRE_MESSAGE(parsed(to_yaml(Value::array({document.value})))[0].value ==
                                Value::array({document.value}),
                            text);
    }
}

}  // namespace
}  // namespace muster::api
