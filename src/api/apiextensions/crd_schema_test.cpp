// api/apiextensions/crd_schema_test.cpp - schemas that definitions bring: which are refused and
// why, and what those that are taken make of objects.
#include "api/apiextensions/crd_schema.h"

#include <string>

#include <doctest/doctest.h>

#include "api/parsed_text.h"
#include "api/rules.h"

namespace muster::api {
namespace {

std::string told(const std::vector<FieldError>& errors) {
    std::string text;
    for (const FieldError& error : errors)
        text += error.field + ": " + error.text + "\n";
    return text;
}

/// What is wrong with a schema whose spec is this.
std::string faults_of_spec(const std::string& spec) {
    const Value document = parsed(R"({"type":"object","properties":{"spec":)" + spec + "}}");
    return told(crd_schema_faults(document, Path()));
}

std::shared_ptr<const Schema> taken(const std::string& spec) {
    auto read = read_crd_schema(parsed(R"({"type":"object","properties":{"spec":)" + spec + "}}"));
    if (const auto* errors = std::get_if<std::vector<FieldError>>(&read)) FAIL(told(*errors));
    return std::get<std::shared_ptr<const Schema>>(read);
}

/// What is wrong with an object that has this spec.
std::string faults(const Schema& schema, const std::string& spec, const std::string& old = "") {
    const auto object = [](const std::string& text) {
        return parsed(R"({"apiVersion":"e.io/v1","kind":"T","metadata":{"name":"t"},"spec":)" +
                      text + "}");
    };
    Value now = object(spec);
    prune(schema, now);
    apply_defaults(schema, now);
    std::vector<FieldError> errors = validate(schema, now);
    if (!errors.empty()) return told(errors);
    const Value before = old.empty() ? Value() : object(old);
    return told(broken_rules(schema, now, old.empty() ? nullptr : &before));
}

TEST_CASE("a schema that is not structural is refused with its place") {
    const std::pair<const char*, const char*> cases[] = {
        {R"({})", "properties[spec].type: Required value: must not be empty for specified object"},
        {R"({"type":"thing"})", "properties[spec].type: Unsupported value: \"thing\""},
        {R"({"type":"array"})", "properties[spec].items: Required value: must be specified"},
        {R"({"type":"array","items":{}})", "must not be empty for specified array items"},
        {R"({"type":"string","$ref":"#/definitions/a"})", "$ref is not supported"},
        {R"({"type":"object","definitions":{"a":{}}})", "definitions is not supported"},
        {R"({"type":"array","uniqueItems":true,"items":{"type":"string"}})", "quadratic"},
        {R"({"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true})",
         "additionalProperties and properties are mutual exclusive"},
        {R"({"type":"string","pattern":"("})", "must be a valid regular expression"},
        {R"({"type":"integer","x-kubernetes-int-or-string":true})", "must be empty if"},
        {R"({"type":"string","x-kubernetes-list-type":"set"})", "must be array if"},
        {R"({"type":"array","items":{"type":"object"},"x-kubernetes-list-type":"map"})",
         "must not be empty if x-kubernetes-list-type is map"},
        {R"({"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}}},)"
         R"("x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"]})",
         "it must have a default or be a required property"},
        {R"({"type":"string","anyOf":[{"type":"string"}]})", "must be empty to be structural"},
        {R"({"type":"object","oneOf":[{"properties":{"a":{}}}]})", "properties[a]: Required value"},
        {R"({"type":"string","default":1})", "must be of type string"},
        {R"({"type":"object","default":{"a":1}})", "must not have unknown fields: a"},
        {R"({"type":"object","x-kubernetes-embedded-resource":true})",
         "must not be empty if x-kubernetes-embedded-resource is true"},
    };
    for (const auto& [spec, wanted] : cases) {
        CAPTURE(spec);
        const std::string said = faults_of_spec(spec);
        CHECK_MESSAGE(said.find(wanted) != std::string::npos, said);
    }
    CHECK(told(crd_schema_faults(parsed(R"({"type":"string"})"), Path()))
              .find("type: Invalid value: \"string\": must be object at the root") !=
          std::string::npos);
    CHECK(told(crd_schema_faults(Value("text"), Path())).find("Required value") !=
          std::string::npos);
}

TEST_CASE("a rule that is not known here is refused, not ignored") {
    const auto said = [](const std::string& rule) {
        return faults_of_spec(R"({"type":"object","properties":{"a":{"type":"string"}},)"
                              R"("x-kubernetes-validations":[{"rule":")" +
                              rule + R"("}]})");
    };
    CHECK(said("self.a != ''") == "");
    CHECK(said("self.a.startsWith('x') && self.a.size() < 3") == "");
    CHECK(said("self.a.frobnicate()").find("there is no function 'frobnicate'") !=
          std::string::npos);
    CHECK(said("self.b == 1").find("undefined field 'b'") != std::string::npos);
    CHECK(said("a == 1").find("undeclared reference to 'a'") != std::string::npos);
    CHECK(said("self.a ==").find("compilation failed") != std::string::npos);
    CHECK(said("").find("rule is not specified") != std::string::npos);
}

