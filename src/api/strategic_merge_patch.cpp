// api/strategic_merge_patch.cpp - strategic merge patch: merge keys, $patch, $retainKeys,
// $setElementOrder and $deleteFromPrimitiveList, as apimachinery does it.
#include <algorithm>
#include <optional>
#include <set>

#include "api/json.h"
#include "api/members_by_name.h"
#include "api/patch.h"

namespace muster::api {
namespace {

constexpr std::string_view patch_directive = "$patch";
constexpr std::string_view retain_keys_directive = "$retainKeys";
constexpr std::string_view delete_list_prefix = "$deleteFromPrimitiveList";
constexpr std::string_view order_list_prefix = "$setElementOrder";

constexpr const char* bad_retain_keys = "invalid patch format of retainKeys";
constexpr const char* bad_order_list = "invalid patch format of setElementOrder list";
constexpr const char* bad_delete_list = "invalid patch format of primitive list";

/// What stands for a schema where none is known: objects merge, lists are replaced.
const Schema unknown_schema;

const Schema& member_schema(const Schema& schema, std::string_view key) {
    if (schema.type == Schema::Type::map && schema.element) return *schema.element;
    const Schema::Field* field = schema.find_field(key);
    return field && field->schema ? *field->schema : unknown_schema;
}

bool has_directive(const Value& value) {
    return value.has(patch_directive);
}

/// The position of the item with the same merge key (the same value, without one); absent: none.
std::optional<std::size_t> position_of(const Value::Array& items, const Value& item,
                                       std::string_view merge_key) {
    for (std::size_t i = 0; i < items.size(); ++i) {
        const bool same = merge_key.empty()
                              ? items[i] == item
                              : items[i].has(merge_key) && items[i][merge_key] == item[merge_key];
        if (same) return i;
    }
    return std::nullopt;
}

/// What a patch adds as a whole: without nulls, without directives and without what carries a
/// $patch, at any depth.
void clean_addition(Value& value) {
    if (value.is_object()) {
        Value::Object& members = value.mutable_members();
        std::erase_if(members, [](const Value::Member& member) {
            return member.value.is_null() || has_directive(member.value) ||
                   member.key == retain_keys_directive ||
                   member.key.starts_with(delete_list_prefix) ||
                   member.key.starts_with(order_list_prefix);
        });
        for (Value::Member& member : members)
            clean_addition(member.value);
    } else if (value.is_array()) {
        Value::Array& items = value.mutable_items();
        std::erase_if(items, has_directive);
        for (Value& item : items)
            clean_addition(item);
    }
}

/// Sorts by the position in `order`; what is not in it keeps its place among its like, at the end.
void sort_by(Value::Array& items, const Value::Array& order, std::string_view merge_key) {
    std::vector<std::pair<std::size_t, std::size_t>> places;
    for (std::size_t i = 0; i < items.size(); ++i)
        places.emplace_back(position_of(order, items[i], merge_key).value_or(order.size()), i);
    std::sort(places.begin(), places.end());
    Value::Array sorted;
    for (const auto& [place, index] : places)
        sorted.push_back(std::move(items[index]));
    items = std::move(sorted);
}

/// Puts what the patch names in the order of `wanted`, and the rest, in the order of the live
/// list, before the first item of the patch that followed it there.
Value::Array ordered(Value::Array merged, const Value::Array& wanted, const Value::Array& live,
                     std::string_view merge_key) {
    Value::Array named;
    Value::Array rest;
    for (Value& item : merged) {
        const bool is_named = position_of(wanted, item, merge_key).has_value();
        (is_named ? named : rest).push_back(std::move(item));
    }
    sort_by(named, wanted, merge_key);
    sort_by(rest, live, merge_key);
    Value::Array all;
    std::size_t next_named = 0;
    std::size_t next_rest = 0;
    while (next_named < named.size() || next_rest < rest.size()) {
        bool take_rest = next_named == named.size();
        if (!take_rest && next_rest < rest.size()) {
            const auto rest_place = position_of(live, rest[next_rest], merge_key);
            const auto named_place = position_of(live, named[next_named], merge_key);
            take_rest = rest_place && named_place && *rest_place < *named_place;
        }
        all.push_back(std::move(take_rest ? rest[next_rest++] : named[next_named++]));
    }
    return all;
}

/// Merges one patch; the first fault wins, and what follows it has no effect on the answer.
class Merger {
public:
    std::optional<PatchError> fault;

