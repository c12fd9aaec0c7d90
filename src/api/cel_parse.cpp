// api/cel_parse.cpp - CEL text to a tree, by recursive descent.
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "api/cel_node.h"
#include "api/cel_text.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Node = CelRule::Node;
using NodePtr = std::unique_ptr<Node>;

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

NodePtr make(Node::Kind kind, std::string_view text = "") {
    auto node = std::make_unique<Node>();
    node->kind = kind;
    node->text = text;
    return node;
}

template <typename... Children>
NodePtr make_with(Node::Kind kind, std::string_view text, Children... children) {
    NodePtr node = make(kind, text);
    (node->children.push_back(std::move(children)), ...);
    return node;
}

NodePtr constant(Value value) {
    NodePtr node = make(Node::Kind::constant);
    node->value = std::move(value);
    return node;
}

/// Fields whose names are no names in CEL are written in other letters.
std::string unescaped(std::string_view name) {
    std::string made(name);
    for (const auto& [written, meant] :
         {std::pair("__dash__", "-"), std::pair("__dot__", "."), std::pair("__slash__", "/"),
          std::pair("__underscores__", "__")}) {
        made = replace_all(made, written, meant);
    }
    static constexpr std::string_view words[] = {
        "true",     "false",   "null",   "in",        "as",  "break",  "const",
        "continue", "else",    "for",    "function",  "if",  "import", "let",
        "loop",     "package", "return", "namespace", "var", "void",   "while"};
    for (const std::string_view each : words) {
        if (made == "__" + std::string(each) + "__") return std::string(each);
    }
    return made;
}

/// Every function gives null once something is wrong; `error()` says what it was first.
class Parser {
public:
    explicit Parser(std::string_view text) : rest_(text) {}

    NodePtr whole() {
        NodePtr node = choice();
        skip_blanks();
        if (node && !rest_.empty()) return fail("unexpected '" + std::string(rest_) + "'");
        return node;
    }
    const std::string& error() const { return error_; }

private:
    // The tree's depth: of brackets, and of chains such as a.b.c and 1 + 1 + 1.
    static constexpr int depth_max = 100;
    static constexpr int links_max = 2000;

    NodePtr fail(std::string what) {
        if (error_.empty()) error_ = std::move(what);
        return nullptr;
    }

    void skip_blanks() {
        while (!rest_.empty()) {
            if (rest_.starts_with("//")) {
                rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
            } else if (std::string_view(" \t\n\r\f").find(rest_[0]) != std::string_view::npos) {
                rest_.remove_prefix(1);
            } else {
                return;
            }
        }
    }

    bool take(std::string_view token) {
        skip_blanks();
        if (!rest_.starts_with(token)) return false;
        const bool word = is_letter(token[0]);
        if (word && rest_.size() > token.size() &&
            (is_letter(rest_[token.size()]) || is_digit(rest_[token.size()]))) {
            return false;
        }
        rest_.remove_prefix(token.size());
        return true;
    }

    std::string_view word() {
        skip_blanks();
        std::size_t end = 0;
        while (end < rest_.size() && (is_letter(rest_[end]) || (end > 0 && is_digit(rest_[end]))))
            ++end;
        const std::string_view found = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return found;
    }

    NodePtr choice() {
        if (++depth_ > depth_max) return fail("nested too deeply");
        NodePtr node = binary(0);
        if (node && take("?")) {
            NodePtr yes = choice();
            if (!yes) return nullptr;
            if (!take(":")) return fail("':' is missing");
            NodePtr no = choice();
            if (!no) return nullptr;
            node =
                make_with(Node::Kind::choice, "", std::move(node), std::move(yes), std::move(no));
        }
        --depth_;
        return node;
    }

    /// The operators of one level, those that bind closest last; longer ones before their
    /// beginnings.
    static const std::vector<std::string_view>& operators(std::size_t level) {
        static const std::array<std::vector<std::string_view>, 5> levels = {
            {{"||"},
             {"&&"},
             {"==", "!=", "<=", ">=", "<", ">", "in"},
             {"+", "-"},
             {"*", "/", "%"}}};
        return levels[level];
    }

    NodePtr binary(std::size_t level) {
        if (level == 5) return unary();
        NodePtr left = binary(level + 1);
        for (bool more = true; left && more;) {
            more = false;
            for (const std::string_view token : operators(level)) {
                if (!take(token)) continue;
                NodePtr right = binary(level + 1);
                if (!right) return nullptr;
                if (++links_ > links_max) return fail("too long");
                left = make_with(Node::Kind::binary, token, std::move(left), std::move(right));
                more = true;
                break;
            }
        }
        return left;
    }

    NodePtr unary() {
        for (const std::string_view token : {"!", "-"}) {
            if (!take(token)) continue;
            if (++depth_ > depth_max) return fail("nested too deeply");
            NodePtr operand = unary();
            --depth_;
            return operand ? make_with(Node::Kind::unary, token, std::move(operand)) : nullptr;
        }
        return member();
    }

