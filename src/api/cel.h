// api/cel.h - the Common Expression Language, as far as the rules of the tables go: what a rule
// says of a value.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/value.h"

namespace muster::api {

/// A parsed rule. Knows: fields, items, also optional ones, && || ! ?: == != < <= > >= + - * / %
/// in, texts, numbers, lists, maps, has(), the functions of api/cel_functions.h, and the macros
/// all, exists, exists_one, filter and map.
class CelRule {
public:
    struct Node;

    /// `error()` says what is wrong when it cannot be parsed.
    explicit CelRule(std::string_view text);
    CelRule(CelRule&& other) noexcept;
    ~CelRule();

    const std::string& error() const { return error_; }
    /// It looks at oldSelf: it is asked about changes only.
    bool is_of_change() const { return of_change_; }
    /// The tree; null when it could not be parsed.
    const Node* root() const { return root_.get(); }

    struct Answer {
        bool holds = false;
        std::string trouble;  // Why it could not be said ("no such key: a"); then it does not hold.
        std::size_t steps = 0;  // What it took.
    };
    /// Requires: it was parsed. `old_self` may be null when the rule is not of a change.
    Answer ask(const Value& self, const Value* old_self) const;
    /// The same with other names in scope than self and oldSelf.
    using Name = std::pair<std::string_view, const Value*>;
    Answer ask(std::span<const Name> names) const;
    /// What it comes to, of whatever type; absent when it could not be said.
    std::optional<Value> value(const Value& self, const Value* old_self) const;

private:
    std::unique_ptr<Node> root_;
    std::string error_;
    bool of_change_ = false;
};

}  // namespace muster::api
