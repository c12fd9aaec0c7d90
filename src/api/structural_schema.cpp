// api/structural_schema.cpp - schemas as CustomResourceDefinitions want them.
#include "api/structural_schema.h"

#include <algorithm>
#include <initializer_list>

#include "api/rules.h"
#include "api/schema_document.h"

namespace muster::api {
namespace {

using Type = Schema::Type;

constexpr const char* quantity_pattern =
    "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.["
    "0-9]*)?)|(\\.[0-9]+))))?$";

Value either_form() {
    return Value::object({{"anyOf", Value::array({Value::object({{"type", "integer"}}),
                                                  Value::object({{"type", "string"}})})},
                          {"x-kubernetes-int-or-string", true}});
}

Value typed(const char* type, std::string_view format) {
    Value made = Value::object({{"type", type}});
    if (!format.empty()) made.set("format", format);
    return made;
}

/// Schemas that hold no others.
Value scalar(const Schema& schema) {
    switch (schema.type) {
        case Type::boolean:
            return typed("boolean", "");
        case Type::integer:
            return typed("integer", schema.format);
        case Type::number:
            return typed("number", schema.format);
        case Type::time:
        case Type::micro_time:
            return typed("string", "date-time");
        case Type::bytes:
            return typed("string", "byte");
        case Type::string:
            return typed("string", "");
        case Type::int_or_string:
            return either_form();
        case Type::quantity: {
            Value made = either_form();
            made.set("pattern", quantity_pattern);
            return made;
        }
        default:
            return Value::object(
                {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}});
    }
}

void add_rules(const Schema& schema, Value& made) {
    if (rules_of(schema).empty()) return;
    Value rules = Value::array();
    for (const Rule& rule : rules_of(schema))
        rules.push(Value::object({{"message", rule.message}, {"rule", rule.expression}}));
    made.set("x-kubernetes-validations", std::move(rules));
}

bool is_builtin(const Schema& schema) {
    return schema.name.starts_with("io.k8s.");
}

/// Built-in definitions that custom kinds hold in a stricter form.
const Schema& as_held(const Schema& schema) {
    if (schema.name == "io.k8s.apimachinery.pkg.apis.meta.v1.Condition") {
        return *schema_of("custom.Condition");
    }
    if (schema.name == "io.k8s.api.core.v1.PortStatus") return *schema_of("custom.PortStatus");
    return schema;
}

bool is_one_of(const Schema& schema, std::initializer_list<std::string_view> names) {
    constexpr std::string_view core = "io.k8s.api.core.v1.";
    if (!schema.name.starts_with(core)) return false;
    const std::string_view name = std::string_view(schema.name).substr(core.size());
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Built-in kinds that are, in Go, a LocalObjectReference and more: each is set as a whole.
bool holds_reference(const Schema& schema) {
    return is_one_of(schema, {"ConfigMapEnvSource", "SecretEnvSource", "ConfigMapProjection",
                              "SecretProjection", "ConfigMapVolumeSource"});
}

/// The name of what a built-in reference points at is "" when it is left out.
bool is_reference_name(const Schema& schema, const Schema::Field& field) {
    return field.name == "name" && (holds_reference(schema) ||
                                    is_one_of(schema, {"LocalObjectReference", "SecretKeySelector",
                                                       "ConfigMapKeySelector"}));
}

/// A default that stands for a constant: the CRDs of others do not have it.
bool is_constant_default(const Schema& schema, const Schema::Field& field) {
    return is_one_of(schema, {"AzureDiskVolumeSource"}) && !field.schema->enum_values.empty();
}

/// What a pod template's metadata may hold inside a custom object.
bool is_kept_metadata(std::string_view name) {
    return name == "name" || name == "namespace" || name == "labels" || name == "annotations" ||
           name == "finalizers";
}

enum class Place { root, inside };

Value structural(const Schema& schema, Place place);

Value property_of(const Schema& schema, const Schema::Field& field, Place place) {
    if (place == Place::root && field.name == "metadata") {
        return Value::object({{"type", "object"}});
    }
    Value property = structural(*field.schema, Place::inside);
    const bool builtin = is_builtin(schema);
    if (field.default_value && !is_constant_default(schema, field)) {
        property.set("default", *field.default_value);
    }
    if (builtin) {
        if (field.schema->type == Type::string) property.erase("enum");
        if (is_reference_name(schema, field)) property.set("default", "");
    } else if (!field.description.empty()) {
        property.set("description", field.description);
    }
    return property;
}

Value structural_object(const Schema& schema, Place place) {
    const bool metadata = schema.name.ends_with(".ObjectMeta");
    Value properties = Value::object();
    Value required = Value::array();
    for (const Schema::Field& field : schema.fields) {
        if (is_off_cluster(schema, field) || (metadata && !is_kept_metadata(field.name))) continue;
        Value property = property_of(schema, field, place);
        if (metadata) property.erase("x-kubernetes-list-type");  // Of finalizers: a set elsewhere.
        properties.set(field.name, std::move(property));
        if (field.required || field.shown_required) required.push(field.name);
    }
    Value made = Value::object({{"type", "object"}, {"properties", std::move(properties)}});
    if (!required.empty()) made.set("required", std::move(required));
    return made;
}

Value structural(const Schema& given, Place place) {
    const Schema& schema = as_held(given);
    Value made;
    if (schema.type == Type::object) {
        made = structural_object(schema, place);
    } else if (schema.type == Type::list) {
        made = Value::object(
            {{"type", "array"}, {"items", structural(*schema.element, Place::inside)}});
        add_list_kind(schema, made);
    } else if (schema.type == Type::map) {
        made =
            Value::object({{"type", "object"},
                           {"additionalProperties", structural(*schema.element, Place::inside)}});
    } else {
        made = scalar(schema);
    }
    if (schema.atomic_map || holds_reference(schema)) made.set("x-kubernetes-map-type", "atomic");
    add_limits(schema, made);
    add_rules(schema, made);
    return made;
}

}  // namespace

Value structural_schema(const Schema& schema) {
    return structural(schema, Place::root);
}

}  // namespace muster::api