TEST_CASE("hostile schemas are refused, and nothing falls over") {
    std::string deep = R"({"type":"string"})";
    for (int i = 0; i < 200; ++i)
        deep = R"({"type":"object","properties":{"a":)" + deep + "}}";
    CHECK(faults_of_spec(deep).find("nested too deeply") != std::string::npos);
    std::string composed = "{}";
    for (int i = 0; i < 200; ++i)
        composed = R"({"not":)" + composed + "}";
    CHECK(faults_of_spec(R"({"type":"string","not":)" + composed + "}").find("nested too deeply") !=
          std::string::npos);
    std::string wide = R"({"type":"object","properties":{"a0":{"type":"string"})";
    for (int i = 1; i < 5000; ++i)
        wide += ",\"a" + std::to_string(i) + R"(":{"type":"string"})";
    CHECK(faults_of_spec(wide + "}}") == "");
    for (const char* odd :
         {R"({"type":1})", R"({"type":"object","properties":[1]})",
          R"({"type":"array","items":[]})", R"({"type":"object","required":{"a":1}})",
          R"({"type":"string","enum":"a"})",
          R"({"type":"object","x-kubernetes-validations":{"rule":1}})", R"(["a"])", R"("a")",
          "1"}) {
        CAPTURE(odd);
        auto read = read_crd_schema(
            parsed(std::string(R"({"type":"object","properties":{"spec":)") + odd + "}}"));
        if (const auto* schema = std::get_if<std::shared_ptr<const Schema>>(&read)) {
            Value object = parsed(R"({"spec":{"a":[1,{"b":null}]}})");
            static_cast<void>(validate(**schema, object));
            prune(**schema, object);
        }
    }
}

TEST_CASE("unknown fields go, unless they are kept") {
    const auto schema =
        taken(R"({"type":"object","properties":{"a":{"type":"string"},)"
              R"("open":{"type":"object","x-kubernetes-preserve-unknown-fields":true,)"
              R"("properties":{"b":{"type":"object","properties":{"c":{"type":"string"}}}}}}})");
    Value object = parsed(R"({"spec":{"a":"1","x":1,"open":{"y":{"z":1},"b":{"c":"1","d":2}}}})");
    CHECK(unknown_fields(*schema, object) == std::vector<std::string>{"spec.x", "spec.open.b.d"});
    prune(*schema, object);
    CHECK(object == parsed(R"({"spec":{"a":"1","open":{"y":{"z":1},"b":{"c":"1"}}}})"));
}

TEST_CASE("a null where none may stand is not given, unless it is an item") {
    const auto schema = taken(
        R"({"type":"object","properties":{"a":{"type":"string"},)"
        R"("kept":{"type":"string","nullable":true},"open":{"x-kubernetes-preserve-unknown-fields":true},)"
        R"("list":{"type":"array","items":{"type":"string"}},)"
        R"("map":{"type":"object","additionalProperties":{"type":"string"}}}})");
    Value object = parsed(
        R"({"spec":{"a":null,"kept":null,"open":null,"list":[null],"map":{"x":null,"y":"1"}}})");
    prune(*schema, object);
    CHECK(object == parsed(R"({"spec":{"kept":null,"list":[null],"map":{"y":"1"}}})"));
}

TEST_CASE("defaults fill what is not there, also inside what they filled") {
    const auto schema =
        taken(R"({"type":"object","default":{},"properties":{"n":{"type":"integer","default":3},)"
              R"("s":{"type":"string","nullable":true,"default":"x"}}})");
    Value object = parsed("{}");
    apply_defaults(*schema, object);
    CHECK(object == parsed(R"({"spec":{"n":3,"s":"x"}})"));
    object = parsed(R"({"spec":{"n":null,"s":null}})");
    apply_defaults(*schema, object);
    CHECK(object == parsed(R"({"spec":{"n":3,"s":null}})"));
}