    NodePtr member() {
        NodePtr node = primary();
        while (node) {
            if (++links_ > links_max) return fail("too long");
            if (take("[")) {
                const bool optional = take("?");
                NodePtr index = choice();
                if (!index) return nullptr;
                if (!take("]")) return fail("']' is missing");
                node = make_with(Node::Kind::item, "", std::move(node), std::move(index));
                node->optional = optional;
            } else if (take(".")) {
                const bool optional = take("?");
                const std::string_view name = word();
                if (name.empty()) return fail("a name is missing after '.'");
                const bool call = !optional && take("(");
                node = call ? method(std::move(node), name)
                            : make_with(Node::Kind::field, unescaped(name), std::move(node));
                if (node && !call) node->optional = optional;
            } else {
                break;
            }
        }
        return node;
    }

    NodePtr method(NodePtr target, std::string_view name) {
        if (name == "all" || name == "exists" || name == "exists_one" || name == "filter" ||
            name == "map") {
            return macro(std::move(target), name);
        }
        NodePtr node = make_with(Node::Kind::call, name, std::move(target));
        return arguments(*node, ")") ? known(std::move(node)) : nullptr;
    }

    bool arguments(Node& node, std::string_view end) {
        if (take(end)) return true;
        do {
            NodePtr argument = choice();
            if (!argument) return false;
            node.children.push_back(std::move(argument));
        } while (take(","));
        if (take(end)) return true;
        fail("'" + std::string(end) + "' is missing");
        return false;
    }

    NodePtr macro(NodePtr target, std::string_view name) {
        const std::string_view variable = word();
        if (variable.empty() || !take(",")) return fail("a macro takes a name and a condition");
        NodePtr node = make_with(Node::Kind::macro, name, std::move(target));
        node->variable = variable;
        if (!arguments(*node, ")")) return nullptr;
        const std::size_t given = node->children.size() - 1;
        if (given == 1 || (given == 2 && name == "map")) return node;
        return fail("a macro takes a name and a condition");
    }

    NodePtr known(NodePtr call) {
        call->function = find_cel_function(call->text, call->children.size());
        if (call->function != nullptr) return call;
        return fail("there is no function '" + call->text + "' of " +
                    std::to_string(call->children.size()) + " values here");
    }

    NodePtr primary() {
        skip_blanks();
        if (rest_.empty()) return fail("it ends too early");
        const char first = rest_[0];
        const bool raw = (first == 'r' || first == 'R') && rest_.size() > 1;
        const char quote = raw ? rest_[1] : first;
        if (quote == '\'' || quote == '"') return text();
        if (is_digit(first)) return number();
        if (take("(")) {
            NodePtr node = choice();
            if (node && !take(")")) return fail("')' is missing");
            return node;
        }
        if (take("[")) {
            NodePtr node = make(Node::Kind::list);
            return arguments(*node, "]") ? std::move(node) : nullptr;
        }
        if (take("{")) return map();
        const std::string_view name = word();
        if (name.empty()) return fail("unexpected '" + std::string(rest_) + "'");
        if (name == "true" || name == "false") return constant(name == "true");
        if (name == "null") return constant(Value());
        if (!take("(")) return make(Node::Kind::name, name);
        NodePtr call = make(name == "has" ? Node::Kind::has : Node::Kind::call, name);
        if (!arguments(*call, ")")) return nullptr;
        if (name != "has") return known(std::move(call));
        if (call->children.size() != 1 || call->children[0]->kind != Node::Kind::field)
            return fail("has() takes a field");
        return call;
    }

    NodePtr map() {
        NodePtr node = make(Node::Kind::map);
        if (take("}")) return node;
        do {
            NodePtr key = choice();
            if (!key) return nullptr;
            if (!take(":")) return fail("':' is missing");
            NodePtr value = choice();
            if (!value) return nullptr;
            node->children.push_back(std::move(key));
            node->children.push_back(std::move(value));
        } while (take(","));
        return take("}") ? std::move(node) : fail("'}' is missing");
    }

    NodePtr text() {
        CelText read = read_cel_text(rest_);
        if (!read.error.empty()) return fail(std::move(read.error));
        rest_.remove_prefix(read.length);
        return constant(std::move(read.text));
    }

    /// The end of the digits from a place on.
    std::size_t digits_end(std::size_t from) const {
        return std::min(rest_.find_first_not_of("0123456789", from), rest_.size());
    }

    NodePtr number() {
        std::size_t end = digits_end(0);
        const auto is_at = [&](std::size_t at, std::string_view any) {
            return at < rest_.size() && any.find(rest_[at]) != std::string_view::npos;
        };
        const bool point = is_at(end, ".") && is_at(end + 1, "0123456789");
        if (point) end = digits_end(end + 1);
        const bool power = is_at(end, "eE");
        if (power) end = digits_end(end + (is_at(end + 1, "+-") ? 2 : 1));
        if (point || power) {
            double real = 0;
            std::from_chars(rest_.data(), rest_.data() + end, real);
            rest_.remove_prefix(end);
            return constant(real);
        }
        std::int64_t value = 0;
        const auto result = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (result.ec != std::errc()) return fail("a number that is too large");
        rest_.remove_prefix(static_cast<std::size_t>(result.ptr - rest_.data()));
        return constant(value);
    }

    std::string_view rest_;
    std::string error_;
    int depth_ = 0;
    int links_ = 0;
};

}  // namespace

std::variant<std::unique_ptr<CelRule::Node>, std::string> parse_cel(std::string_view text) {
    Parser parser(text);
    NodePtr node = parser.whole();
    if (!node) return parser.error();
    return node;
}

}  // namespace muster::api
