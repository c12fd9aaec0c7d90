// decide/place/pod.cpp - matching of labels, selectors, taints and tolerations.
#include "decide/place/pod.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace muster::decide {

namespace {

std::optional<std::int64_t> integer(const std::string& text) {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

bool holds(const Requirement& requirement, const std::string* value) {
    const auto listed = [&] {
        return std::find(requirement.values.begin(), requirement.values.end(), *value) !=
               requirement.values.end();
    };
    const auto compare = [&](auto order) {
        if (value == nullptr || requirement.values.size() != 1) return false;
        const auto left = integer(*value);
        const auto right = integer(requirement.values.front());
        return left && right && order(*left, *right);
    };
    switch (requirement.op) {
        case Requirement::Op::in:
            return value != nullptr && listed();
        case Requirement::Op::not_in:
            return value == nullptr || !listed();
        case Requirement::Op::exists:
            return value != nullptr;
        case Requirement::Op::does_not_exist:
            return value == nullptr;
        case Requirement::Op::greater:
            return compare([](auto a, auto b) { return a > b; });
        case Requirement::Op::less:
            return compare([](auto a, auto b) { return a < b; });
    }
    return false;
}

bool same_effect(Toleration::Effect tolerated, Taint::Effect effect) {
    switch (tolerated) {
        case Toleration::Effect::any:
            return true;
        case Toleration::Effect::no_schedule:
            return effect == Taint::Effect::no_schedule;
        case Toleration::Effect::prefer_no_schedule:
            return effect == Taint::Effect::prefer_no_schedule;
        case Toleration::Effect::no_execute:
            return effect == Taint::Effect::no_execute;
    }
    return false;
}

bool tolerates_one(const Toleration& toleration, const Taint& taint) {
    if (!same_effect(toleration.effect, taint.effect)) return false;
    if (toleration.key.empty()) return toleration.op == Toleration::Op::exists;
    if (toleration.key != taint.key) return false;
    return toleration.op == Toleration::Op::exists || toleration.value == taint.value;
}

}  // namespace

bool matches(const Requirement& requirement, const Labels& labels) {
    const auto found = labels.find(requirement.key);
    return holds(requirement, found == labels.end() ? nullptr : &found->second);
}

bool matches(const Selector& selector, const Labels& labels) {
    for (const auto& [key, value] : selector.labels) {
        const auto found = labels.find(key);
        if (found == labels.end() || found->second != value) return false;
    }
    return std::all_of(selector.expressions.begin(), selector.expressions.end(),
                       [&](const Requirement& r) { return matches(r, labels); });
}

bool matches(const NodeTerm& term, const Labels& labels, const std::string& node_name) {
    if (term.expressions.empty() && term.fields.empty()) return false;
    for (const Requirement& field : term.fields) {
        if (field.key != "metadata.name" || !holds(field, &node_name)) return false;
    }
    return std::all_of(term.expressions.begin(), term.expressions.end(),
                       [&](const Requirement& r) { return matches(r, labels); });
}

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
    return std::any_of(tolerations.begin(), tolerations.end(),
                       [&](const Toleration& t) { return tolerates_one(t, taint); });
}

const Taint* untolerated(const std::vector<Taint>& taints,
                         const std::vector<Toleration>& tolerations) {
    const auto found = std::find_if(taints.begin(), taints.end(), [&](const Taint& taint) {
        return taint.effect != Taint::Effect::prefer_no_schedule && !tolerates(tolerations, taint);
    });
    return found == taints.end() ? nullptr : &*found;
}

bool selects_node(const PodShape& shape, const Labels& labels, const std::string& node_name) {
    for (const auto& [key, value] : shape.node_selector) {
        const auto found = labels.find(key);
        if (found == labels.end() || found->second != value) return false;
    }
    if (shape.node_affinity.empty()) return true;
    return std::any_of(shape.node_affinity.begin(), shape.node_affinity.end(),
                       [&](const NodeTerm& term) { return matches(term, labels, node_name); });
}

}  // namespace muster::decide
