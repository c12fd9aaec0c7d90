// api/field_set.cpp - operations on sets of field paths, and their form in FieldsV1.
#include "api/field_set.h"

#include <algorithm>
#include <utility>

#include "api/json.h"

namespace muster::api {
namespace {

bool step_less(const FieldSet::Child& child, std::string_view step) {
    return child.step < step;
}

/// Walks both trees at once; `keep` says from "in a" and "in b" whether a path is in the result.
template <class Keep>
FieldSet combine(const FieldSet& a, const FieldSet& b, const Keep& keep) {
    static const FieldSet nothing;
    const bool keeps_right = keep(false, true);
    FieldSet result;
    result.member = keep(a.member, b.member);
    auto left = a.children.begin();
    auto right = b.children.begin();
    while (left != a.children.end() || right != b.children.end()) {
        const bool use_left =
            right == b.children.end() || (left != a.children.end() && left->step <= right->step);
        const bool use_right =
            left == a.children.end() || (right != b.children.end() && right->step <= left->step);
        if (!use_left && !keeps_right) {
            // On to where `a` goes on: of very many small sets each is held against one large one.
            if (left == a.children.end()) break;
            right = std::lower_bound(right, b.children.end(), left->step, step_less);
            continue;
        }
        const std::string& step = use_left ? left->step : right->step;
        FieldSet below =
            combine(use_left ? left->set : nothing, use_right ? right->set : nothing, keep);
        if (!below.empty()) result.children.push_back({step, std::move(below)});
        if (use_left) ++left;
        if (use_right) ++right;
    }
    return result;
}

bool is_step(std::string_view step) {
    return step.size() >= 2 && step[1] == ':' &&
           (step[0] == 'f' || step[0] == 'k' || step[0] == 'v' || step[0] == 'i');
}

std::string step_text(std::string_view step) {
    const std::string_view content = step.substr(2);
    if (step[0] == 'f') return "." + std::string(content);
    if (step[0] == 'v') return "[=" + std::string(content) + "]";
    if (step[0] == 'i') return "[" + std::string(content) + "]";
    std::string text = "[";
    auto parsed = parse_json(content);
    if (const Parsed* keys = std::get_if<Parsed>(&parsed)) {
        for (const Value::Member& key : keys->value.members()) {
            if (text.size() > 1) text += ',';
            text += key.key + "=" + to_json(key.value);
        }
    }
    return text + "]";
}

/// Of each level what ends there comes before what is below.
void add_path_texts(const FieldSet& set, const std::string& prefix,
                    std::vector<std::string>& texts) {
    for (const FieldSet::Child& child : set.children) {
        if (child.set.member) texts.push_back(prefix + step_text(child.step));
    }
    for (const FieldSet::Child& child : set.children)
        add_path_texts(child.set, prefix + step_text(child.step), texts);
}

}  // namespace

const FieldSet* FieldSet::find(std::string_view step) const {
    const auto found = std::lower_bound(children.begin(), children.end(), step, step_less);
    return found != children.end() && found->step == step ? &found->set : nullptr;
}

FieldSet& FieldSet::at(std::string_view step) {
    const auto found = std::lower_bound(children.begin(), children.end(), step, step_less);
    if (found != children.end() && found->step == step) return found->set;
    return children.insert(found, Child{std::string(step), {}})->set;
}

void FieldSet::order_children() {
    const auto less = [](const Child& a, const Child& b) { return a.step < b.step; };
    if (!std::is_sorted(children.begin(), children.end(), less))
        std::sort(children.begin(), children.end(), less);
}

bool operator==(const FieldSet& a, const FieldSet& b) {
    return a.member == b.member &&
           std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                      [](const FieldSet::Child& left, const FieldSet::Child& right) {
                          return left.step == right.step && left.set == right.set;
                      });
}

FieldSet field_union(const FieldSet& a, const FieldSet& b) {
    return combine(a, b, [](bool in_a, bool in_b) { return in_a || in_b; });
}

/// By halves: one after the other would copy what has come together so far each time.
FieldSet field_union(std::vector<FieldSet> sets) {
    for (std::size_t step = 1; step < sets.size(); step *= 2) {
        for (std::size_t i = 0; i + step < sets.size(); i += 2 * step)
            sets[i] = field_union(sets[i], sets[i + step]);
    }
    return sets.empty() ? FieldSet() : std::move(sets.front());
}

FieldSet field_intersection(const FieldSet& a, const FieldSet& b) {
    return combine(a, b, [](bool in_a, bool in_b) { return in_a && in_b; });
}

FieldSet field_difference(const FieldSet& a, const FieldSet& b) {
    return combine(a, b, [](bool in_a, bool in_b) { return in_a && !in_b; });
}

std::optional<FieldSet> parse_fields_v1(const Value& fields) {
    if (!fields.is_object()) return std::nullopt;
    FieldSet set;
    for (const Value::Member& member : fields.members()) {
        if (member.key == ".") {
            set.member = true;
            continue;
        }
        if (!is_step(member.key)) return std::nullopt;
        std::optional<FieldSet> below = parse_fields_v1(member.value);
        if (!below) return std::nullopt;
        // A leaf is written as {}.
        if (below->children.empty()) below->member = true;
        set.children.push_back({member.key, *std::move(below)});
    }
    set.order_children();
    return set;
}

Value to_fields_v1(const FieldSet& set) {
    Value fields = Value::object();
    if (set.member && !set.children.empty()) fields.set(".", Value::object());
    for (const FieldSet::Child& child : set.children)
        fields.mutable_members().push_back({child.step, to_fields_v1(child.set)});
    return fields;
}

std::vector<std::string> path_texts(const FieldSet& set) {
    std::vector<std::string> texts;
    add_path_texts(set, "", texts);
    return texts;
}

}  // namespace muster::api