    Value merge_object(const Schema& schema, Value target, const Value& patch) {
        if (const Value* directive = patch.find(patch_directive))
            return by_directive(*directive, patch);
        if (target.is_null()) target = Value::object();
        retain_keys(target, patch);
        merge_members(schema, target, patch);
        return target;
    }

private:
    void merge_members(const Schema& schema, Value& target, const Value& patch) {
        MemberTable members(target);
        const std::set<std::string_view> done = merge_ordered_lists(schema, members, patch);
        for (const Value::Member& member : patch.members()) {
            const bool is_done = done.contains(member.key) || member.key == retain_keys_directive ||
                                 member.key.starts_with(order_list_prefix);
            if (is_done) continue;
            if (member.key.starts_with(delete_list_prefix)) {
                delete_from_list(members, member);
            } else {
                merge_member(schema, members, member);
            }
        }
    }

    void fail(const std::string& text) {
        if (!fault) fault = PatchError{text};
    }

    Value by_directive(const Value& directive, const Value& patch) {
        const std::string_view word = directive.text_or("");
        if (word == "delete") return Value::object();
        if (word != "replace")
            fail("unknown patch type: " + directive.text() + " in map: " + to_json(patch));
        Value replaced = patch;
        replaced.erase(patch_directive);
        return replaced;
    }

    void retain_keys(Value& target, const Value& patch) {
        const Value* retained = patch.find(retain_keys_directive);
        if (!retained) return;
        if (!retained->is_array()) return fail(bad_retain_keys);
        std::set<std::string_view> names;
        for (const Value& name : retained->items()) {
            if (name.is_string()) names.insert(name.as_string());
        }
        const auto is_retained = [&](std::string_view key) { return names.contains(key); };
        for (const Value::Member& member : patch.members()) {
            const bool plain = !member.value.is_null() && member.key != retain_keys_directive &&
                               !member.key.starts_with(delete_list_prefix) &&
                               !member.key.starts_with(order_list_prefix);
            if (plain && !is_retained(member.key)) return fail(bad_retain_keys);
        }
        std::erase_if(target.mutable_members(),
                      [&](const Value::Member& member) { return !is_retained(member.key); });
    }

    /// Merges each list whose order the patch gives; returns the names of these lists.
    std::set<std::string_view> merge_ordered_lists(const Schema& schema, MemberTable& target,
                                                   const Value& patch) {
        std::set<std::string_view> done;
        const MemberIndex changes(patch);
        for (const Value::Member& member : patch.members()) {
            const std::string_view directive = member.key;
            if (!directive.starts_with(order_list_prefix)) continue;
            const std::size_t slash = directive.find('/');
            if (slash != order_list_prefix.size() || !member.value.is_array()) {
                fail(bad_order_list);
                continue;
            }
            const std::string_view key = directive.substr(slash + 1);
            merge_ordered_list(member_schema(schema, key), key, target, changes.find(key),
                               member.value);
            done.insert(key);
        }
        return done;
    }

    void merge_ordered_list(const Schema& schema, std::string_view key, MemberTable& target,
                            const Value* change, const Value& order) {
        const Value* list = target.find(key);
        if (!list && !change) return;
        if ((list && !list->is_array()) || (change && !change->is_array()))
            return fail(bad_order_list);
        const std::string& merge_key = schema.patch_merge_key;
        if (change) check_order(change->items(), order.items(), merge_key);
        const Value::Array live = list ? list->items() : Value::Array();
        Value merged = Value::array();
        if (list && change) {
            merged = merge_list(schema, *list, *change);
        } else if (list) {
            merged = *list;
        } else {
            merged = *change;
            clean_addition(merged);
        }
        if (!merge_key.empty()) {
            require_merge_keys(merged.items(), merge_key);
            require_merge_keys(order.items(), merge_key);
        }
        if (fault) return;
        Value::Array all =
            ordered(std::move(merged.mutable_items()), order.items(), live, merge_key);
        Value& place = target.at(key);
        place = Value::array();
        place.mutable_items() = std::move(all);
    }

    /// The items of the patch must stand in the order list, in the same order.
    void check_order(const Value::Array& patch, const Value::Array& order,
                     std::string_view merge_key) {
        if (patch.empty() || order.empty()) return;
        std::size_t next = 0;
        for (const Value& item : patch) {
            if (has_directive(item)) continue;
            while (next < order.size() && !position_of({order[next]}, item, merge_key))
                ++next;
            if (next++ >= order.size()) {
                Value shown = Value::array();
                shown.mutable_items() = patch;
                Value wanted = Value::array();
                wanted.mutable_items() = order;
                return fail("The order in patch list:\n" + to_json(shown) +
                            "\n doesn't match $setElementOrder list:\n" + to_json(wanted) + "\n");
            }
        }
    }

