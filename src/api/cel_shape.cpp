// api/cel_shape.cpp - follows the fields of a rule through the schema.
#include "api/cel_shape.h"

#include <utility>
#include <vector>

#include "api/cel_node.h"

namespace muster::api {
namespace {

using Node = CelRule::Node;

/// What is known of an expression: the schema of its value; null when it may be anything.
class Shapes {
public:
    explicit Shapes(const Value& document) {
        scope_.emplace_back("self", &document);
        scope_.emplace_back("oldSelf", &document);
        root_ = &document;
    }
    explicit Shapes(std::span<const CelRule::Name> names) : scope_(names.begin(), names.end()) {}
    const Value* of(const Node& node);
    const std::string& fault() const { return fault_; }

private:
    const Value* of_name(const Node& node);
    const Value* of_field(const Node& node);
    const Value* of_macro(const Node& node);

    std::vector<std::pair<std::string, const Value*>> scope_;
    const Value* root_ = nullptr;  // Of a whole object, which has metadata that no schema names.
    std::string fault_;
};

const Value* Shapes::of_name(const Node& node) {
    for (auto each = scope_.rbegin(); each != scope_.rend(); ++each) {
        if (each->first == node.text) return each->second;
    }
    if (fault_.empty()) fault_ = "undeclared reference to '" + node.text + "' (in container '')";
    return nullptr;
}

bool holds_open(const Value& document) {
    return document["x-kubernetes-preserve-unknown-fields"].boolean_or(false) &&
           document["properties"].empty();
}

const Value* Shapes::of_field(const Node& node) {
    const Value* object = of(*node.children[0]);
    if (object == nullptr || holds_open(*object)) return nullptr;
    const Value& additional = (*object)["additionalProperties"];
    if (!additional.is_null()) return additional.is_object() ? &additional : nullptr;
    const std::string_view type = (*object)["type"].text_or("");
    if (type != "object") {
        if (!type.empty() && fault_.empty())
            fault_ = "type '" + std::string(type) + "' does not support field selection";
        return nullptr;
    }
    const bool root =
        object == root_ || (*object)["x-kubernetes-embedded-resource"].boolean_or(false);
    if (root && (node.text == "apiVersion" || node.text == "kind" || node.text == "metadata"))
        return nullptr;
    const Value* found = (*object)["properties"].find(node.text);
    if (found == nullptr && fault_.empty()) fault_ = "undefined field '" + node.text + "'";
    return found;
}

const Value* Shapes::of_macro(const Node& node) {
    const Value* whole = of(*node.children[0]);
    const Value* item = nullptr;
    if (whole != nullptr && (*whole)["items"].is_object()) item = &(*whole)["items"];
    scope_.emplace_back(node.variable, item);
    for (std::size_t i = 1; i < node.children.size(); ++i)
        of(*node.children[i]);
    scope_.pop_back();
    return node.text == "filter" ? whole : nullptr;
}

const Value* Shapes::of(const Node& node) {
    switch (node.kind) {
        case Node::Kind::name:
            return of_name(node);
        case Node::Kind::field: {
            const Value* found = of_field(node);
            return node.optional ? nullptr : found;
        }
        case Node::Kind::macro:
            return of_macro(node);
        case Node::Kind::item: {
            const Value* whole = of(*node.children[0]);
            of(*node.children[1]);
            if (whole == nullptr || node.optional) return nullptr;
            for (const char* part : {"items", "additionalProperties"}) {
                if ((*whole)[part].is_object()) return &(*whole)[part];
            }
            return nullptr;
        }
        default:
            for (const auto& child : node.children)
                of(*child);
            return nullptr;
    }
}

}  // namespace

std::string undeclared_in(const CelRule& rule, const Value& document) {
    Shapes shapes(document);
    shapes.of(*rule.root());
    return shapes.fault();
}

std::string undeclared_among(const CelRule& rule, std::span<const CelRule::Name> names) {
    Shapes shapes(names);
    shapes.of(*rule.root());
    return shapes.fault();
}

}  // namespace muster::api
