// api/cel.cpp - evaluates CEL expressions over value trees.
//
// As in CEL, a part that cannot be said (a key that is not there) makes the whole so, unless the
// other side of && or || decides: false && (no such key) is false.
#include "api/cel.h"

#include <memory>
#include <utility>
#include <vector>

#include "api/cel_cost.h"
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
    // Steps that one run may take: rules come from users, and so do the objects.
    static constexpr std::size_t steps_max = 1'000'000;

    void define(std::string_view name, const Value& value) { scope_.emplace_back(name, &value); }
    Operand run(const Node& node);
    std::size_t steps() const { return steps_; }

private:
    /// Takes room for so many bytes, before they are made. False: there is none.
    [[nodiscard]] bool pay(std::size_t bytes) {
        made_size_ += bytes;
        steps_ += bytes / 64;
        return made_size_ <= cel_room && steps_ <= steps_max;
    }
    [[nodiscard]] bool pay_copy(const Value& value) { return pay(copy_size(value, cel_room + 1)); }
    Operand keep(Value value) {
        made_.push_back(std::make_unique<Value>(std::move(value)));
        return {made_.back().get(), {}};
    }
    Operand name(const Node& node) const;
    Operand field(const Node& node);
    Operand item(const Node& node);
    Operand list(const Node& node);
    Operand map(const Node& node);
    Operand call(const Node& node);
    Operand part(const Node& node, Operand found);
    Operand has(const Node& node);
    Operand macro(const Node& node);
    Operand all_or_exists(const Node& node, const Value& items);
    Operand exists_one(const Node& node, const Value& items);
    Operand filter(const Node& node, const Value& items);
    Operand mapped(const Node& node, const Value& items);
    Operand with(const Node& condition, std::string_view variable, const Value& item);
    Operand unary(const Node& node);
    Operand binary(const Node& node);
    Operand both(const Node& node, bool decides);
    Operand is_in(const Value& item, const Value& whole);
    Operand compare(const std::string& sign, const Value& left, const Value& right);
    Operand calculate(char sign, const Value& left, const Value& right);
    Operand calculate_whole(char sign, std::int64_t a, std::int64_t b);
    Operand choice(const Node& node);

    std::vector<std::pair<std::string_view, const Value*>> scope_;
    std::vector<std::unique_ptr<Value>> made_;
    std::size_t steps_ = 0;
    std::size_t made_size_ = 0;
};

Operand too_much() {
    return trouble("call cost exceeds limit");
}

