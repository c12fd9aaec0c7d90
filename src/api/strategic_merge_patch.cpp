// api/strategic_merge_patch.cpp - strategic merge patch: merge keys, $patch, $retainKeys,
// $setElementOrder and $deleteFromPrimitiveList, as apimachinery does it.
#include <algorithm>
#include <limits>
#include <map>
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

/// Whether two items of a list are one: they have the same merge key, or are the same without one.
bool are_one(const Value& a, const Value& b, std::string_view merge_key) {
    return merge_key.empty() ? a == b : a.has(merge_key) && a[merge_key] == b[merge_key];
}

/// Equal values have equal texts.
void append_text(std::string& text, const Value& value) {
    if (value.is_array()) {
        text += '[';
        for (const Value& item : value.items()) {
            append_text(text, item);
            text += ',';
        }
        text += ']';
    } else if (value.is_object()) {
        std::map<std::string_view, const Value*> members;
        for (const Value::Member& member : value.members())
            members.emplace(member.key, &member.value);
        text += '{';
        for (const auto& [key, of_member] : members) {
            append_json(text, Value(key));
            append_text(text, *of_member);
            text += ',';
        }
        text += '}';
    } else {
        append_json(text, value);
    }
}

/// Where items stand in a list. Patches have as many of them as a client likes, so they are not
/// looked for one after the other.
class Positions {
public:
    explicit Positions(std::string_view merge_key) : merge_key_(merge_key) {}
    Positions(const Value::Array& items, std::string_view merge_key) : merge_key_(merge_key) {
        for (const Value& item : items)
            add(item);
    }

    /// The next one. Of several that are one, the first counts.
    void add(const Value& item) {
        if (merge_key_.empty() || item.has(merge_key_)) known_.emplace(key_of(item), count_);
        ++count_;
    }
    std::optional<std::size_t> of(const Value& item) const {
        const auto found = known_.find(key_of(item));
        return found == known_.end() ? std::nullopt : std::optional(found->second);
    }
    bool has(const Value& item) const { return of(item).has_value(); }

private:
    std::string key_of(const Value& item) const {
        std::string key;
        append_text(key, merge_key_.empty() ? item : item[merge_key_]);
        return key;
    }

    std::string_view merge_key_;
    std::map<std::string, std::size_t> known_;
    std::size_t count_ = 0;
};

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
void sort_by(Value::Array& items, const Positions& order) {
    constexpr std::size_t last = std::numeric_limits<std::size_t>::max();
    std::vector<std::pair<std::size_t, std::size_t>> places;
    for (std::size_t i = 0; i < items.size(); ++i)
        places.emplace_back(order.of(items[i]).value_or(last), i);
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
    const Positions in_wanted(wanted, merge_key);
    const Positions in_live(live, merge_key);
    Value::Array named;
    Value::Array rest;
    for (Value& item : merged)
        (in_wanted.has(item) ? named : rest).push_back(std::move(item));
    sort_by(named, in_wanted);
    sort_by(rest, in_live);
    Value::Array all;
    std::size_t next_named = 0;
    std::size_t next_rest = 0;
    while (next_named < named.size() || next_rest < rest.size()) {
        bool take_rest = next_named == named.size();
        if (!take_rest && next_rest < rest.size()) {
            const auto rest_place = in_live.of(rest[next_rest]);
            const auto named_place = in_live.of(named[next_named]);
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
            while (next < order.size() && !are_one(order[next], item, merge_key))
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
        const Positions gone(directive.value.items(), "");
        std::erase_if(list->mutable_items(), [&](const Value& item) { return gone.has(item); });
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
        Positions known("");
        for (Value& item : list.mutable_items()) {
            if (known.has(item)) continue;
            known.add(item);
            unique.push_back(std::move(item));
        }
        list.mutable_items() = ordered(std::move(unique), patch.items(), live, "");
        return list;
    }

    Value merge_objects(const Schema& schema, Value list, const Value& patch) {
        const std::string& merge_key = schema.patch_merge_key;
        Value::Array& items = list.mutable_items();
        Value::Array changes;
        Positions removed(merge_key);
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
                removed.add(item);
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
        std::erase_if(items,
                      [&](const Value& live) { return live.has(merge_key) && removed.has(live); });
        require_merge_keys(changes, merge_key);
        require_merge_keys(items, merge_key);
        if (fault) return list;
        const Value::Array live = items;
        Positions places(items, merge_key);
        const Schema& element = schema.element ? *schema.element : unknown_schema;
        for (const Value& change : changes) {
            if (const auto at = places.of(change)) {
                items[*at] = merge_object(element, std::move(items[*at]), change);
            } else {
                items.push_back(change);
                clean_addition(items.back());
                places.add(items.back());
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
