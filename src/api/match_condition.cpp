// api/match_condition.cpp - what match conditions may speak of, and that they say yes or no.
#include "api/match_condition.h"

#include <algorithm>
#include <array>
#include <memory>
#include <variant>
#include <vector>

#include "api/cel_node.h"
#include "api/cel_shape.h"
#include "api/json.h"
#include "base/verify.h"

namespace muster::api {
namespace {

using Node = CelRule::Node;

/// The shape of `request`, as JSON Schema.
constexpr std::string_view request_document = R"({"type":"object","properties":{
"kind":{"type":"object","properties":{"group":{"type":"string"},"version":{"type":"string"},"kind":{"type":"string"}}},
"resource":{"type":"object","properties":{"group":{"type":"string"},"version":{"type":"string"},"resource":{"type":"string"}}},
"subResource":{"type":"string"},
"requestKind":{"type":"object","properties":{"group":{"type":"string"},"version":{"type":"string"},"kind":{"type":"string"}}},
"requestResource":{"type":"object","properties":{"group":{"type":"string"},"version":{"type":"string"},"resource":{"type":"string"}}},
"requestSubResource":{"type":"string"},"name":{"type":"string"},"namespace":{"type":"string"},
"operation":{"type":"string"},"dryRun":{"type":"boolean"},
"userInfo":{"type":"object","properties":{"username":{"type":"string"},"uid":{"type":"string"},
"groups":{"type":"array","items":{"type":"string"}},
"extra":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}}}},
"options":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}})";

const Value& request_shape() {
    static const Value shape = [] {
        auto parsed = parse_json(request_document);
        VERIFY(std::holds_alternative<Parsed>(parsed));
        return std::move(std::get<Parsed>(parsed).value);
    }();
    return shape;
}

bool mentions(const Node& node, std::string_view name) {
    if (node.kind == Node::Kind::name && node.text == name) return true;
    return std::any_of(node.children.begin(), node.children.end(),
                       [&](const auto& child) { return mentions(*child, name); });
}

std::string type_of(const Node& node);

std::string type_of_constant(const Value& value) {
    if (value.is_boolean()) return "bool";
    if (value.is_string()) return "string";
    if (value.is_integer()) return "int";
    if (value.is_number()) return "double";
    return value.is_null() ? "null_type" : "";
}

/// Of a.b.c with `request` at its beginning.
const Value* shape_at(const Node& node) {
    if (node.kind == Node::Kind::name) return node.text == "request" ? &request_shape() : nullptr;
    if (node.kind != Node::Kind::field || node.optional) return nullptr;
    const Value* whole = shape_at(*node.children[0]);
    if (whole == nullptr) return nullptr;
    return (*whole)["properties"].find(node.text);
}

std::string type_of_field(const Node& node) {
    const Value* shape = shape_at(node);
    if (shape == nullptr) {
        const bool open = mentions(node, "object") || mentions(node, "oldObject");
        return open && !node.optional ? "dyn" : "";
    }
    const std::string_view type = (*shape)["type"].text_or("");
    if (type == "boolean") return "bool";
    return type == "string" ? "string" : "";
}

std::string type_of_binary(const Node& node) {
    static constexpr std::string_view judges[] = {"&&", "||", "==", "!=", "<",
                                                  "<=", ">",  ">=", "in"};
    const bool judged =
        std::find(std::begin(judges), std::end(judges), node.text) != std::end(judges);
    return judged ? "bool" : type_of(*node.children[0]);
}

/// What an expression comes to; empty when that is not known here.
std::string type_of(const Node& node) {
    switch (node.kind) {
        case Node::Kind::constant:
            return type_of_constant(node.value);
        case Node::Kind::name:
            return node.text == "object" || node.text == "oldObject" ? "dyn" : "";
        case Node::Kind::field:
            return type_of_field(node);
        case Node::Kind::has:
            return "bool";
        case Node::Kind::macro:
            return node.text == "filter" || node.text == "map" ? "list(dyn)" : "bool";
        case Node::Kind::unary:
            return node.text == "!" ? "bool" : type_of(*node.children[0]);
        case Node::Kind::binary:
            return type_of_binary(node);
        case Node::Kind::choice: {
            const std::string yes = type_of(*node.children[1]);
            return yes == type_of(*node.children[2]) ? yes : "";
        }
        default:
            return "";
    }
}

}  // namespace

std::string match_condition_fault(std::string_view expression) {
    const CelRule rule(expression);
    // Its methods are no functions here, so that what asks it is not even parsed.
    const bool asks_authorizer = rule.root() == nullptr
                                     ? expression.find("authorizer.") != std::string_view::npos
                                     : mentions(*rule.root(), "authorizer");
    if (asks_authorizer) return "this server knows no `authorizer` in match conditions";
    if (!rule.error().empty()) return "compilation failed: " + rule.error();
    const std::array<CelRule::Name, 4> names{{{"object", nullptr},
                                              {"oldObject", nullptr},
                                              {"namespaceObject", nullptr},
                                              {"request", &request_shape()}}};
    if (const std::string fault = undeclared_among(rule, names); !fault.empty())
        return "compilation failed: " + fault;
    const std::string type = type_of(*rule.root());
    if (!type.empty() && type != "bool") return "must evaluate to bool but got " + type;
    return "";
}

CelRule::Answer ask_condition(const CelRule& condition, const MatchInput& input) {
    static const Value none{};
    const std::array<CelRule::Name, 4> names{{{"object", &input.object},
                                              {"oldObject", &input.old_object},
                                              {"namespaceObject", &none},
                                              {"request", &input.request}}};
    return condition.ask(names);
}

}  // namespace muster::api