    void require_merge_keys(const Value::Array& items, std::string_view merge_key) {
        for (const Value& item : items) {
            if (!item.has(merge_key))
                fail("map: " + to_json(item) +
                     " does not contain declared merge key: " + std::string(merge_key));
        }
    }

    void delete_from_list(MemberTable& target, const Value::Member& directive) {
        const std::string_view key = directive.key;
        const std::size_t slash = key.find('/');
        if (slash != delete_list_prefix.size()) return fail(bad_delete_list);
        Value* list = target.find(key.substr(slash + 1));
        if (!list || !list->is_array() || !directive.value.is_array()) return;
        std::erase_if(list->mutable_items(), [&](const Value& item) {
            return position_of(directive.value.items(), item, "").has_value();
        });
    }

    void merge_member(const Schema& schema, MemberTable& target, const Value::Member& member) {
        if (member.value.is_null()) {
            target.erase(member.key);
            return;
        }
        Value* live = target.find(member.key);
        const Schema& inner = member_schema(schema, member.key);
        if (live && live->is_object() && member.value.is_object()) {
            *live = inner.patch_replace ? member.value
                                        : merge_object(inner, std::move(*live), member.value);
        } else if (live && live->is_array() && member.value.is_array()) {
            *live = inner.patch_merge ? merge_list(inner, std::move(*live), member.value)
                                      : member.value;
        } else if (has_directive(member.value)) {
            target.erase(member.key);
        } else {
            Value taken = member.value;
            clean_addition(taken);
            target.set(member.key, std::move(taken));
        }
    }

    Value merge_list(const Schema& schema, Value list, const Value& patch) {
        if (!schema.patch_merge) return patch;
        const std::string& merge_key = schema.patch_merge_key;
        const auto any_object = [](const Value& items) {
            return std::any_of(items.items().begin(), items.items().end(),
                               [](const Value& item) { return item.is_object(); });
        };
        if (any_object(list) || any_object(patch)) {
            if (!merge_key.empty()) return merge_objects(schema, std::move(list), patch);
            fail("cannot merge lists without merge key for " + schema.name);
            return list;
        }
        Value::Array live = list.items();
        for (const Value& item : patch.items())
            list.push(item);
        Value::Array unique;
        for (Value& item : list.mutable_items()) {
            if (!position_of(unique, item, "")) unique.push_back(std::move(item));
        }
        list.mutable_items() = ordered(std::move(unique), patch.items(), live, "");
        return list;
    }

    Value merge_objects(const Schema& schema, Value list, const Value& patch) {
        const std::string& merge_key = schema.patch_merge_key;
        Value::Array& items = list.mutable_items();
        Value::Array changes;
        bool replace = false;
        for (const Value& item : patch.items()) {
            if (!item.has(patch_directive)) {
                changes.push_back(item);
                continue;
            }
            const std::string_view directive = item[patch_directive].text_or("");
            if (directive == "replace") {
                replace = true;
            } else if (directive == "delete") {
                require_merge_keys({item}, merge_key);
                std::erase_if(items, [&](const Value& live) {
                    return live.has(merge_key) && live[merge_key] == item[merge_key];
                });
            } else if (directive == "merge") {
                fail("merging lists cannot yet be specified in the patch");
            } else {
                fail("unknown patch type: " + item[patch_directive].text() +
                     " in map: " + to_json(item));
            }
        }
        if (replace) {
            items = std::move(changes);
            clean_addition(list);
            return list;
        }
        require_merge_keys(changes, merge_key);
        require_merge_keys(items, merge_key);
        if (fault) return list;
        const Value::Array live = items;
        const Schema& element = schema.element ? *schema.element : unknown_schema;
        for (const Value& change : changes) {
            if (const auto at = position_of(items, change, merge_key)) {
                items[*at] = merge_object(element, std::move(items[*at]), change);
            } else {
                items.push_back(change);
                clean_addition(items.back());
            }
        }
        items = ordered(std::move(items), changes, live, merge_key);
        return list;
    }
};

}  // namespace

Patched strategic_merge_patch(const Schema& schema, Value target, const Value& patch) {
    if (!patch.is_object()) return PatchError{"invalid JSON document"};
    Merger merger;
    Value merged = merger.merge_object(schema, std::move(target), patch);
    if (merger.fault) return *std::move(merger.fault);
    return merged;
}

}  // namespace muster::api