Operand Evaluation::run(const Node& node) {
    if (++steps_ > steps_max) return too_much();
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
        case Node::Kind::map:
            return map(node);
        case Node::Kind::call:
            return call(node);
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

/// A field or item that may be missing: then it is an optional that holds nothing.
Operand Evaluation::part(const Node& node, Operand found) {
    if (!node.optional) return found;
    if (found.value == nullptr && !found.trouble.starts_with("no such key") &&
        !found.trouble.starts_with("index out of bounds")) {
        return found;
    }
    if (found.value != nullptr && !pay_copy(*found.value)) return too_much();
    return keep(make_optional(found.value));
}

Operand Evaluation::field(const Node& node) {
    Operand object = run(*node.children[0]);
    if (object.value == nullptr) return object;
    if (special_of(*object.value) == CelSpecial::optional) {
        const Value& found = special_content(*object.value)[0][node.text];
        if (!pay_copy(found)) return too_much();
        return keep(make_optional(found.is_null() ? nullptr : &found));
    }
    if (!object.value->is_object()) return no_overload();
    const Value& found = (*object.value)[node.text];
    if (found.is_null()) return part(node, trouble("no such key: " + node.text));
    return part(node, {&found, {}});
}

Operand Evaluation::item(const Node& node) {
    Operand whole = run(*node.children[0]);
    if (whole.value == nullptr) return whole;
    Operand index = run(*node.children[1]);
    if (index.value == nullptr) return index;
    if (whole.value->is_object() && index.value->is_string()) {
        const Value& found = (*whole.value)[index.value->as_string()];
        if (found.is_null()) return part(node, trouble("no such key: " + index.value->text()));
        return part(node, {&found, {}});
    }
    if (!whole.value->is_array() || !index.value->is_integer()) return no_overload();
    const std::int64_t at = index.value->as_integer();
    if (at < 0 || at >= static_cast<std::int64_t>(whole.value->size()))
        return part(node, trouble("index out of bounds: " + std::to_string(at)));
    return part(node, {&(*whole.value)[static_cast<std::size_t>(at)], {}});
}

Operand Evaluation::list(const Node& node) {
    Value items = Value::array();
    for (const auto& child : node.children) {
        Operand item = run(*child);
        if (item.value == nullptr) return item;
        if (!pay_copy(*item.value)) return too_much();
        items.push(*item.value);
    }
    return keep(std::move(items));
}

Operand Evaluation::map(const Node& node) {
    Value made = Value::object();
    for (std::size_t i = 0; i + 1 < node.children.size(); i += 2) {
        Operand key = run(*node.children[i]);
        if (key.value == nullptr) return key;
        Operand value = run(*node.children[i + 1]);
        if (value.value == nullptr) return value;
        if (!key.value->is_string()) return trouble("unsupported key type");
        if (!pay_copy(*value.value)) return too_much();
        made.set(key.value->as_string(), *value.value);
    }
    return keep(std::move(made));
}

Operand Evaluation::call(const Node& node) {
    std::vector<const Value*> arguments;
    for (const auto& child : node.children) {
        Operand argument = run(*child);
        if (argument.value == nullptr) return argument;
        // Texts are walked through: long ones cost more.
        if (argument.value->is_string()) steps_ += argument.value->as_string().size() / 64;
        arguments.push_back(argument.value);
    }
    const CelFunction& function = *node.function;
    if (function.takes != nullptr) steps_ += function.takes(arguments);
    if (!pay(function.makes != nullptr ? function.makes(arguments) : 0)) return too_much();
    CelResult result = function.call(arguments);
    if (!result.trouble.empty()) return trouble(std::move(result.trouble));
    if (!pay_copy(result.value)) return too_much();
    return keep(std::move(result.value));
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
    if (whole.value->is_object()) {
        Value keys = Value::array();
        for (const Value::Member& member : whole.value->members()) {
            constexpr std::size_t of_key = 48;
            if (!pay(of_key + member.key.view().size())) return too_much();
            keys.push(member.key);
        }
        whole = keep(std::move(keys));
    }
    if (!whole.value->is_array()) return no_overload();
    if (node.text == "filter") return filter(node, *whole.value);
    if (node.text == "map") return mapped(node, *whole.value);
    if (node.text == "exists_one") return exists_one(node, *whole.value);
    return all_or_exists(node, *whole.value);
}

Operand Evaluation::exists_one(const Node& node, const Value& items) {
    Operand passed = filter(node, items);
    if (passed.value == nullptr) return passed;
    return truth(passed.value->size() == 1);
}

/// map(x, value) or map(x, condition, value).
Operand Evaluation::mapped(const Node& node, const Value& items) {
    Value made = Value::array();
    for (const Value& item : items.items()) {
        if (node.children.size() > 2) {
            Operand taken = with(*node.children[1], node.variable, item);
            if (taken.value == nullptr) return taken;
            if (!taken.value->is_boolean()) return no_overload();
            if (!taken.value->as_boolean()) continue;
        }
        Operand found = with(*node.children.back(), node.variable, item);
        if (found.value == nullptr) return found;
        if (!pay_copy(*found.value)) return too_much();
        made.push(*found.value);
    }
    return keep(std::move(made));
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
        if (!found.value->as_boolean()) continue;
        if (!pay_copy(item)) return too_much();
        kept.push(item);
    }
    return keep(std::move(kept));
}

Operand Evaluation::unary(const Node& node) {
    Operand operand = run(*node.children[0]);
    if (operand.value == nullptr) return operand;
    if (node.text == "!" && operand.value->is_boolean()) return truth(!operand.value->as_boolean());
    if (node.text == "-" && operand.value->is_integer())
        return calculate_whole('-', 0, operand.value->as_integer());
    if (node.text == "-" && operand.value->is_number()) return keep(-operand.value->as_real());
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
    if (sign == "==" || sign == "!=") {
        steps_ += compare_steps(left, right);
        if (steps_ > steps_max) return too_much();
        return truth((left == right) == (sign == "=="));
    }
    if (sign == "in") return is_in(left, right);
    if (sign.size() == 1 && sign != "<" && sign != ">") return calculate(sign[0], left, right);
    const CelOrder order = cel_order(left, right);
    if (!order.known) return no_overload();
    return truth(sign == "<"    ? order.sign < 0
                 : sign == "<=" ? order.sign <= 0
                 : sign == ">"  ? order.sign > 0
                                : order.sign >= 0);
}