TEST_CASE("types, limits and formats are those of the definition") {
    const auto schema = taken(
        R"({"type":"object","required":["n"],"properties":{)"
        R"("n":{"type":"integer","format":"int32","minimum":1,"maximum":9,"exclusiveMaximum":true},)"
        R"("r":{"type":"number","multipleOf":0.5},"s":{"type":"string","maxLength":3,"pattern":"^a"},)"
        R"("e":{"type":"string","enum":["x","y"]},"t":{"type":"string","format":"date-time"},)"
        R"("i":{"type":"string","format":"ipv4"},"u":{"x-kubernetes-int-or-string":true},)"
        R"("l":{"type":"array","items":{"type":"string"},"maxItems":2,"x-kubernetes-list-type":"set"},)"
        R"("m":{"type":"object","additionalProperties":{"type":"integer"},"maxProperties":1}}})");
    CHECK(faults(*schema, R"({"n":1,"r":1.5,"s":"ab","e":"x","u":"50%","l":["a"],"m":{"k":1}})") ==
          "");
    const std::pair<const char*, const char*> cases[] = {
        {R"({})", "spec.n: Required value\n"},
        {R"({"n":null})", "spec.n: Required value\n"},
        {R"({"n":1.5})",
         "<nil>: Invalid value: \"\": Checked value must be of type integer with "
         "format int32 in spec.n"},
        {R"({"n":1,"l":[null]})", "spec.l[0] in body must be of type string: \"null\""},
        {R"({"n":"1"})", "must be of type integer: \"string\""},
        {R"({"n":9})", "spec.n in body should be less than 9"},
        {R"({"n":0})", "spec.n in body should be greater than or equal to 1"},
        {R"({"n":1,"r":1.2})", "should be a multiple of 0.5"},
        {R"({"n":1,"s":"abcd"})", "Too long: may not be more than 3 bytes"},
        {R"({"n":1,"s":"b"})", "should match '^a'"},
        {R"({"n":1,"e":"z"})", "Unsupported value: \"z\": supported values: \"x\", \"y\""},
        {R"({"n":1,"e":""})", "Unsupported value: \"\""},
        {R"({"n":1,"t":"yesterday"})", "must be of type date-time: \"yesterday\""},
        {R"({"n":1,"i":"1.2.3.256"})", "must be of type ipv4"},
        {R"({"n":1,"u":true})", "integer,string"},
        {R"({"n":1,"l":["a","a"]})", "spec.l[1]: Duplicate value: \"a\""},
        {R"({"n":1,"l":["a","b","c"]})", "Too many: 3: must have at most 2 items"},
        {R"({"n":1,"m":{"a":"1"}})", "spec.m.a: Invalid value"},
    };
    for (const auto& [spec, wanted] : cases) {
        CAPTURE(spec);
        const std::string said = faults(*schema, spec);
        CHECK_MESSAGE(said.find(wanted) != std::string::npos, said);
    }
}

TEST_CASE("compositions") {
    const auto schema = taken(
        R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},)"
        R"("oneOf":[{"required":["a"]},{"required":["b"]}],)"
        R"("not":{"properties":{"a":{"enum":["bad"]}},"required":["a"]},)"
        R"("anyOf":[{"properties":{"a":{"maxLength":3}}},{"properties":{"b":{"maxLength":3}}}]})");
    CHECK(faults(*schema, R"({"a":"x"})") == "");
    CHECK(faults(*schema, R"({"a":"x","b":"y"})")
              .find("\"spec\" must validate one and only one schema (oneOf). Found 2 valid "
                    "alternatives") != std::string::npos);
    CHECK(faults(*schema, R"({})").find("(oneOf). Found none valid") != std::string::npos);
    CHECK(faults(*schema, R"({"a":"bad"})").find("must not validate the schema (not)") !=
          std::string::npos);
}

TEST_CASE("the rules of one object may take only so much together") {
    const auto schema = taken(
        R"x({"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"},)x"
        R"x("x-kubernetes-validations":[{"rule":"self.all(x, self.exists(y, y == x))"}]},)x"
        R"x("m":{"type":"array","items":{"type":"integer","x-kubernetes-validations":[)x"
        R"x({"rule":"[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, self != a - b))"}]}}}})x");
    std::string items = "100";
    for (int i = 0; i < 40'000; ++i)
        items += ",100";
    CHECK(faults(*schema, R"({"m":[)" + items + "]}").find("running out of cost budget") !=
          std::string::npos);
    CHECK(faults(*schema, R"({"l":[1,2,3]})") == "");
}

TEST_CASE("rules are asked, of changes too, and say what they are told to say") {
    const auto schema = taken(
        R"x({"type":"object","properties":{"min":{"type":"integer"},"max":{"type":"integer"},)x"
        R"x("name":{"type":"string","x-kubernetes-validations":[)x"
        R"x({"rule":"self == oldSelf","message":"is immutable"}]}},)x"
        R"x("x-kubernetes-validations":[{"rule":"!has(self.min) || !has(self.max) || self.min <= self.max",)x"
        R"x("messageExpression":"'min %d is above max %d'.format([self.min, self.max])",)x"
        R"x("reason":"FieldValueForbidden","fieldPath":".min"}]})x");
    CHECK(faults(*schema, R"x({"min":1,"max":2})x") == "");
    CHECK(faults(*schema, R"x({"min":3,"max":2})x") ==
          "spec.min: Forbidden: min 3 is above max 2\n");
    CHECK(faults(*schema, R"x({"name":"b"})x") == "");
    CHECK(faults(*schema, R"x({"name":"b"})x", R"x({"name":"a"})x") ==
          "spec.name: Invalid value: \"b\": is immutable\n");
    const auto optional =
        taken(R"x({"type":"string","x-kubernetes-validations":[{"rule":)x"
              R"x("!oldSelf.hasValue() || oldSelf.value() == self","optionalOldSelf":true}]})x");
    CHECK(faults(*optional, R"x("a")x") == "");
    CHECK(faults(*optional, R"x("b")x", R"x("a")x").find("failed rule") != std::string::npos);
}

}  // namespace
}  // namespace muster::api
