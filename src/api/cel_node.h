// api/cel_node.h - the tree that a CEL expression is parsed into.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/cel.h"
#include "api/cel_functions.h"

namespace muster::api {

struct CelRule::Node {
    enum class Kind : std::uint8_t {
        constant,  // `value`
        name,      // `text`
        field,     // child 0 . `text`
        item,      // child 0 [ child 1 ]
        list,      // [ children ]
        map,       // { child 0 : child 1, child 2 : child 3 }
        call,      // `text` ( children ); of a method, child 0 is what it is called on
        has,       // has( child 0 ), which is a field
        macro,     // child 0 . `text` ( `variable`, child 1 ), of map( ) also child 2
        unary,     // ! or - child 0
        binary,    // child 0 `text` child 1
        choice,    // child 0 ? child 1 : child 2
    };

    Kind kind = Kind::constant;
    std::string text;
    std::string variable;
    Value value;
    bool optional = false;                  // Of a field or an item: .?a, [?i].
    const CelFunction* function = nullptr;  // Of a call.
    std::vector<std::unique_ptr<Node>> children;
};

/// The tree, or what is wrong with the text.
std::variant<std::unique_ptr<CelRule::Node>, std::string> parse_cel(std::string_view text);

}  // namespace muster::api
