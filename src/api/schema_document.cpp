// api/schema_document.cpp - schemas as the components of an OpenAPI document.
#include "api/schema_document.h"

namespace muster::api {
namespace {

using Type = Schema::Type;

Value texts(const std::vector<std::string>& list) {
    Value array = Value::array();
    for (const std::string& text : list)
        array.push(text);
    return array;
}

Value either_form(const char* number) {
    return Value::object({{"oneOf", Value::array({Value::object({{"type", number}}),
                                                  Value::object({{"type", "string"}})})}});
}

/// Schemas that hold no others.
Value scalar(const Schema& schema) {
    switch (schema.type) {
        case Type::boolean:
            return Value::object({{"type", "boolean"}});
        case Type::integer:
        case Type::number: {
            const char* type = schema.type == Type::integer ? "integer" : "number";
            Value made = Value::object({{"type", type}});
            if (!schema.format.empty()) made.set("format", schema.format);
            return made;
        }
        case Type::time:
        case Type::micro_time:
            return Value::object({{"type", "string"}, {"format", "date-time"}});
        case Type::bytes:
            return Value::object({{"type", "string"}, {"format", "byte"}});
        case Type::int_or_string:
            return either_form("integer");
        case Type::quantity:
            return either_form("number");
        case Type::string:
            return Value::object({{"type", "string"}});
        default:
            break;
    }
    Value any = Value::object({{"type", "object"}});
    if (schema.embedded_object) any.set("x-kubernetes-preserve-unknown-fields", true);
    return any;
}

/// How clients merge the field in a strategic merge patch.
void add_patch_strategy(const Schema& schema, Value& made) {
    std::string strategy;
    if (schema.patch_merge) strategy = "merge";
    if (schema.patch_replace) strategy = "replace";
    if (schema.patch_retain_keys) strategy += strategy.empty() ? "retainKeys" : ",retainKeys";
    if (!strategy.empty()) made.set("x-kubernetes-patch-strategy", strategy);
    if (!schema.patch_merge_key.empty()) {
        made.set("x-kubernetes-patch-merge-key", schema.patch_merge_key);
    }
}

void add_field_extras(const Schema::Field& field, Value& made) {
    if (field.default_value) made.set("default", *field.default_value);
    if (!field.description.empty()) made.set("description", field.description);
}

}  // namespace

void add_limits(const Schema& schema, Value& made) {
    if (!schema.enum_values.empty()) made.set("enum", texts(schema.enum_values));
    if (!schema.pattern.empty()) made.set("pattern", schema.pattern);
    const auto add = [&made](const char* key, const std::optional<std::int64_t>& limit) {
        if (limit) made.set(key, *limit);
    };
    add("minimum", schema.minimum);
    add("maximum", schema.maximum);
    add("minLength", schema.min_length);
    add("maxLength", schema.max_length);
    add("minItems", schema.min_items);
    add("maxItems", schema.max_items);
    add("maxProperties", schema.max_properties);
    if (schema.nullable) made.set("nullable", true);
    if (schema.embedded_object) made.set("x-kubernetes-embedded-resource", true);
}

void add_list_kind(const Schema& schema, Value& made) {
    static constexpr const char* words[] = {"atomic", "set", "map"};
    made.set("x-kubernetes-list-type", words[static_cast<std::size_t>(schema.list_kind)]);
    if (schema.list_kind == ListKind::map) {
        made.set("x-kubernetes-list-map-keys", texts(schema.list_keys));
    }
}

Value required_of(const Schema& schema) {
    Value required = Value::array();
    for (const Schema::Field& field : schema.fields) {
        if (field.required || field.shown_required) required.push(field.name);
    }
    return required;
}

Value ComponentWriter::reference(const Schema& schema) {
    if (schema.name.empty()) return body(schema);
    if (!components_.has(schema.name)) {
        components_.set(schema.name, Value());  // Names the place before what it refers to.
        Value made = body(schema);
        components_.set(schema.name, std::move(made));
    }
    Value link = Value::object({{"$ref", "#/components/schemas/" + schema.name}});
    Value usage = Value::object();
    add_patch_strategy(schema, usage);
    if (usage.empty()) return link;
    usage.set("allOf", Value::array({std::move(link)}));
    return usage;
}

void ComponentWriter::add(const std::string& name, Value component) {
    components_.set(name, std::move(component));
}

Value* ComponentWriter::component(const std::string& name) {
    return components_.find(name);
}

Value ComponentWriter::body(const Schema& schema) {
    Value made;
    if (schema.type == Type::object) {
        Value properties = Value::object();
        for (const Schema::Field& field : schema.fields) {
            Value property = reference(*field.schema);
            const bool extras = field.default_value || !field.description.empty();
            if (extras && property.has("$ref")) {
                property = Value::object({{"allOf", Value::array({std::move(property)})}});
            }
            add_field_extras(field, property);
            properties.set(field.name, std::move(property));
        }
        made = Value::object({{"type", "object"}, {"properties", std::move(properties)}});
        Value required = required_of(schema);
        if (!required.empty()) made.set("required", std::move(required));
        if (schema.atomic_map) made.set("x-kubernetes-map-type", "atomic");
        return made;  // Patch strategies stand where it is used.
    }
    if (schema.type == Type::list) {
        made = Value::object({{"type", "array"}, {"items", reference(*schema.element)}});
        add_list_kind(schema, made);
    } else if (schema.type == Type::map) {
        made = Value::object(
            {{"type", "object"}, {"additionalProperties", reference(*schema.element)}});
        if (schema.atomic_map) made.set("x-kubernetes-map-type", "atomic");
    } else {
        made = scalar(schema);
    }
    add_limits(schema, made);
    add_patch_strategy(schema, made);
    return made;
}

}  // namespace muster::api