Operand Evaluation::is_in(const Value& item, const Value& whole) {
    if (whole.is_object() && item.is_string()) {
        steps_ += whole.size() / 16;
        return truth(whole.has(item.as_string()));
    }
    if (!whole.is_array()) return no_overload();
    for (const Value& each : whole.items()) {
        steps_ += each.is_array() || each.is_object() ? compare_steps(each, item) : 0;
        if (steps_ > steps_max) return too_much();
        if (each == item) return truth(true);
    }
    steps_ += whole.size() / 16;
    return truth(false);
}

Operand Evaluation::calculate(char sign, const Value& left, const Value& right) {
    if (sign == '+' && left.is_string() && right.is_string()) {
        if (!pay(left.as_string().size() + right.as_string().size())) return too_much();
        return keep(left.text().append(right.as_string()));
    }
    if (sign == '+' && left.is_array() && right.is_array()) {
        steps_ += left.size() + right.size();
        if (!pay_copy(left) || !pay_copy(right)) return too_much();
        Value both = left;
        for (const Value& item : right.items())
            both.push(item);
        return keep(std::move(both));
    }
    if (left.is_integer() && right.is_integer())
        return calculate_whole(sign, left.as_integer(), right.as_integer());
    const bool reals =
        left.is_number() && right.is_number() && !left.is_integer() && !right.is_integer();
    if (!reals || sign == '%') return no_overload();
    const double a = left.as_real(), b = right.as_real();
    return keep(sign == '+' ? a + b : sign == '-' ? a - b : sign == '*' ? a * b : a / b);
}

Operand Evaluation::calculate_whole(char sign, std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    bool overflows = false;
    if (sign == '+') overflows = __builtin_add_overflow(a, b, &result);
    if (sign == '-') overflows = __builtin_sub_overflow(a, b, &result);
    if (sign == '*') overflows = __builtin_mul_overflow(a, b, &result);
    if (sign == '/' || sign == '%') {
        if (b == 0) return trouble(sign == '/' ? "division by zero" : "modulus by zero");
        if (b == -1) {  // The only divisor by which a quotient can be too large.
            overflows = sign == '/' && __builtin_sub_overflow(std::int64_t{0}, a, &result);
        } else {
            result = sign == '/' ? a / b : a % b;
        }
    }
    return overflows ? trouble("integer overflow") : keep(result);
}

Operand Evaluation::choice(const Node& node) {
    Operand condition = run(*node.children[0]);
    if (condition.value == nullptr) return condition;
    if (!condition.value->is_boolean()) return no_overload();
    return run(*node.children[condition.value->as_boolean() ? 1 : 2]);
}

/// What a run begins with.
void define_both(Evaluation& evaluation, const Value& self, const Value* old_self) {
    evaluation.define("self", self);
    if (old_self != nullptr) evaluation.define("oldSelf", *old_self);
}

CelRule::Answer answer_of(Evaluation& evaluation, const Node& root) {
    Operand found = evaluation.run(root);
    if (found.value == nullptr) return {false, std::move(found.trouble), evaluation.steps()};
    if (!found.value->is_boolean()) return {false, "no such overload", evaluation.steps()};
    return {found.value->as_boolean(), {}, evaluation.steps()};
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
    define_both(evaluation, self, old_self);
    return answer_of(evaluation, *root_);
}

CelRule::Answer CelRule::ask(std::span<const Name> names) const {
    VERIFY(root_ != nullptr);
    Evaluation evaluation;
    for (const auto& [name, value] : names)
        evaluation.define(name, *value);
    return answer_of(evaluation, *root_);
}

std::optional<Value> CelRule::value(const Value& self, const Value* old_self) const {
    VERIFY(root_ != nullptr);
    Evaluation evaluation;
    define_both(evaluation, self, old_self);
    const Operand found = evaluation.run(*root_);
    if (found.value == nullptr) return std::nullopt;
    return *found.value;
}

}  // namespace muster::api
