// apiserver/selector.cpp - matching of labels and fields.
#include "apiserver/selector.h"

#include <algorithm>
#include <cstring>

#include "apiserver/status_error.h"
#include "base/text.h"

namespace muster::apiserver {

using api::Value;

/// So many are looked through one after the other.
constexpr std::size_t few_values = 16;
constexpr std::size_t few_labels = 16;
/// So often a text is looked through before it is parsed.
constexpr int looks_max = 8;

namespace {

/// As `find`, but never longer than both texts: memmem's time does not grow with their product.
bool contains(std::string_view text, std::string_view part) {
    return memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

std::optional<std::string_view> label_text(const Value* value) {
    if (value == nullptr || !value->is_string()) return std::nullopt;
    return value->as_string();
}

}  // namespace

LabelIndex::LabelIndex(const Value& labels) : labels_(&labels) {
    if (labels.members().size() <= few_labels) return;
    for (const Value::Member& label : labels.members()) {
        if (const auto text = label_text(&label.value))
            sorted_.emplace_back(label.key.view(), *text);
    }
    std::sort(sorted_.begin(), sorted_.end());
}

std::optional<std::string_view> LabelIndex::find(std::string_view key) const {
    if (sorted_.empty()) return label_text(labels_->find(key));
    const auto found = std::lower_bound(
        sorted_.begin(), sorted_.end(), key,
        [](const auto& label, std::string_view name) { return label.first < name; });
    if (found == sorted_.end() || found->first != key) return std::nullopt;
    return found->second;
}

LabelSelector LabelSelector::from_object(const Value& object) {
    LabelSelector selector;
    const bool structured = object.has("matchLabels") || object.has("matchExpressions");
    for (const auto& label : (structured ? object["matchLabels"] : object).members()) {
        selector.requirements_.push_back({label.key, Operator::in, {label.value.text()}});
    }
    if (!structured) return selector;
    for (const Value& expression : object["matchExpressions"].items()) {
        Requirement requirement{expression["key"].text(), Operator::exists, {}};
        for (const Value& value : expression["values"].items()) {
            requirement.values.push_back(value.text());
        }
        const std::string op = expression["operator"].text();
        if (op == "In") {
            requirement.op = Operator::in;
        } else if (op == "NotIn") {
            requirement.op = Operator::not_in;
        } else if (op == "DoesNotExist") {
            requirement.op = Operator::absent;
        } else if (op != "Exists") {
            throw bad_request("\"" + op + "\" is not a valid label selector operator");
        }
        selector.requirements_.push_back(std::move(requirement));
    }
    selector.settle();
    return selector;
}

/// The requirements are complete.
void LabelSelector::settle() {
    for (Requirement& requirement : requirements_) {
        if (requirement.values.size() <= few_values) continue;
        requirement.sorted = requirement.values;
        std::sort(requirement.sorted.begin(), requirement.sorted.end());
    }
}

bool LabelSelector::Requirement::lists(std::string_view value) const {
    if (sorted.empty()) return std::find(values.begin(), values.end(), value) != values.end();
    return std::binary_search(sorted.begin(), sorted.end(), value);
}

bool LabelSelector::holds(const Requirement& requirement,
                          const std::optional<std::string_view>& value) {
    switch (requirement.op) {
        case Operator::in:
            return value && requirement.lists(*value);
        case Operator::not_in:
            return !value || !requirement.lists(*value);
        case Operator::exists:
            return value.has_value();
        case Operator::absent:
            return !value;
        case Operator::greater:
        case Operator::less: {
            if (!value) return false;
            const auto have = parse_integer(*value);
            const auto bound = parse_integer(requirement.values.front());
            if (!have || !bound) return false;
            return requirement.op == Operator::greater ? *have > *bound : *have < *bound;
        }
    }
    return false;
}

bool LabelSelector::matches(const Value& labels) const {
    return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& term) {
        return holds(term, label_text(labels.find(term.key)));
    });
}

bool LabelSelector::matches(const LabelIndex& labels) const {
    return std::all_of(requirements_.begin(), requirements_.end(),
                       [&](const Requirement& term) { return holds(term, labels.find(term.key)); });
}

bool LabelSelector::matches(const std::vector<std::pair<std::string, std::string>>& labels) const {
    return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& term) {
        const auto found = std::find_if(labels.begin(), labels.end(),
                                        [&](const auto& label) { return label.first == term.key; });
        return holds(term, found == labels.end() ? std::nullopt
                                                 : std::optional<std::string_view>(found->second));
    });
}

/// Keys and values of labels are written in JSON as they are, without escapes.
bool LabelSelector::may_match(std::string_view json) const {
    int looks = 0;
    return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& term) {
        if (term.op == Operator::not_in || term.op == Operator::absent) return true;
        if (++looks > looks_max) return true;
        if (!contains(json, "\"" + term.key + "\":")) return false;
        if (term.op != Operator::in) return true;
        looks += static_cast<int>(term.values.size());
        if (looks > looks_max) return true;
        return std::any_of(term.values.begin(), term.values.end(), [&](const std::string& value) {
            return contains(json, "\"" + value + "\"");
        });
    });
}

std::string LabelSelector::text() const {
    std::string text;
    for (const Requirement& term : requirements_) {
        if (!text.empty()) text += ",";
        const std::string joined = join(term.values, ",");
        switch (term.op) {
            case Operator::in:
                text += term.key;
                text += term.values.size() == 1 ? "=" + joined : " in (" + joined + ")";
                break;
            case Operator::not_in:
                text += term.key;
                text += term.values.size() == 1 ? "!=" + joined : " notin (" + joined + ")";
                break;
            case Operator::exists:
                text += term.key;
                break;
            case Operator::absent:
                text += "!" + term.key;
                break;
            case Operator::greater:
                text += term.key + ">" + joined;
                break;
            case Operator::less:
                text += term.key + "<" + joined;
                break;
        }
    }
    return text;
}

std::optional<std::string> FieldSelector::name() const {
    for (const Term& term : terms_) {
        if (term.equal && term.field == "metadata.name") return term.value;
    }
    return std::nullopt;
}

std::optional<std::string> FieldSelector::ns() const {
    for (const Term& term : terms_) {
        if (term.equal && term.field == "metadata.namespace") return term.value;
    }
    return std::nullopt;
}

bool FieldSelector::needs_object() const {
    return std::any_of(terms_.begin(), terms_.end(), [](const Term& term) {
        return term.field != "metadata.name" && term.field != "metadata.namespace";
    });
}

bool FieldSelector::matches(const Value& object) const {
    return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
        const Value& value = object.path(term.field);
        std::string shown = value.is_null() ? term.unset : value.text();
        if (value.is_integer()) shown = std::to_string(value.as_integer());
        if (value.is_boolean()) shown = value.as_boolean() ? "true" : "false";
        return (shown == term.value) == term.equal;
    });
}

bool FieldSelector::may_match(std::string_view json) const {
    constexpr std::string_view escaped = "\"\\/<>&";
    int looks = 0;
    return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
        if (!term.equal || term.value == term.unset ||
            term.value.find_first_of(escaped) != std::string::npos)
            return true;
        return ++looks > looks_max || contains(json, term.value);
    });
}

bool FieldSelector::matches_place(std::string_view ns, std::string_view name) const {
    return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
        if (term.field == "metadata.name") return (name == term.value) == term.equal;
        if (term.field == "metadata.namespace") return (ns == term.value) == term.equal;
        return true;
    });
}

}  // namespace muster::apiserver
