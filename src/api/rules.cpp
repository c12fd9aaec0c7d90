// api/rules.cpp - walks an object along its schema and asks the rules that stand there.
#include "api/rules.h"

#include <unordered_map>

#include "api/cel.h"
#include "api/field_error.h"
#include "base/verify.h"

namespace muster::api {
namespace {

using Errors = std::vector<FieldError>;

/// A parsed rule; each is parsed once and known by its place in the tables, which live as long as
/// the program. That all can be parsed is shown by rules_test.cpp.
const CelRule& parsed(const Rule& rule) {
    static std::unordered_map<const char*, CelRule> cache;
    const auto found = cache.find(rule.expression.data());
    if (found != cache.end()) return found->second;
    const auto made = cache.emplace(rule.expression.data(), CelRule(rule.expression)).first;
    VERIFY(made->second.error().empty());
    return made->second;
}

/// Whether there are rules at a schema or below: most of an object need not be walked.
bool has_rules(const Schema& schema) {
    static std::unordered_map<const Schema*, bool> cache;
    if (const auto found = cache.find(&schema); found != cache.end()) return found->second;
    cache.emplace(&schema, false);  // For schemas that hold themselves.
    bool found = !rules_of(schema).empty() || (schema.element && has_rules(*schema.element));
    for (const Schema::Field& field : schema.fields)
        found = found || has_rules(*field.schema);
    return cache[&schema] = found;
}

FieldError broken(const Path& path, const Value& value, const std::string& what) {
    const bool plain = !value.is_object() && !value.is_array();
    FieldError error = invalid(path, value, what);
    if (!plain) error.text = "Invalid value: " + what;
    if (error.field.empty()) error.field = "<nil>";
    return error;
}

void ask(const Schema& schema, const Value& value, const Value* old, const Path& path,
         Errors& errors) {
    for (const Rule& rule : rules_of(schema)) {
        const CelRule& asked = parsed(rule);
        if (asked.is_of_change() && old == nullptr) continue;
        const CelRule::Answer answer = asked.ask(value, old);
        if (answer.holds) continue;
        const std::string message(rule.message);
        if (answer.trouble.empty()) {
            errors.push_back(broken(path, value, message));
        } else {
            const char* type = value.is_array()    ? "array"
                               : value.is_object() ? "object"
                               : value.is_string() ? "string"
                                                   : "integer";
            errors.push_back(broken(path, value, ""));
            errors.back().text = "Invalid value: \"" + std::string(type) + "\": " + answer.trouble +
                                 " evaluating rule: " + message;
        }
    }
}

/// The item of `list` that has the keys of `item`; null when there is none, or items have no keys.
const Value* same_item(const Schema& schema, const Value* list, const Value& item) {
    if (list == nullptr || schema.list_kind != ListKind::map) return nullptr;
    for (const Value& each : list->items()) {
        bool same = true;
        for (const std::string& key : schema.list_keys)
            same = same && each[key] == item[key];
        if (same) return &each;
    }
    return nullptr;
}

const Value* member(const Value* object, std::string_view key) {
    const Value* found = object == nullptr ? nullptr : object->find(key);
    return found == nullptr || found->is_null() ? nullptr : found;
}

void walk(const Schema& schema, const Value& value, const Value* old, const Path& path,
          Errors& errors) {
    if (value.is_null() || !has_rules(schema)) return;
    ask(schema, value, old, path, errors);
    if (schema.type == Schema::Type::object) {
        for (const Schema::Field& field : schema.fields) {
            const Value* below = value.find(field.name);
            if (below != nullptr)
                walk(*field.schema, *below, member(old, field.name), path.child(field.name),
                     errors);
        }
    } else if (schema.type == Schema::Type::list) {
        for (std::size_t i = 0; i < value.items().size(); ++i) {
            const Value& item = value.items()[i];
            walk(*schema.element, item, same_item(schema, old, item), path.item(i), errors);
        }
    } else if (schema.type == Schema::Type::map) {
        for (const Value::Member& each : value.members())
            walk(*schema.element, each.value, member(old, each.key), path.key(each.key), errors);
    }
}

}  // namespace

std::vector<FieldError> broken_rules(const Schema& schema, const Value& object, const Value* old) {
    Errors errors;
    walk(schema, object, old, Path(), errors);
    return errors;
}

}  // namespace muster::api
