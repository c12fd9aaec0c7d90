// api/rules.cpp - walks an object along its schema and asks the rules that stand there.
#include "api/rules.h"

#include <algorithm>
#include <unordered_map>

#include "api/cel.h"
#include "api/cel_functions.h"
#include "api/checks.h"
#include "api/field_error.h"
#include "base/text.h"
#include "base/verify.h"

namespace muster::api {
namespace {

/// What was found, and what finding it took.
struct Findings {
    std::vector<FieldError> errors;
    std::size_t steps = 0;
    bool given_up = false;
};

/// The steps that the rules of one object may take: they come from users, and so do the objects.
constexpr std::size_t steps_max = 10'000'000;

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
    if (schema.checks != nullptr) return schema.checks->rules_below;
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

/// Why a rule could not be asked.
FieldError unclear(const Path& path, const Value& value, const std::string& trouble,
                   const std::string& message) {
    const char* type = value.is_array()    ? "array"
                       : value.is_object() ? "object"
                       : value.is_string() ? "string"
                                           : "integer";
    FieldError error = broken(path, value, "");
    error.text =
        "Invalid value: \"" + std::string(type) + "\": " + trouble + " evaluating rule: " + message;
    return error;
}

std::string message_of(const CheckedRule& rule, const Value& value, const Value* old) {
    if (rule.message_expression) {
        const auto made = rule.message_expression->value(value, old);
        const std::string_view text = made ? trim(made->text_or("")) : std::string_view();
        if (!text.empty() && text.find('\n') == std::string_view::npos) return std::string(text);
    }
    return rule.message.empty() ? "failed rule: " + std::string(trim(rule.text)) : rule.message;
}

/// As the rule says what it refuses, and where.
FieldError refused_by(const CheckedRule& rule, const Path& path, const Value& value,
                      const Value* old) {
    const std::string message = message_of(rule, value, old);
    FieldError error = broken(path, value, message);
    if (rule.reason == "FieldValueForbidden") error.text = "Forbidden: " + message;
    if (rule.reason == "FieldValueRequired") error.text = "Required value: " + message;
    if (rule.reason == "FieldValueDuplicate") error = duplicate(path, value);
    error.reason = rule.reason;
    if (rule.field_path.empty()) return error;
    error.field = path.text() + rule.field_path;
    if (error.field.starts_with('.')) error.field.erase(0, 1);
    return error;
}

/// The rules that came with a definition.
void ask_checked(const Checks& checks, const Value& value, const Value* old, const Path& path,
                 Findings& findings) {
    for (const CheckedRule& rule : checks.rules) {
        if (findings.given_up) return;
        const bool of_change = rule.rule.is_of_change();
        if (of_change && old == nullptr && !rule.optional_old_self) continue;
        const Value held = rule.optional_old_self ? make_optional(old) : Value();
        const Value* before = rule.optional_old_self ? &held : old;
        const CelRule::Answer answer = rule.rule.ask(value, before);
        findings.steps += answer.steps;
        if (findings.steps > steps_max) {
            findings.given_up = true;
            findings.errors.push_back(broken(path, value,
                                             "validation failed due to running out of cost budget, "
                                             "no further validation rules will be run"));
            return;
        }
        if (answer.holds) continue;
        if (answer.trouble.empty()) {
            findings.errors.push_back(refused_by(rule, path, value, before));
        } else {
            findings.errors.push_back(unclear(path, value, answer.trouble,
                                              rule.message.empty() ? rule.text : rule.message));
        }
    }
}

void ask(const Schema& schema, const Value& value, const Value* old, const Path& path,
         Findings& findings) {
    if (schema.checks != nullptr) {
        ask_checked(*schema.checks, value, old, path, findings);
        return;
    }
    for (const Rule& rule : rules_of(schema)) {
        const CelRule& asked = parsed(rule);
        if (asked.is_of_change() && old == nullptr) continue;
        const CelRule::Answer answer = asked.ask(value, old);
        if (answer.holds) continue;
        const std::string message(rule.message);
        if (answer.trouble.empty()) {
            findings.errors.push_back(broken(path, value, message));
        } else {
            findings.errors.push_back(unclear(path, value, answer.trouble, message));
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
          Findings& findings) {
    if (value.is_null() || !has_rules(schema)) return;
    ask(schema, value, old, path, findings);
    if (schema.type == Schema::Type::object) {
        for (const Schema::Field& field : schema.fields) {
            const Value* below = value.find(field.name);
            if (below != nullptr)
                walk(*field.schema, *below, member(old, field.name), path.child(field.name),
                     findings);
        }
    } else if (schema.type == Schema::Type::list) {
        for (std::size_t i = 0; i < value.items().size(); ++i) {
            const Value& item = value.items()[i];
            walk(*schema.element, item, same_item(schema, old, item), path.item(i), findings);
        }
    } else if (schema.type == Schema::Type::map) {
        for (const Value::Member& each : value.members())
            walk(*schema.element, each.value, member(old, each.key), path.key(each.key), findings);
    }
}

}  // namespace

std::vector<FieldError> broken_rules(const Schema& schema, const Value& object, const Value* old) {
    Findings findings;
    walk(schema, object, old, Path(), findings);
    return std::move(findings.errors);
}

std::optional<FieldError> rules_not_asked(const Schema& schema,
                                          const std::vector<FieldError>& errors) {
    const auto stands_in_the_way = [](const FieldError& error) {
        for (const char* reason :
             {"FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong",
              "FieldValueTooMany", "FieldValueTypeInvalid"}) {
            if (error.reason == reason) return true;
        }
        return false;
    };
    if (!has_rules(schema) || std::none_of(errors.begin(), errors.end(), stands_in_the_way))
        return std::nullopt;
    return FieldError{"FieldValueInvalid", "<nil>",
                      "Invalid value: null: some validation rules were not checked because the "
                      "object was invalid; correct the existing errors to complete validation"};
}

}  // namespace muster::api
