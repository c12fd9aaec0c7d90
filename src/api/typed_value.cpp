// api/typed_value.cpp - walking values along their schema.
#include "api/typed_value.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "api/json.h"
#include "api/members_by_name.h"
#include "api/type_words.h"
#include "base/text.h"

namespace muster::api {
namespace {

/// What stands for a schema where none is known: maps are granular, lists atomic.
const Schema any_schema;

/// How a value is taken apart. Its own form decides where the schema leaves it open.
enum class Shape { leaf, members, items };

Shape shape_of(const Schema& schema, const Value& value) {
    if (value.is_object()) {
        const bool granular = schema.type == Schema::Type::object ||
                              schema.type == Schema::Type::map || schema.type == Schema::Type::any;
        return granular && !schema.atomic_map ? Shape::members : Shape::leaf;
    }
    const bool keyed = schema.type == Schema::Type::list && schema.list_kind != ListKind::atomic;
    return value.is_array() && keyed ? Shape::items : Shape::leaf;
}

const Schema::Field* struct_field(const Schema& schema, std::string_view name) {
    return schema.type == Schema::Type::object ? schema.find_field(name) : nullptr;
}

const Schema& member_schema(const Schema& schema, std::string_view name) {
    if (const Schema::Field* field = struct_field(schema, name))
        return field->schema ? *field->schema : any_schema;
    return schema.element && schema.type == Schema::Type::map ? *schema.element : any_schema;
}

const Schema& item_schema(const Schema& schema) {
    return schema.element ? *schema.element : any_schema;
}

std::string member_step(std::string_view name) {
    return "f:" + std::string(name);
}

/// The value of an item's key, or its default; null pointer when it has neither.
const Value* key_of(const Schema& list, const Value& item, const std::string& name) {
    if (const Value* key = item.find(name)) return key;
    const Schema::Field* field = struct_field(item_schema(list), name);
    return field && field->default_value ? &*field->default_value : nullptr;
}

/// The step of a list's item; absent when it lacks a key that has no default.
std::optional<std::string> item_step(const Schema& list, const Value& item) {
    if (list.list_kind == ListKind::set) return "v:" + to_json(item);
    if (!item.is_object()) return std::nullopt;
    std::vector<std::string_view> names(list.list_keys.begin(), list.list_keys.end());
    std::sort(names.begin(), names.end());
    std::string step = "k:{";
    for (const std::string_view name : names) {
        const Value* key = key_of(list, item, std::string(name));
        if (!key) return std::nullopt;
        if (step.back() != '{') step += ',';
        step += '"';
        step += name;
        step += "\":";
        append_json(step, *key);
    }
    return step + '}';
}

/// The items of a keyed list by their steps, in order; of items with one step only the first.
class Items {
public:
    Items(const Schema& list, const Value& value) {
        steps_.reserve(value.size());
        by_step_.reserve(value.size());
        for (const Value& item : value.items()) {
            std::optional<std::string> step = item_step(list, item);
            if (!step || by_step_.contains(*step)) continue;
            steps_.push_back(*std::move(step));
            by_step_.emplace(steps_.back(), &item);
        }
    }
    const std::vector<std::string>& steps() const { return steps_; }
    const Value* find(const std::string& step) const {
        const auto found = by_step_.find(step);
        return found == by_step_.end() ? nullptr : found->second;
    }

private:
    std::vector<std::string> steps_;
    std::unordered_map<std::string_view, const Value*> by_step_;
};

void add_fields(const Schema& schema, const Value& value, FieldSet& set) {
    switch (shape_of(schema, value)) {
        case Shape::leaf:
            set.member = true;
            return;
        case Shape::items: {
            const Items items(schema, value);
            for (const std::string& step : items.steps()) {
                FieldSet below;
                add_fields(item_schema(schema), *items.find(step), below);
                below.member = true;
                set.children.push_back({step, std::move(below)});
            }
            set.order_children();
            return;
        }
        case Shape::members:
            break;
    }
    for (const Value::Member& member : value.members()) {
        FieldSet below;
        add_fields(member_schema(schema, member.key), member.value, below);
        // A struct's own fields are told by what is in them; keys of a map count themselves.
        if (member.value.is_null() || (member.value.is_object() && member.value.empty()) ||
            !struct_field(schema, member.key)) {
            below.member = true;
        }
        if (!below.empty()) set.children.push_back({member_step(member.key), std::move(below)});
    }
    set.order_children();
}

/// What is wrong with the type of a value itself; empty when nothing is.
std::string type_fault(const Schema& schema, const Value& value) {
    using Type = Schema::Type;
    if (value.is_null()) return {};
    const auto expected = [&](const char* kind) {
        return std::string("expected ") + kind + ", got &{" + go_text(value, GoText::plain) + "}";
    };
    switch (schema.type) {
        case Type::any:
            return {};
        case Type::object:
        case Type::map:
            return value.is_object() ? "" : expected("map");
        case Type::list:
            return value.is_array() ? "" : expected("list");
        case Type::boolean:
            return value.is_boolean() ? "" : expected("boolean");
        case Type::integer:
        case Type::number:
            return value.is_number()
                       ? ""
                       : "expected numeric (int or float), got " + std::string(go_type(value));
        case Type::quantity:
        case Type::int_or_string:
            return value.is_object() || value.is_array() ? expected("any scalar") : "";
        case Type::string:
        case Type::time:
        case Type::micro_time:
        case Type::bytes:
            break;
    }
    return value.is_string() ? ""
                             : "expected string, got &value.valueUnstructured{Value:" +
                                   go_text(value, GoText::typed) + "}";
}

void find_faults(const Schema& schema, const Value& value, const std::string& path,
                 std::vector<std::string>& faults);

void find_item_faults(const Schema& schema, const Value& value, const std::string& path,
                      std::vector<std::string>& faults) {
    std::unordered_map<std::string, int> seen;
    for (std::size_t i = 0; i < value.size(); ++i) {
        const std::optional<std::string> step = item_step(schema, value[i]);
        if (!step) {
            faults.push_back(path + ": element " + std::to_string(i) +
                             ": associative list with keys has an element that omits a key "
                             "field (and doesn't have default value)");
            continue;
        }
        FieldSet shown;
        shown.at(*step).member = true;
        const std::string below = path_texts(shown)[0];
        if (seen[*step]++ > 0) faults.push_back(path + ": duplicate entries for key " + below);
        find_faults(item_schema(schema), value[i], path + below, faults);
    }
}

void find_faults(const Schema& schema, const Value& value, const std::string& path,
                 std::vector<std::string>& faults) {
    const std::string wrong = type_fault(schema, value);
    if (!wrong.empty()) {
        faults.push_back((path.empty() ? "" : path + ": ") + wrong);
    } else if (value.is_object()) {
        for (const Value::Member& member : value.members()) {
            const std::string below = path + "." + member.key;
            const bool closed = schema.type == Schema::Type::object && !schema.fields.empty() &&
                                !schema.keeps_unknown;
            if (closed && !schema.find_field(member.key)) {
                faults.push_back(below + ": field not declared in schema");
            } else {
                find_faults(member_schema(schema, member.key), member.value, below, faults);
            }
        }
    } else if (shape_of(schema, value) == Shape::items) {
        find_item_faults(schema, value, path, faults);
    } else if (value.is_array()) {
        for (std::size_t i = 0; i < value.size(); ++i)
            find_faults(item_schema(schema), value[i], path + "[" + std::to_string(i) + "]",
                        faults);
    }
}

/// Behind what is there: all is put in order when the last has come.
void put_below(FieldSet& set, const std::string& step, FieldSet below) {
    if (!below.empty()) set.children.push_back({step, std::move(below)});
}

/// Null pointers stand for what is not there.
Comparison compare(const Schema& schema, const Value* before, const Value* after);

void compare_step(Comparison& result, const std::string& step, const Schema& schema,
                  const Value* before, const Value* after) {
    Comparison below = compare(schema, before, after);
    put_below(result.removed, step, std::move(below.removed));
    put_below(result.modified, step, std::move(below.modified));
    put_below(result.added, step, std::move(below.added));
}

void compare_leaf(Comparison& result, const Value* before, const Value* after) {
    if (!before) {
        result.added.member = true;
    } else if (!after) {
        result.removed.member = true;
    } else if (!(*before == *after)) {
        result.modified.member = true;
    }
}

void compare_members(Comparison& result, const Schema& schema, const Value* before,
                     const Value* after) {
    static const Value none{};
    const MemberIndex old_members(before ? *before : none);
    const MemberIndex new_members(after ? *after : none);
    if (before) {
        for (const Value::Member& member : before->members()) {
            const Value* now = new_members.find(member.key);
            if (now && now->is_same(member.value)) continue;
            compare_step(result, member_step(member.key), member_schema(schema, member.key),
                         &member.value, now);
        }
    }
    if (!after) return;
    for (const Value::Member& member : after->members()) {
        if (old_members.has(member.key)) continue;
        compare_step(result, member_step(member.key), member_schema(schema, member.key), nullptr,
                     &member.value);
    }
}

void compare_items(Comparison& result, const Schema& schema, const Value* before,
                   const Value* after) {
    static const Value none{};
    const Items old_items(schema, before ? *before : none);
    const Items new_items(schema, after ? *after : none);
    for (const std::string& step : old_items.steps())
        compare_step(result, step, item_schema(schema), old_items.find(step), new_items.find(step));
    for (const std::string& step : new_items.steps()) {
        if (!old_items.find(step))
            compare_step(result, step, item_schema(schema), nullptr, new_items.find(step));
    }
}

void compare_inside(Comparison& result, Shape shape, const Schema& schema, const Value* before,
                    const Value* after) {
    if (shape == Shape::members) compare_members(result, schema, before, after);
    if (shape == Shape::items) compare_items(result, schema, before, after);
    for (FieldSet* set : {&result.removed, &result.modified, &result.added})
        set->order_children();
}

Comparison compare(const Schema& schema, const Value* before, const Value* after) {
    Comparison result;
    const auto bare = [](const Value* value) { return !value || value->empty(); };
    const Shape old_shape = before ? shape_of(schema, *before) : Shape::leaf;
    const Shape new_shape = after ? shape_of(schema, *after) : Shape::leaf;
    const bool other_kind =
        before && after && old_shape != new_shape && !before->is_null() && !after->is_null();
    const Shape shape = bare(before) ? new_shape : old_shape;
    if ((bare(before) && bare(after)) || (!other_kind && shape == Shape::leaf)) {
        // Also with nothing inside either: the difference between {} or [] and null is still one.
        compare_leaf(result, before, after);
    } else if (other_kind) {
        compare_inside(result, old_shape, schema, before, nullptr);
        compare_inside(result, new_shape, schema, nullptr, after);
        compare_leaf(result, before, after);
    } else {
        compare_inside(result, shape, schema, before, after);
        if (!before) result.added.member = true;
        if (!after) result.removed.member = true;
    }
    return result;
}

/// Both lists keep their own order as far as it goes: what both have stands as in `over`; what only
/// the base has stands after the item of both that preceded it there, before what is new.
Value merge_items(const Schema& schema, const Value& base, const Value& over) {
    const Items left(schema, base);
    const Items right(schema, over);
    std::vector<std::optional<std::string>> left_steps;
    for (const Value& item : base.items())
        left_steps.push_back(item_step(schema, item));
    std::vector<std::string> shared;
    for (const std::string& step : right.steps()) {
        if (left.find(step)) shared.push_back(step);
    }
    Value merged = Value::array();
    std::size_t next = 0;
    std::size_t next_shared = 0;
    for (const std::string& step : right.steps()) {
        for (; next < left_steps.size(); ++next) {
            const std::optional<std::string>& here = left_steps[next];
            if (!here || !right.find(*here)) {
                merged.push(base[next]);
            } else if (*here == step || next_shared == shared.size() ||
                       *here == shared[next_shared]) {
                // Either its turn is now or comes; or it was merged, and is passed by below.
                break;
            }
        }
        const bool here_or_done =
            next < left_steps.size() && (left_steps[next] == step || next_shared == shared.size());
        if (here_or_done) ++next;
        if (next_shared < shared.size() && shared[next_shared] == step) ++next_shared;
        const Value* base_item = left.find(step);
        merged.push(base_item ? merge_typed(item_schema(schema), *base_item, *right.find(step))
                              : *right.find(step));
    }
    for (; next < left_steps.size(); ++next) {
        if (!left_steps[next] || !right.find(*left_steps[next])) merged.push(base[next]);
    }
    return merged;
}

}  // namespace

FieldSet field_set_of(const Schema& schema, const Value& value) {
    FieldSet set;
    add_fields(schema, value, set);
    return set;
}

std::vector<std::string> typed_faults(const Schema& schema, const Value& value) {
    std::vector<std::string> faults;
    find_faults(schema, value, "", faults);
    return faults;
}

Comparison compare_typed(const Schema& schema, const Value& before, const Value& after) {
    return compare(schema, &before, &after);
}

Value merge_typed(const Schema& schema, const Value& base, const Value& over) {
    // Null says nothing about what is inside.
    if (over.is_null() && !base.empty() && shape_of(schema, base) != Shape::leaf) return base;
    const Shape shape = shape_of(schema, over);
    if (shape == Shape::leaf || shape_of(schema, base) != shape) return over;
    if (shape == Shape::items) return merge_items(schema, base, over);
    Value merged = base;
    MemberTable members(merged);
    for (const Value::Member& member : over.members()) {
        Value& place = members.at(member.key);
        place = merge_typed(member_schema(schema, member.key), place, member.value);
    }
    return merged;
}

Value without_fields(const Schema& schema, const Value& value, const FieldSet& set) {
    if (set.children.empty()) return value;
    const auto reduced = [&](const Schema& inner, const Value& part,
                             const FieldSet* below) -> std::optional<Value> {
        if (!below) return part;
        if (below->member) return std::nullopt;
        return without_fields(inner, part, *below);
    };
    switch (shape_of(schema, value)) {
        case Shape::leaf:
            // The set speaks of parts of what has none.
            return value.is_object() || value.is_array() ? Value() : value;
        case Shape::items: {
            Value rest = Value::array();
            for (const Value& item : value.items()) {
                const std::optional<std::string> step = item_step(schema, item);
                std::optional<Value> kept =
                    reduced(item_schema(schema), item, step ? set.find(*step) : nullptr);
                if (kept) rest.push(*std::move(kept));
            }
            return rest.empty() ? Value() : rest;
        }
        case Shape::members:
            break;
    }
    Value rest = Value::object();
    for (const Value::Member& member : value.members()) {
        std::optional<Value> kept = reduced(member_schema(schema, member.key), member.value,
                                            set.find(member_step(member.key)));
        if (kept) rest.mutable_members().push_back({member.key, *std::move(kept)});
    }
    return rest.empty() ? Value() : rest;
}

FieldSet with_named_fields(const Schema& schema, FieldSet set) {
    for (FieldSet::Child& child : set.children) {
        const bool field = child.step.starts_with("f:");
        const std::string_view name = std::string_view(child.step).substr(2);
        if (field && struct_field(schema, name)) child.set.member = true;
        child.set = with_named_fields(field ? member_schema(schema, name) : item_schema(schema),
                                      std::move(child.set));
    }
    return set;
}

}  // namespace muster::api
