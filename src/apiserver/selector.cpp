// apiserver/selector.cpp - the grammar of selectors, and matching.
#include "apiserver/selector.h"

#include <algorithm>

#include "api/label_rules.h"
#include "apiserver/status_error.h"
#include "base/text.h"

namespace muster::apiserver {

using api::Value;

/// Reads the selector language, one requirement after the other.
class SelectorReader {
public:
    explicit SelectorReader(std::string_view text) : all_(text), text_(text) {}

    LabelSelector read() {
        LabelSelector selector;
        skip_blanks();
        while (!text_.empty()) {
            selector.requirements_.push_back(requirement());
            skip_blanks();
            if (text_.empty()) break;
            if (!take(',')) fail("found '" + std::string(text_) + "', expected: ',' or end");
            skip_blanks();
            if (text_.empty()) fail("found '', expected: identifier after ','");
        }
        return selector;
    }

private:
    using Operator = LabelSelector::Operator;

    [[noreturn]] void fail(const std::string& why) const {
        throw bad_request("unable to parse requirement: " + why + " (in \"" + std::string(all_) +
                          "\")");
    }
    void skip_blanks() {
        while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\t')) {
            text_.remove_prefix(1);
        }
    }
    bool take(char c) {
        if (text_.empty() || text_.front() != c) return false;
        text_.remove_prefix(1);
        return true;
    }
    std::string word() {
        skip_blanks();
        const std::size_t end = std::min(text_.find_first_of(" \t,=!()<>"), text_.size());
        std::string found(text_.substr(0, end));
        text_.remove_prefix(end);
        skip_blanks();
        return found;
    }
    std::vector<std::string> values() {
        if (!take('(')) fail("found '" + std::string(text_) + "', expected: '('");
        std::vector<std::string> found{word()};
        while (take(','))
            found.push_back(word());
        if (!take(')')) fail("found '" + std::string(text_) + "', expected: ',' or ')'");
        return found;
    }
    LabelSelector::Requirement requirement() {
        const bool negated = take('!');
        const std::string key = word();
        if (key.empty()) fail("found '" + std::string(text_) + "', expected: identifier");
        if (negated) return {key, Operator::absent, {}};
        if (text_.empty() || text_.front() == ',') return {key, Operator::exists, {}};
        if (take('!')) {
            if (!take('=')) fail("found '!', expected: '!='");
            return {key, Operator::not_in, {word()}};
        }
        if (take('=')) {
            take('=');
            return {key, Operator::in, {word()}};
        }
        if (take('>')) return {key, Operator::greater, {word()}};
        if (take('<')) return {key, Operator::less, {word()}};
        const std::string op = word();
        if (op == "in") return {key, Operator::in, values()};
        if (op == "notin") return {key, Operator::not_in, values()};
        fail("found '" + op + "', expected: in, notin, =, ==, !=, gt, lt");
    }

    std::string_view all_;
    std::string_view text_;
};

LabelSelector LabelSelector::parse(std::string_view text) {
    LabelSelector selector = SelectorReader(text).read();
    for (const Requirement& requirement : selector.requirements_) {
        const bool numbers =
            requirement.op == Operator::greater || requirement.op == Operator::less;
        std::vector<std::string> values = numbers ? std::vector<std::string>() : requirement.values;
        if (values.empty()) values.emplace_back();
        for (const std::string& value : values) {
            std::vector<api::FieldError> errors;
            api::check_labels(Value::object({{requirement.key, value}}), api::Path(), errors);
            if (!errors.empty())
                throw bad_request("unable to parse requirement: " + errors.front().text);
        }
    }
    return selector;
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
    return selector;
}

bool LabelSelector::holds(const Requirement& requirement, const std::string* value) {
    const auto listed = [&] {
        return std::find(requirement.values.begin(), requirement.values.end(), *value) !=
               requirement.values.end();
    };
    switch (requirement.op) {
        case Operator::in:
            return value != nullptr && listed();
        case Operator::not_in:
            return value == nullptr || !listed();
        case Operator::exists:
            return value != nullptr;
        case Operator::absent:
            return value == nullptr;
        case Operator::greater:
        case Operator::less: {
            if (value == nullptr) return false;
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
        const Value* value = labels.find(term.key);
        return holds(term, value != nullptr && value->is_string() ? &value->as_string() : nullptr);
    });
}

bool LabelSelector::matches(const std::vector<std::pair<std::string, std::string>>& labels) const {
    return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& term) {
        const auto found = std::find_if(labels.begin(), labels.end(),
                                        [&](const auto& label) { return label.first == term.key; });
        return holds(term, found == labels.end() ? nullptr : &found->second);
    });
}

/// Keys and values of labels are written in JSON as they are, without escapes.
bool LabelSelector::may_match(std::string_view json) const {
    return std::all_of(requirements_.begin(), requirements_.end(), [&](const Requirement& term) {
        if (term.op == Operator::not_in || term.op == Operator::absent) return true;
        if (json.find("\"" + term.key + "\":") == std::string_view::npos) return false;
        if (term.op != Operator::in) return true;
        return std::any_of(term.values.begin(), term.values.end(), [&](const std::string& value) {
            return json.find("\"" + value + "\"") != std::string_view::npos;
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

FieldSelector FieldSelector::parse(const api::Kind& kind, std::string_view text) {
    FieldSelector selector;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view term = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        if (term.empty()) continue;
        const std::size_t equal = term.find('=');
        if (equal == std::string_view::npos || equal == 0) {
            throw bad_request("invalid selector: '" + std::string(term) + "'; can't understand '" +
                              std::string(term) + "'");
        }
        Term parsed;
        std::string stored_field;
        parsed.equal = term[equal - 1] != '!';
        parsed.field = term.substr(0, parsed.equal ? equal : equal - 1);
        // The newer form of events is kept in the older one, where these have other names.
        if (!kind.stored_as.empty() && parsed.field.starts_with("regarding.")) {
            stored_field = "involvedObject" + parsed.field.substr(9);
        } else if (!kind.stored_as.empty() && parsed.field == "reportingController") {
            stored_field = "reportingComponent";
        }
        std::string_view value = term.substr(equal + 1);
        if (!value.empty() && value.front() == '=') value.remove_prefix(1);
        parsed.value = value;
        const auto& fields = kind.selectable_fields;
        if (parsed.field != "metadata.name" && parsed.field != "metadata.namespace" &&
            std::find(fields.begin(), fields.end(), parsed.field) == fields.end()) {
            throw bad_request("field label not supported: " + parsed.field);
        }
        if (!stored_field.empty()) parsed.field = stored_field;
        selector.terms_.push_back(std::move(parsed));
    }
    return selector;
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
        std::string shown = value.text();
        if (value.is_integer()) shown = std::to_string(value.as_integer());
        if (value.is_boolean()) shown = value.as_boolean() ? "true" : "false";
        return (shown == term.value) == term.equal;
    });
}

bool FieldSelector::may_match(std::string_view json) const {
    constexpr std::string_view escaped = "\"\\/<>&";
    return std::all_of(terms_.begin(), terms_.end(), [&](const Term& term) {
        if (!term.equal || term.value.find_first_of(escaped) != std::string::npos) return true;
        return json.find(term.value) != std::string_view::npos;
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
