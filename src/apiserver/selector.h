// apiserver/selector.h - label and field selectors: read from a query or an object, matched against
// objects.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/kind.h"
#include "api/value.h"

namespace muster::apiserver {

/// Labels of an object for many selectors to ask; the object must outlive it.
class LabelIndex {
public:
    explicit LabelIndex(const api::Value& labels);
    std::optional<std::string_view> find(std::string_view key) const;

private:
    const api::Value* labels_;
    /// By key, when they are too many to look through.
    std::vector<std::pair<std::string_view, std::string_view>> sorted_;
};

/// Requirements on labels; all must hold. Empty: everything matches.
class LabelSelector {
public:
    /// Each object is asked each of them: more are refused (400), as none of use has so many.
    static constexpr std::size_t requirements_max = 100;
    /// "a=b,c!=d,e in (f,g),h notin (i),j,!k". Throws StatusError (400) when it is not one.
    static LabelSelector parse(std::string_view text);
    /// {matchLabels, matchExpressions}, or a plain map of labels. Throws StatusError.
    static LabelSelector from_object(const api::Value& selector);

    bool empty() const { return requirements_.empty(); }
    bool matches(const api::Value& labels) const;
    bool matches(const LabelIndex& labels) const;
    bool matches(const std::vector<std::pair<std::string, std::string>>& labels) const;
    /// False when the JSON text of an object shows that it cannot match; saves parsing it. Asks the
    /// first few requirements only: more of them take longer than parsing.
    bool may_match(std::string_view json) const;
    /// "a=b,c in (d)": what /scale shows.
    std::string text() const;

private:
    enum class Operator { in, not_in, exists, absent, greater, less };
    struct Requirement {
        std::string key;
        Operator op = Operator::exists;
        std::vector<std::string> values;
        std::vector<std::string> sorted{};  // The values, when they are too many to look through.
        bool lists(std::string_view value) const;
    };
    static bool holds(const Requirement& requirement, const std::optional<std::string_view>& value);
    void settle();
    friend class LabelSelectorReader;
    std::vector<Requirement> requirements_;
};

/// Requirements on fields, of the few that a kind allows.
class FieldSelector {
public:
    static constexpr std::size_t terms_max = 100;
    /// "spec.nodeName=n1,status.phase!=Failed". Throws StatusError (400) for fields that the kind
    /// does not have.
    static FieldSelector parse(const api::Kind& kind, std::string_view text);

    bool empty() const { return terms_.empty(); }
    /// The name that metadata.name must equal, when asked for.
    std::optional<std::string> name() const;
    std::optional<std::string> ns() const;
    /// True when only metadata.name and metadata.namespace are asked for: the key is enough.
    bool needs_object() const;
    bool matches(const api::Value& object) const;
    bool matches_place(std::string_view ns, std::string_view name) const;
    /// As LabelSelector::may_match.
    bool may_match(std::string_view json) const;

private:
    struct Term {
        std::string field;
        std::string unset;  // What a missing field stands for: "false", "0", or nothing.
        std::string value;
        bool equal = true;
    };
    std::vector<Term> terms_;
};

}  // namespace muster::apiserver
