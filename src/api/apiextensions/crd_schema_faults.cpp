// api/apiextensions/crd_schema_faults.cpp - what the schema of a CustomResourceDefinition may not
// be: it has to be structural, and its parts have to go together.
#include <algorithm>
#include <array>
#include <string_view>

#include <re2/re2.h>

#include "api/apiextensions/crd_schema.h"
#include "api/cel.h"
#include "api/cel_shape.h"
#include "api/checks.h"
#include "api/field_error.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Errors = std::vector<FieldError>;

/// Where a schema stands.
enum class Level { root, field, item };

bool is_set(const Value& document, std::string_view name) {
    return document[name].boolean_or(false);
}

std::string_view type_of(const Value& document) {
    return document["type"].text_or("");
}

/// One walk through a document.
class Walk {
public:
    explicit Walk(Errors& errors) : errors_(errors) {}

    void schema(const Value& document, Level level, const Path& path);

private:
    void refuse(const Path& path, std::string_view why) { errors_.push_back(forbidden(path, why)); }
    void wrong(const Path& path, const Value& value, std::string_view why) {
        errors_.push_back(invalid(path, value, why));
    }
    void unsupported(const Value& document, const Path& path);
    void type(const Value& document, Level level, const Path& path);
    void object(const Value& document, Level level, const Path& path);
    void own_fields(const Value& document, Level level, const Path& path);
    void list(const Value& document, const Path& path);
    void list_keys(const Value& document, const Path& path);
    void set_items(const Value& document, const Path& path);
    void limits(const Value& document, const Path& path);
    void compositions(const Value& document, const Value& structure, const Path& path);
    void composed(const Value& document, const Value& structure, const Path& path);
    void composed_members(const Value& document, const Value& structure, const Path& path);
    void rules(const Value& document, const Path& path);
    void rule(const Value& rule, const Value& document, const Path& path);
    void default_value(const Value& document, const Path& path);

    Errors& errors_;
    int depth_ = 0;
};

