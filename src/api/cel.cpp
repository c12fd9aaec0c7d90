// api/cel.cpp - evaluates CEL expressions over value trees.
//
// As in CEL, a part that cannot be said (a key that is not there) makes the whole so, unless the
// other side of && or || decides: false && (no such key) is false.
#include "api/cel.h"

#include <memory>
#include <utility>
#include <vector>

#include "api/cel_node.h"
#include "base/verify.h"

namespace muster::api {
namespace {

using Node = CelRule::Node;

/// A value, or why there is none. The value is the object's, the rule's or the evaluation's.
struct Operand {
    const Value* value = nullptr;
    std::string trouble;

    bool is(bool wanted) const {
        return value != nullptr && value->is_boolean() && value->as_boolean() == wanted;
    }
};

Operand trouble(std::string what) {
    return {nullptr, std::move(what)};
}

/// Most of what is made: it costs nothing.
Operand truth(bool value) {
    static const Value yes(true), no(false);
    return {value ? &yes : &no, {}};
}

Operand no_overload() {
    return trouble("no such overload");
}

/// One run of a rule: the names in scope, the innermost last, and the values that it made.
class Evaluation {
public:
    void define(std::string_view name, const Value& value) { scope_.emplace_back(name, &value); }
    Operand run(const Node& node);

private:
    Operand keep(Value value) {
        made_.push_back(std::make_unique<Value>(std::move(value)));
        return {made_.back().get(), {}};
    }
    Operand name(const Node& node) const;
    Operand field(const Node& node);
    Operand item(const Node& node);
    Operand list(const Node& node);
    Operand size(const Node& node);
    Operand has(const Node& node);
    Operand macro(const Node& node);
    Operand all_or_exists(const Node& node, const Value& items);
    Operand filter(const Node& node, const Value& items);
    Operand with(const Node& condition, std::string_view variable, const Value& item);
    Operand unary(const Node& node);
    Operand binary(const Node& node);
    Operand both(const Node& node, bool decides);
    Operand compare(const std::string& sign, const Value& left, const Value& right);
    Operand choice(const Node& node);

