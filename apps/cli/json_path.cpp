// apps/cli/json_path.cpp - reads templates step by step and walks the value along.
#include "apps/cli/json_path.h"

#include <optional>
#include <utility>

#include "api/json.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;
using Found = std::vector<const Value*>;

[[noreturn]] void refuse(const std::string& text) {
    throw Error(Reason::bad_request, "error parsing jsonpath: " + text);
}

/// The text inside one pair of braces or brackets, with nesting and quotes; `at` moves behind it.
std::string_view enclosed(std::string_view text, std::size_t& at, char open, char close) {
    const std::size_t begin = ++at;
    int depth = 1;
    char quote = '\0';
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (quote != '\0') {
            if (c == '\\')
                ++at;
            else if (c == quote)
                quote = '\0';
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == open) {
            ++depth;
        } else if (c == close && --depth == 0) {
            return text.substr(begin, at++ - begin);
        }
    }
    refuse(std::string("unclosed ") + open);
}

std::optional<std::string> unquoted(std::string_view text) {
    if (text.size() < 2 || (text.front() != '\'' && text.front() != '"')) return std::nullopt;
    if (text.back() != text.front()) return std::nullopt;
    std::string out;
    for (std::size_t i = 1; i + 1 < text.size(); ++i) {
        char c = text[i];
        if (c == '\\' && i + 2 < text.size()) {
            c = text[++i];
            if (c == 'n') c = '\n';
            if (c == 't') c = '\t';
            if (c == 'r') c = '\r';
        }
        out += c;
    }
    return out;
}

Found walk(std::string_view path, Found found, const Value& root);

/// One side of a filter's comparison: a literal, or what a path finds first.
Value operand_of(std::string_view text, const Value& item, const Value& root) {
    text = trim(text);
    if (const auto literal = unquoted(text)) return Value(*literal);
    if (text.starts_with('@') || text.starts_with('$')) {
        const Value& from = text.starts_with('@') ? item : root;
        const Found found = walk(text.substr(1), {&from}, root);
        return found.empty() ? Value() : *found.front();
    }
    if (text == "true" || text == "false") return Value(text == "true");
    if (const auto number = parse_integer(text)) return Value(*number);
    refuse("cannot compare with " + std::string(text));
}

int order_of(const Value& a, const Value& b) {
    if (a.is_number() && b.is_number()) {
        const double x = a.as_real();
        const double y = b.as_real();
        return x < y ? -1 : x > y ? 1 : 0;
    }
    return plain_text(a).compare(plain_text(b));
}

/// "@.type=="Ready"", or a path alone: that it is there.
bool passes(std::string_view filter, const Value& item, const Value& root) {
    for (const char* sign : {"==", "!=", "<=", ">=", "<", ">"}) {
        char quote = '\0';
        for (std::size_t i = 0; i < filter.size(); ++i) {
            const char c = filter[i];
            if (quote != '\0') {
                if (c == quote) quote = '\0';
                continue;
            }
            if (c == '\'' || c == '"') quote = c;
            if (!filter.substr(i).starts_with(sign)) continue;
            const Value left = operand_of(filter.substr(0, i), item, root);
            const Value right =
                operand_of(filter.substr(i + std::string_view(sign).size()), item, root);
            const std::string_view what = sign;
            if (left.is_null() || right.is_null()) return what == "!=" && !(left == right);
            const int order = order_of(left, right);
            if (what == "==") return order == 0;
            if (what == "!=") return order != 0;
            if (what == "<=") return order <= 0;
            if (what == ">=") return order >= 0;
            return what == "<" ? order < 0 : order > 0;
        }
    }
    const std::string_view path = trim(filter);
    return path.starts_with('@') && !walk(path.substr(1), {&item}, root).empty();
}

void add_members(const Value& value, Found& out) {
    for (const Value& item : value.items())
        out.push_back(&item);
    for (const auto& member : value.members())
        out.push_back(&member.value);
}

void add_all(const Value& value, Found& out) {
    out.push_back(&value);
    Found members;
    add_members(value, members);
    for (const Value* member : members)
        add_all(*member, out);
}

