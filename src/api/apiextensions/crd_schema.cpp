// api/apiextensions/crd_schema.cpp - from the JSON Schema of a definition to the schema that
// prunes, defaults, merges and checks its objects.
#include "api/apiextensions/crd_schema.h"

#include <utility>

#include <re2/re2.h>

#include "api/checks.h"
#include "base/verify.h"

namespace muster::api {
namespace {

using Type = Schema::Type;

bool is_set(const Value& document, std::string_view name) {
    return document[name].boolean_or(false);
}

std::vector<std::string> texts_of(const Value& list) {
    std::vector<std::string> texts;
    for (const Value& text : list.items())
        texts.push_back(text.text());
    return texts;
}

CheckedRule rule_of(const Value& document) {
    CheckedRule made{CelRule(document["rule"].text_or("")), document["rule"].text(),
                     document["message"].text()};
    if (const std::string_view text = document["messageExpression"].text_or(""); !text.empty())
        made.message_expression.emplace(text);
    if (document["reason"].is_string()) made.reason = document["reason"].text();
    made.field_path = document["fieldPath"].text();
    made.optional_old_self = is_set(document, "optionalOldSelf");
    return made;
}

void set_sizes(const Value& document, Checks& checks) {
    const auto number = [&](std::string_view name) -> std::optional<double> {
        const Value& given = document[name];
        return given.is_number() ? std::optional(given.as_real()) : std::nullopt;
    };
    const auto count = [&](std::string_view name) -> std::optional<std::int64_t> {
        const Value& given = document[name];
        return given.is_integer() ? std::optional(given.as_integer()) : std::nullopt;
    };
    checks.minimum = number("minimum");
    checks.maximum = number("maximum");
    checks.multiple_of = number("multipleOf");
    checks.exclusive_minimum = is_set(document, "exclusiveMinimum");
    checks.exclusive_maximum = is_set(document, "exclusiveMaximum");
    checks.min_length = count("minLength");
    checks.max_length = count("maxLength");
    checks.min_items = count("minItems");
    checks.max_items = count("maxItems");
    checks.min_properties = count("minProperties");
    checks.max_properties = count("maxProperties");
}

using ChecksPtr = std::shared_ptr<const Checks>;

/// Of a schema below allOf, anyOf, oneOf or not, whose parts have no shape of their own.
ChecksPtr composed_checks(const Value& document);

void set_limits(const Value& document, Checks& checks) {
    set_sizes(document, checks);
    checks.pattern = document["pattern"].text();
    if (!checks.pattern.empty())
        checks.expression = std::make_shared<const RE2>(checks.pattern, RE2::Quiet);
    checks.format = document["format"].text();
    checks.allowed = document["enum"].items();
    checks.required = texts_of(document["required"]);
    const auto add = [&](std::string_view name, std::vector<ChecksPtr>& into) {
        for (const Value& each : document[name].items())
            into.push_back(composed_checks(each));
    };
    add("allOf", checks.all_of);
    add("anyOf", checks.any_of);
    add("oneOf", checks.one_of);
    if (document["not"].is_object()) checks.none_of = composed_checks(document["not"]);
    for (const Value& rule : document["x-kubernetes-validations"].items())
        checks.rules.push_back(rule_of(rule));
    checks.rules_below = !checks.rules.empty();
}

ChecksPtr composed_checks(const Value& document) {
    auto checks = std::make_shared<Checks>();
    checks->type = document["type"].text();
    set_limits(document, *checks);
    for (const Value::Member& property : document["properties"].members())
        checks->properties.emplace(property.key, composed_checks(property.value));
    if (document["items"].is_object()) checks->items = composed_checks(document["items"]);
    if (document["additionalProperties"].is_object())
        checks->additional = composed_checks(document["additionalProperties"]);
    return checks;
}

Type type_of(const Value& document) {
    if (is_set(document, "x-kubernetes-int-or-string")) return Type::int_or_string;
    const std::string_view type = document["type"].text_or("");
    if (type == "string") return Type::string;
    if (type == "integer") return Type::integer;
    if (type == "number") return Type::number;
    if (type == "boolean") return Type::boolean;
    if (type == "array") return Type::list;
    if (type != "object") return Type::any;
    const Value& additional = document["additionalProperties"];
    return additional.is_object() || additional.boolean_or(false) ? Type::map : Type::object;
}

void set_list(const Value& document, Schema& schema) {
    schema.list_keys = texts_of(document["x-kubernetes-list-map-keys"]);
    const std::string_view kind = document["x-kubernetes-list-type"].text_or("atomic");
    if (kind == "set") schema.list_kind = ListKind::set;
    if (kind == "map") schema.list_kind = ListKind::map;
    schema.unique_keys = schema.list_kind != ListKind::atomic;
}

enum class Place { root, inside };

std::shared_ptr<const Schema> parse(const Value& document, Place place);

Schema::Field plain_field(const char* name) {
    static const auto text = std::make_shared<const Schema>([] {
        Schema schema;
        schema.type = Type::string;
        auto checks = std::make_shared<Checks>();
        checks->type = "string";
        schema.checks = std::move(checks);
        return schema;
    }());
    Schema::Field field;
    field.name = name;
    field.schema = text;
    return field;
}

/// apiVersion, kind and metadata, which every object has, whatever the definition says of them.
void add_own_fields(Schema& schema) {
    for (const char* name : {"apiVersion", "kind"}) {
        if (schema.find_field(name) == nullptr) schema.fields.push_back(plain_field(name));
    }
    std::erase_if(schema.fields,
                  [](const Schema::Field& field) { return field.name == "metadata"; });
    Schema::Field metadata;
    metadata.name = "metadata";
    metadata.schema = schema_of("meta.v1.ObjectMeta");
    schema.fields.push_back(std::move(metadata));
}

void set_fields(const Value& document, Schema& schema) {
    for (const Value::Member& property : document["properties"].members()) {
        Schema::Field field;
        field.name = property.key;
        field.schema = parse(property.value, Place::inside);
        if (property.value.has("default")) field.default_value = property.value["default"];
        schema.fields.push_back(std::move(field));
    }
}

bool has_rules(const Schema& schema) {
    return schema.checks != nullptr && schema.checks->rules_below;
}

std::shared_ptr<const Schema> parse(const Value& document, Place place) {
    auto schema = std::make_shared<Schema>();
    auto checks = std::make_shared<Checks>();
    schema->type = type_of(document);
    schema->nullable = is_set(document, "nullable");
    schema->atomic_map = document["x-kubernetes-map-type"].text_or("") == "atomic";
    schema->embedded_object = is_set(document, "x-kubernetes-embedded-resource");
    schema->keeps_unknown = is_set(document, "x-kubernetes-preserve-unknown-fields");
    checks->type = document["type"].text();
    checks->nullable = schema->nullable;
    checks->embedded = schema->embedded_object;
    set_limits(document, *checks);
    if (schema->type == Type::object) {
        set_fields(document, *schema);
        if (place == Place::root || schema->embedded_object) add_own_fields(*schema);
        // Only what the name of an object may be is said of metadata.
        if (place == Place::root && !document["properties"]["metadata"]["properties"].empty())
            checks->properties["metadata"] = composed_checks(document["properties"]["metadata"]);
        for (const Schema::Field& field : schema->fields)
            checks->rules_below = checks->rules_below || has_rules(*field.schema);
    } else if (schema->type == Type::list) {
        set_list(document, *schema);
        schema->element = parse(document["items"], Place::inside);
    } else if (schema->type == Type::map) {
        schema->element = parse(document["additionalProperties"], Place::inside);
    }
    if (schema->element && has_rules(*schema->element)) checks->rules_below = true;
    schema->checks = std::move(checks);
    return schema;
}

}  // namespace

std::shared_ptr<const Schema> parse_crd_schema(const Value& document) {
    return parse(document, Place::root);
}

std::variant<std::shared_ptr<const Schema>, std::vector<FieldError>> read_crd_schema(
    const Value& document) {
    std::vector<FieldError> faults = crd_schema_faults(document, Path());
    if (!faults.empty()) return faults;
    return parse_crd_schema(document);
}

}  // namespace muster::api