    std::vector<std::pair<std::string_view, const Value*>> scope_;
    std::vector<std::unique_ptr<Value>> made_;
};

Operand Evaluation::run(const Node& node) {
    switch (node.kind) {
        case Node::Kind::constant:
            return {&node.value, {}};
        case Node::Kind::name:
            return name(node);
        case Node::Kind::field:
            return field(node);
        case Node::Kind::item:
            return item(node);
        case Node::Kind::list:
            return list(node);
        case Node::Kind::call:
            return size(node);
        case Node::Kind::has:
            return has(node);
        case Node::Kind::macro:
            return macro(node);
        case Node::Kind::unary:
            return unary(node);
        case Node::Kind::binary:
            return binary(node);
        case Node::Kind::choice:
            return choice(node);
    }
    return no_overload();
}

Operand Evaluation::name(const Node& node) const {
    for (auto each = scope_.rbegin(); each != scope_.rend(); ++each) {
        if (each->first == node.text) return {each->second, {}};
    }
    return trouble("undeclared reference to '" + node.text + "'");
}

Operand Evaluation::field(const Node& node) {
    Operand object = run(*node.children[0]);
    if (object.value == nullptr) return object;
    if (!object.value->is_object()) return no_overload();
    const Value& found = (*object.value)[node.text];
    if (found.is_null()) return trouble("no such key: " + node.text);
    return {&found, {}};
}

Operand Evaluation::item(const Node& node) {
    Operand whole = run(*node.children[0]);
    if (whole.value == nullptr) return whole;
    Operand index = run(*node.children[1]);
    if (index.value == nullptr) return index;
    if (whole.value->is_object() && index.value->is_string()) {
        const Value& found = (*whole.value)[index.value->as_string()];
        if (found.is_null()) return trouble("no such key: " + index.value->as_string());
        return {&found, {}};
    }
    if (!whole.value->is_array() || !index.value->is_integer()) return no_overload();
    const std::int64_t at = index.value->as_integer();
    if (at < 0 || at >= static_cast<std::int64_t>(whole.value->size()))
        return trouble("index out of bounds: " + std::to_string(at));
    return {&(*whole.value)[static_cast<std::size_t>(at)], {}};
}

Operand Evaluation::list(const Node& node) {
    Value items = Value::array();
    for (const auto& child : node.children) {
        Operand item = run(*child);
        if (item.value == nullptr) return item;
        items.push(*item.value);
    }
    return keep(std::move(items));
}

Operand Evaluation::size(const Node& node) {
    Operand whole = run(*node.children[0]);
    if (whole.value == nullptr) return whole;
    if (whole.value->is_string()) {
        std::int64_t characters = 0;
        for (const char c : whole.value->as_string())
            characters += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
        return keep(characters);
    }
    if (!whole.value->is_array() && !whole.value->is_object()) return no_overload();
    return keep(static_cast<std::int64_t>(whole.value->size()));
}

Operand Evaluation::has(const Node& node) {
    const Node& wanted = *node.children[0];
    Operand object = run(*wanted.children[0]);
    if (object.value == nullptr) return object;
    if (!object.value->is_object()) return no_overload();
    return truth(!(*object.value)[wanted.text].is_null());
}

Operand Evaluation::macro(const Node& node) {
    Operand whole = run(*node.children[0]);
    if (whole.value == nullptr) return whole;
    if (!whole.value->is_array()) return no_overload();
    if (node.text == "filter") return filter(node, *whole.value);
    return all_or_exists(node, *whole.value);
}

/// The condition with one name more in scope.
Operand Evaluation::with(const Node& condition, std::string_view variable, const Value& item) {
    scope_.emplace_back(variable, &item);
    Operand found = run(condition);
    scope_.pop_back();
    return found;
}

Operand Evaluation::all_or_exists(const Node& node, const Value& items) {
    const bool decides = node.text == "exists";
    Operand first_trouble;
    for (const Value& item : items.items()) {
        Operand found = with(*node.children[1], node.variable, item);
        if (found.is(decides)) return truth(decides);
        if (found.is(!decides) || !first_trouble.trouble.empty()) continue;
        first_trouble = found.value == nullptr ? std::move(found) : no_overload();
    }
    return first_trouble.trouble.empty() ? truth(!decides) : first_trouble;
}

Operand Evaluation::filter(const Node& node, const Value& items) {
    Value kept = Value::array();
    for (const Value& item : items.items()) {
        Operand found = with(*node.children[1], node.variable, item);
        if (found.value == nullptr) return found;
        if (!found.value->is_boolean()) return no_overload();
        if (found.value->as_boolean()) kept.push(item);
    }
    return keep(std::move(kept));
}

Operand Evaluation::unary(const Node& node) {
    Operand operand = run(*node.children[0]);
    if (operand.value == nullptr) return operand;
    if (node.text == "!" && operand.value->is_boolean()) return truth(!operand.value->as_boolean());
    if (node.text == "-" && operand.value->is_integer()) return keep(-operand.value->as_integer());
    return no_overload();
}

/// && and ||: either side may decide, whatever is wrong with the other.
Operand Evaluation::both(const Node& node, bool decides) {
    Operand left = run(*node.children[0]);
    if (left.is(decides)) return left;
    Operand right = run(*node.children[1]);
    if (right.is(decides)) return right;
    if (left.is(!decides) && right.is(!decides)) return left;
    for (Operand* side : {&left, &right}) {
        if (side->value == nullptr) return std::move(*side);
    }
    return no_overload();
}

Operand Evaluation::binary(const Node& node) {
    if (node.text == "&&") return both(node, false);
    if (node.text == "||") return both(node, true);
    Operand left = run(*node.children[0]);
    if (left.value == nullptr) return left;
    Operand right = run(*node.children[1]);
    if (right.value == nullptr) return right;
    return compare(node.text, *left.value, *right.value);
}

Operand Evaluation::compare(const std::string& sign, const Value& left, const Value& right) {
    if (sign == "==") return truth(left == right);
    if (sign == "!=") return truth(!(left == right));
    if (sign == "in") {
        if (right.is_object() && left.is_string()) return truth(right.has(left.as_string()));
        if (!right.is_array()) return no_overload();
        for (const Value& item : right.items()) {
            if (item == left) return truth(true);
        }
        return truth(false);
    }
    if (left.is_string() && right.is_string() && sign != "-") {
        const std::string &a = left.as_string(), &b = right.as_string();
        if (sign == "+") return keep(a + b);
        return truth(sign == "<" ? a < b : sign == "<=" ? a <= b : sign == ">" ? a > b : a >= b);
    }
    if (!left.is_integer() || !right.is_integer()) return no_overload();
    const std::int64_t a = left.as_integer(), b = right.as_integer();
    if (sign == "+" || sign == "-") {
        std::int64_t result = 0;
        const bool overflows = sign == "+" ? __builtin_add_overflow(a, b, &result)
                                           : __builtin_sub_overflow(a, b, &result);
        return overflows ? trouble("integer overflow") : keep(result);
    }
    return truth(sign == "<" ? a < b : sign == "<=" ? a <= b : sign == ">" ? a > b : a >= b);
}

Operand Evaluation::choice(const Node& node) {
    Operand condition = run(*node.children[0]);
    if (condition.value == nullptr) return condition;
    if (!condition.value->is_boolean()) return no_overload();
    return run(*node.children[condition.value->as_boolean() ? 1 : 2]);
}

bool mentions(const Node& node, std::string_view name) {
    if (node.kind == Node::Kind::name && node.text == name) return true;
    for (const auto& child : node.children) {
        if (mentions(*child, name)) return true;
    }
    return false;
}

}  // namespace

CelRule::CelRule(std::string_view text) {
    auto parsed = parse_cel(text);
    if (std::string* wrong = std::get_if<std::string>(&parsed)) {
        error_ = std::move(*wrong);
        return;
    }
    root_ = std::move(std::get<std::unique_ptr<Node>>(parsed));
    of_change_ = mentions(*root_, "oldSelf");
}

CelRule::CelRule(CelRule&& other) noexcept = default;
CelRule::~CelRule() = default;

CelRule::Answer CelRule::ask(const Value& self, const Value* old_self) const {
    VERIFY(root_ != nullptr && (!of_change_ || old_self != nullptr));
    Evaluation evaluation;
    evaluation.define("self", self);
    if (old_self != nullptr) evaluation.define("oldSelf", *old_self);
    Operand found = evaluation.run(*root_);
    if (found.value == nullptr) return {false, std::move(found.trouble)};
    if (!found.value->is_boolean()) return {false, "no such overload"};
    return {found.value->as_boolean(), {}};
}

}  // namespace muster::api