/// "1", "-1", "0:2", "*": items of one array.
void add_items(std::string_view index, const Value& value, Found& out) {
    if (index == "*") return add_members(value, out);
    const auto size = static_cast<std::int64_t>(value.items().size());
    const auto item = [&](std::int64_t i) { return &value.items()[static_cast<std::size_t>(i)]; };
    const auto parts = split(index, ':');
    if (parts.size() == 1) {
        auto i = parse_integer(index);
        if (!i) refuse("invalid array index " + std::string(index));
        if (*i < 0) *i += size;
        if (*i >= 0 && *i < size) out.push_back(item(*i));
        return;
    }
    const auto bound = [&](std::string_view text, std::int64_t otherwise) {
        if (text.empty()) return otherwise;
        const auto number = parse_integer(text);
        if (!number) refuse("invalid array index " + std::string(index));
        return *number < 0 ? *number + size : *number;
    };
    const std::int64_t end = std::min(bound(parts[1], size), size);
    const std::int64_t step = parts.size() > 2 ? std::max<std::int64_t>(bound(parts[2], 1), 1) : 1;
    for (std::int64_t i = std::max<std::int64_t>(bound(parts[0], 0), 0); i < end; i += step)
        out.push_back(item(i));
}

/// What stands in brackets.
Found bracket(std::string_view inside, const Found& found, const Value& root) {
    Found out;
    inside = trim(inside);
    for (const Value* value : found) {
        if (inside.starts_with('?')) {
            std::size_t at = inside.find('(');
            if (at == std::string_view::npos) refuse("a filter is ?(...)");
            const std::string_view filter = enclosed(inside, at, '(', ')');
            for (const Value& item : value->items()) {
                if (passes(filter, item, root)) out.push_back(&item);
            }
            continue;
        }
        for (const std::string_view part : split(inside, ',')) {
            if (const auto key = unquoted(trim(part))) {
                if (const Value* member = value->find(*key)) out.push_back(member);
            } else {
                add_items(trim(part), *value, out);
            }
        }
    }
    return out;
}

Found walk(std::string_view path, Found found, const Value& root) {
    std::size_t at = 0;
    while (at < path.size()) {
        if (path[at] == '[') {
            found = bracket(enclosed(path, at, '[', ']'), found, root);
            continue;
        }
        if (path.substr(at).starts_with("..")) {
            Found all;
            for (const Value* value : found)
                add_all(*value, all);
            found = std::move(all);
            ++at;
        }
        if (path[at] == '.') ++at;
        std::string name;
        for (; at < path.size() && path[at] != '.' && path[at] != '['; ++at) {
            if (path[at] == '\\' && at + 1 < path.size()) ++at;  // "kubernetes\.io"
            name += path[at];
        }
        if (name.empty()) continue;
        Found next;
        for (const Value* value : found) {
            if (name == "*") {
                add_members(*value, next);
            } else if (const Value* member = value->find(name)) {
                next.push_back(member);
            }
        }
        found = std::move(next);
    }
    return found;
}

Found evaluate(std::string_view path, const Value& present, const Value& root) {
    if (path.starts_with('$')) return walk(path.substr(1), {&root}, root);
    if (path.starts_with('@')) path.remove_prefix(1);
    return walk(path, {&present}, root);
}

/// Everything up to the end of the template, or to the {end} of a range; `at` moves along.
void fill(std::string_view text, std::size_t& at, bool in_range, const Value& present,
          const Value& root, std::string& out) {
    while (at < text.size()) {
        if (text[at] != '{') {
            out += text[at++];
            continue;
        }
        const std::string_view inside = trim(enclosed(text, at, '{', '}'));
        if (inside == "end") {
            if (!in_range) refuse("{end} without {range}");
            return;
        }
        if (const auto literal = unquoted(inside)) {
            out += *literal;
        } else if (inside.starts_with("range ")) {
            const Found found = evaluate(trim(inside.substr(6)), present, root);
            const std::size_t body = at;
            std::string unused;
            fill(text, at, true, Value(), root, unused);
            for (const Value* value : found) {
                std::size_t again = body;
                fill(text, again, true, *value, root, out);
            }
        } else {
            std::string_view between;
            for (const Value* value : evaluate(inside, present, root)) {
                out += std::string(between) + plain_text(*value);
                between = " ";
            }
        }
    }
    if (in_range) refuse("{range} without {end}");
}

}  // namespace

std::string fill_template(std::string_view text, const Value& value) {
    std::string out;
    std::size_t at = 0;
    // As kubectl: a path without braces is one all the same.
    const std::string whole = text.find('{') == std::string_view::npos
                                  ? "{" + std::string(text) + "}"
                                  : std::string(text);
    fill(whole, at, false, value, value, out);
    return out;
}

std::vector<const Value*> find_path(std::string_view path, const Value& value) {
    path = trim(path);
    if (path.starts_with('{') && path.ends_with('}')) path = path.substr(1, path.size() - 2);
    return evaluate(trim(path), value, value);
}

std::string plain_text(const Value& value) {
    if (value.is_string()) return value.text();
    return value.is_null() ? "" : api::to_json(value);
}

}  // namespace muster::cli