/// JSON Schema has them, structural schemas do not.
void Walk::unsupported(const Value& document, const Path& path) {
    for (const char* name :
         {"id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"}) {
        const Value& given = document[name];
        const bool empty = given.is_null() || (given.is_object() && given.empty()) ||
                           (given.is_string() && given.as_string().empty());
        if (!empty) refuse(path.child(name), std::string(name) + " is not supported");
    }
    if (is_set(document, "uniqueItems")) {
        refuse(path.child("uniqueItems"),
               "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    }
}

void Walk::type(const Value& document, Level level, const Path& path) {
    const std::string_view type = type_of(document);
    const bool either = is_set(document, "x-kubernetes-int-or-string");
    const bool keeps = is_set(document, "x-kubernetes-preserve-unknown-fields");
    const Path at = path.child("type");
    if (type == "null") refuse(at, "type cannot be set to null, use nullable as an alternative");
    static const std::vector<std::string> known{"array",  "boolean", "integer",
                                                "number", "object",  "string"};
    const bool is_known = std::find(known.begin(), known.end(), type) != known.end();
    if (!type.empty() && !is_known) errors_.push_back(not_supported(at, document["type"], known));
    if (either && !type.empty())
        wrong(at, document["type"], "must be empty if x-kubernetes-int-or-string is true");
    if (either && keeps) {
        wrong(path.child("x-kubernetes-preserve-unknown-fields"), Value(true),
              "must be false if x-kubernetes-int-or-string is true");
    }
    if (level == Level::root && type != "object") {
        if (type.empty()) errors_.push_back(required(at, "must be object at the root"));
        if (!type.empty()) wrong(at, document["type"], "must be object at the root");
    } else if (type.empty() && !either && !keeps) {
        errors_.push_back(required(at, level == Level::item
                                           ? "must not be empty for specified array items"
                                           : "must not be empty for specified object fields"));
    }
    const Value& keep = document["x-kubernetes-preserve-unknown-fields"];
    if (keep.is_boolean() && !keep.as_boolean()) {
        wrong(path.child("x-kubernetes-preserve-unknown-fields"), keep,
              "must be true or undefined");
    }
}

/// apiVersion, kind and metadata are what they are.
void Walk::own_fields(const Value& document, Level level, const Path& path) {
    const Path properties = path.child("properties");
    for (const char* name : {"apiVersion", "kind"}) {
        const Value& given = document["properties"][name];
        if (given.is_object() && type_of(given) != "string") {
            const Path at = properties.key(name);
            wrong(at.child("type"), given["type"], "must be string");
        }
    }
    const Value& metadata = document["properties"]["metadata"];
    if (!metadata.is_object()) return;
    const Path at = properties.key("metadata");
    if (type_of(metadata) != "object") wrong(at.child("type"), metadata["type"], "must be object");
    for (const Value::Member& member : metadata["properties"].members()) {
        if (level == Level::root && (member.key == "name" || member.key == "generateName")) {
            const Path parts = at.child("properties");
            schema(member.value, Level::field, parts.key(member.key));
            continue;
        }
        refuse(at, level == Level::root
                       ? "must not specify anything other than name and generateName, but "
                         "metadata is implicitly specified"
                       : "must not be specified in a nested object");
        return;
    }
}

void Walk::object(const Value& document, Level level, const Path& path) {
    const bool embedded = is_set(document, "x-kubernetes-embedded-resource");
    const Value& additional = document["additionalProperties"];
    const Value& properties = document["properties"];
    if (embedded) {
        if (type_of(document) != "object") {
            errors_.push_back(required(path.child("type"),
                                       "must be object if x-kubernetes-embedded-resource is true"));
        }
        if (!additional.is_null()) {
            refuse(path.child("additionalProperties"),
                   "must not be used if x-kubernetes-embedded-resource is set");
        }
        if (properties.empty() && !is_set(document, "x-kubernetes-preserve-unknown-fields")) {
            errors_.push_back(required(path.child("properties"),
                                       "must not be empty if x-kubernetes-embedded-resource is "
                                       "true without x-kubernetes-preserve-unknown-fields"));
        }
    }
    if (embedded || level == Level::root) own_fields(document, level, path);
    if (!additional.is_null()) {
        const Path at = path.child("additionalProperties");
        if (!properties.empty())
            refuse(at, "additionalProperties and properties are mutual exclusive");
        if (additional.is_boolean() && !additional.as_boolean())
            refuse(at, "additionalProperties cannot be set to false");
        if (level == Level::root) refuse(at, "must not be used at the root");
        if (additional.is_object()) schema(additional, Level::field, at);
    }
    const Path at = path.child("properties");
    for (const Value::Member& property : properties.members()) {
        if (level == Level::root && property.key == "metadata") continue;
        schema(property.value, Level::field, at.key(property.key));
    }
    const Value& map_type = document["x-kubernetes-map-type"];
    if (map_type.is_null()) return;
    const Path of_map = path.child("x-kubernetes-map-type");
    if (type_of(document) != "object")
        wrong(path.child("type"), document["type"],
              "must be object if x-kubernetes-map-type is specified");
    if (map_type.text_or("") != "atomic" && map_type.text_or("") != "granular")
        errors_.push_back(not_supported(of_map, map_type, {"atomic", "granular"}));
}

void Walk::set_items(const Value& document, const Path& path) {
    const Value& items = document["items"];
    const Path at = path.child("items");
    if (is_set(items, "nullable"))
        refuse(at.child("nullable"), "cannot be nullable when x-kubernetes-list-type is set");
    if (type_of(items) == "array" && items["x-kubernetes-list-type"].text_or("") != "atomic" &&
        !items["x-kubernetes-list-type"].is_null()) {
        wrong(at.child("x-kubernetes-list-type"), items["x-kubernetes-list-type"],
              "must be atomic as item of a list with x-kubernetes-list-type=set");
    }
    if (type_of(items) == "object" && items["x-kubernetes-map-type"].text_or("") != "atomic") {
        wrong(at.child("x-kubernetes-map-type"), items["x-kubernetes-map-type"],
              "must be atomic as item of a list with x-kubernetes-list-type=set");
    }
}

void Walk::list_keys(const Value& document, const Path& path) {
    const Value& keys = document["x-kubernetes-list-map-keys"];
    const Value& items = document["items"];
    const Path at = path.child("x-kubernetes-list-map-keys");
    const Path of_items = path.child("items");
    const Path properties = of_items.child("properties");
    if (keys.empty()) {
        errors_.push_back(required(at, "must not be empty if x-kubernetes-list-type is map"));
    }
    if (items.is_object() && type_of(items) != "object") {
        wrong(of_items.child("type"), items["type"],
              "must be object if parent array's x-kubernetes-list-type is map");
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const std::string key = keys[i].text();
        const Value& property = items["properties"][key];
        if (!property.is_object()) {
            wrong(at.item(i), keys[i], "must be the name of a property in items.properties");
            continue;
        }
        const Path of_key = properties.key(key);
        if (type_of(property) == "array" || type_of(property) == "object") {
            wrong(of_key.child("type"), property["type"],
                  "must be a scalar type if parent array's x-kubernetes-list-type is map");
        }
        const auto& must = items["required"].items();
        const bool is_required = std::find(must.begin(), must.end(), Value(key)) != must.end();
        if (!is_required && !property.has("default")) {
            errors_.push_back(required(of_key.child("default"),
                                       "this property is in x-kubernetes-list-map-keys, so it "
                                       "must have a default or be a required property"));
        }
        if (is_set(property, "nullable")) {
            refuse(of_key.child("nullable"),
                   "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
        }
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            if (keys[i] == keys[j]) errors_.push_back(duplicate(at.item(i), keys[i]));
        }
    }
}

void Walk::list(const Value& document, const Path& path) {
    if (type_of(document) == "array" && !document["items"].is_object())
        errors_.push_back(required(path.child("items"), "must be specified"));
    if (document["items"].is_object()) schema(document["items"], Level::item, path.child("items"));
    const Value& list_type = document["x-kubernetes-list-type"];
    const std::string_view kind = list_type.text_or("");
    if (!document["x-kubernetes-list-map-keys"].empty() && kind != "map") {
        wrong(path.child("x-kubernetes-list-type"), list_type,
              "must be map if x-kubernetes-list-map-keys is non-empty");
    }
    if (list_type.is_null()) return;
    if (type_of(document) != "array") {
        wrong(path.child("type"), document["type"],
              "must be array if x-kubernetes-list-type is specified");
        return;
    }
    if (kind == "set") {
        set_items(document, path);
    } else if (kind == "map") {
        list_keys(document, path);
    } else if (kind != "atomic") {
        errors_.push_back(not_supported(path.child("x-kubernetes-list-type"), list_type,
                                        {"atomic", "map", "set"}));
    }
}

void Walk::limits(const Value& document, const Path& path) {
    const std::string pattern = document["pattern"].text();
    const RE2 expression(pattern, RE2::Quiet);
    if (!expression.ok()) {
        wrong(path.child("pattern"), document["pattern"],
              "must be a valid regular expression, but isn't: " + expression.error());
    }
    const Value& multiple = document["multipleOf"];
    if (multiple.is_number() && multiple.as_real() <= 0)
        wrong(path.child("multipleOf"), multiple, "must be greater than 0");
    for (const char* name :
         {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}) {
        if (document[name].is_integer() && document[name].as_integer() < 0)
            wrong(path.child(name), document[name], "must be greater than or equal to 0");
    }
}

/// `structure` is the schema with a shape that the composition is about.
void Walk::compositions(const Value& document, const Value& structure, const Path& path) {
    for (const char* name : {"allOf", "anyOf", "oneOf"}) {
        const Path at = path.child(name);
        const Value& list = document[name];
        for (std::size_t i = 0; i < list.size(); ++i)
            composed(list[i], structure, at.item(i));
    }
    if (document["not"].is_object()) composed(document["not"], structure, path.child("not"));
}

void Walk::composed(const Value& document, const Value& structure, const Path& path) {
    if (depth_ == crd_schema_depth_max) return refuse(path, "nested too deeply");
    ++depth_;
    unsupported(document, path);
    limits(document, path);
    const bool either = is_set(structure, "x-kubernetes-int-or-string");
    if (!type_of(document).empty() && !either)
        refuse(path.child("type"), "must be empty to be structural");
    for (const char* name :
         {"additionalProperties", "default", "x-kubernetes-preserve-unknown-fields",
          "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "x-kubernetes-list-type",
          "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "nullable", "description",
          "title"}) {
        const Value& given = document[name];
        const bool empty = given.is_null() || given == Value(false) || given == Value("");
        if (!empty) refuse(path.child(name), "must be undefined to be structural");
    }
    if (!document["x-kubernetes-validations"].empty()) {
        refuse(
            path.child("x-kubernetes-validations"),
            "rules inside allOf, anyOf, oneOf and not are not known to this server: put the rule "
            "beside them");
    }
    compositions(document, structure, path);
    composed_members(document, structure, path);
    --depth_;
}

void Walk::composed_members(const Value& document, const Value& structure, const Path& path) {
    const Path at = path.child("properties");
    for (const Value::Member& property : document["properties"].members()) {
        const Value* shape = structure["properties"].find(property.key);
        const Value& additional = structure["additionalProperties"];
        if (shape == nullptr && additional.is_object()) shape = &additional;
        if (shape == nullptr) {
            errors_.push_back(
                required(at.key(property.key),
                         "because it is defined in a composition, it must be one of the "
                         "properties of the schema itself"));
            continue;
        }
        composed(property.value, *shape, at.key(property.key));
    }
    if (!document["items"].is_object()) return;
    if (structure["items"].is_object()) {
        composed(document["items"], structure["items"], path.child("items"));
    } else {
        errors_.push_back(required(path.child("items"), "because it is defined in a composition"));
    }
}

void Walk::rules(const Value& document, const Path& path) {
    const Path at = path.child("x-kubernetes-validations");
    const Value& list = document["x-kubernetes-validations"];
    for (std::size_t i = 0; i < list.size(); ++i)
        rule(list[i], document, at.item(i));
}

void Walk::rule(const Value& rule, const Value& document, const Path& path) {
    static const std::vector<std::string> reasons{"FieldValueDuplicate", "FieldValueForbidden",
                                                  "FieldValueInvalid", "FieldValueRequired"};
    if (trim(rule["rule"].text_or("")).empty()) {
        errors_.push_back(required(path.child("rule"), "rule is not specified"));
        return;
    }
    const bool optional = is_set(rule, "optionalOldSelf");
    for (const char* name : {"rule", "messageExpression"}) {
        if (rule[name].text_or("").empty()) continue;
        const CelRule parsed(rule[name].text_or(""));
        std::string fault = parsed.error();
        // What an optional oldSelf holds is not followed.
        if (fault.empty() && !optional) fault = undeclared_in(parsed, document);
        if (!fault.empty()) wrong(path.child(name), rule[name], "compilation failed: " + fault);
    }
    if (optional && !CelRule(rule["rule"].text_or("")).is_of_change()) {
        wrong(path.child("optionalOldSelf"), Value(true),
              "may not be set if oldSelf is not used in rule");
    }
    if (rule["message"].text_or("").find('\n') != std::string_view::npos)
        wrong(path.child("message"), rule["message"], "message must not contain line breaks");
    const std::string reason = rule["reason"].text();
    const bool known = std::find(reasons.begin(), reasons.end(), reason) != reasons.end();
    if (!rule["reason"].is_null() && !known)
        errors_.push_back(not_supported(path.child("reason"), rule["reason"], reasons));
    const std::string_view field = rule["fieldPath"].text_or("");
    if (!field.empty() && field.front() != '.' && field.front() != '[') {
        wrong(path.child("fieldPath"), rule["fieldPath"],
              "fieldPath must be a valid path below the rule, beginning with a dot");
    }
}

/// A default has to be an object that could be sent: nothing is pruned from it, and it is valid.
void Walk::default_value(const Value& document, const Path& path) {
    const Value* given = document.find("default");
    if (given == nullptr || !errors_.empty()) return;
    const auto schema = parse_crd_schema(Value::object(
        {{"type", "object"}, {"properties", Value::object({{"default", document}})}}));
    const Schema& own = *schema->find_field("default")->schema;
    Value filled = *given;
    const Path at = path.child("default");
    for (const std::string& unknown : unknown_fields(own, filled))
        wrong(at, *given, "must not have unknown fields: " + unknown);
    apply_defaults(own, filled);
    std::vector<FieldError> found;
    check_against(own, filled, at, found);
    for (FieldError& error : found)
        errors_.push_back(std::move(error));
}

void Walk::schema(const Value& document, Level level, const Path& path) {
    if (depth_ == crd_schema_depth_max) return refuse(path, "nested too deeply");
    ++depth_;
    unsupported(document, path);
    type(document, level, path);
    object(document, level, path);
    list(document, path);
    limits(document, path);
    compositions(document, document, path);
    rules(document, path);
    if (level != Level::root) default_value(document, path);
    --depth_;
}

}  // namespace

std::vector<FieldError> crd_schema_faults(const Value& document, const Path& path) {
    std::vector<FieldError> errors;
    if (!document.is_object()) {
        errors.push_back(required(path, "schemas are required"));
        return errors;
    }
    Walk walk(errors);
    walk.schema(document, Level::root, path);
    return errors;
}

}  // namespace muster::api
