// api/json_path.cpp - walks a document along a JSONPath.
#include "api/json_path.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "api/json.h"
#include "base/text.h"

namespace muster::api {
namespace {

/// One step of a path.
struct Step {
    enum class Kind { member, index, slice, all, filter };
    Kind kind = Kind::member;
    std::string name;                 // member; filter: the path behind @.
    std::int64_t index = 0;           // index, slice: the first; from the end when negative.
    std::optional<std::int64_t> end;  // slice: behind the last; from the end when negative.
    std::int64_t stride = 1;          // slice: to the next.
    bool equal = true;                // filter: == or !=.
    std::string literal;              // filter: the text compared with.
};

bool ends_name(char c) {
    return c == '.' || c == '[';
}

std::string cut_name(std::string_view& rest) {
    std::string name;
    while (!rest.empty() && !ends_name(rest.front())) {
        if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
        name += rest.front();
        rest.remove_prefix(1);
    }
    return name;
}

bool is_quoted(std::string_view text) {
    return text.size() >= 2 && (text.front() == '\'' || text.front() == '"') &&
           text.back() == text.front();
}

std::string_view unquoted(std::string_view text) {
    return is_quoted(text) ? text.substr(1, text.size() - 2) : text;
}

/// "?(@.type=='Ready')" without the leading "?(" and the closing ")".
std::optional<Step> filter_of(std::string_view text) {
    Step step;
    step.kind = Step::Kind::filter;
    std::size_t at = text.find("==");
    if (at == std::string_view::npos) {
        at = text.find("!=");
        step.equal = false;
    }
    if (at == std::string_view::npos || !text.starts_with("@")) return std::nullopt;
    step.name = trim(text.substr(1, at - 1));
    step.literal = unquoted(trim(text.substr(at + 2)));
    return step;
}

/// "1:3", "-1:", "::2": what is left out is the start, the end, and every item.
std::optional<Step> slice_of(std::string_view text) {
    const std::vector<std::string_view> parts = split(text, ':');
    if (parts.size() > 3) return std::nullopt;
    std::array<std::optional<std::int64_t>, 3> numbers;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].empty()) continue;
        numbers[i] = parse_integer(parts[i]);
        if (!numbers[i]) return std::nullopt;
    }
    Step step;
    step.kind = Step::Kind::slice;
    step.index = numbers[0].value_or(0);
    step.end = numbers[1];
    step.stride = numbers[2].value_or(1);
    return step;
}

/// What stands in brackets.
std::optional<Step> bracket_of(std::string_view text) {
    text = trim(text);
    Step step;
    if (text == "*") {
        step.kind = Step::Kind::all;
        return step;
    }
    if (text.starts_with("?(") && text.ends_with(")")) {
        return filter_of(text.substr(2, text.size() - 3));
    }
    if (is_quoted(text)) {
        step.name = unquoted(text);
        return step;
    }
    if (text.find(':') != std::string_view::npos) return slice_of(text);
    const std::optional<std::int64_t> index = parse_integer(text);
    if (!index) return std::nullopt;
    step.kind = Step::Kind::index;
    step.index = *index;
    return step;
}

/// The place of the bracket that closes the one at the start; quotes hide brackets.
std::size_t closing(std::string_view text) {
    char quote = 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (quote != 0) {
            if (text[i] == quote) quote = 0;
        } else if (text[i] == '\'' || text[i] == '"') {
            quote = text[i];
        } else if (text[i] == ']') {
            return i;
        }
    }
    return std::string_view::npos;
}

std::optional<std::vector<Step>> steps_of(std::string_view path) {
    if (path.starts_with("{") && path.ends_with("}")) path = path.substr(1, path.size() - 2);
    if (path.starts_with("$")) path.remove_prefix(1);
    std::vector<Step> steps;
    while (!path.empty()) {
        if (path.front() == '[') {
            const std::size_t end = closing(path);
            if (end == std::string_view::npos) return std::nullopt;
            std::optional<Step> step = bracket_of(path.substr(1, end - 1));
            if (!step) return std::nullopt;
            steps.push_back(std::move(*step));
            path.remove_prefix(end + 1);
            continue;
        }
        if (path.front() == '.') path.remove_prefix(1);
        Step step;
        step.name = cut_name(path);
        if (step.name == "*") step.kind = Step::Kind::all;
        if (!step.name.empty()) steps.push_back(std::move(step));
    }
    return steps;
}

bool passes(const Step& filter, const Value& item) {
    for (const Value* found : find_by_json_path(item, filter.name)) {
        const std::string text = found->is_string() ? found->text() : to_json(*found);
        if ((text == filter.literal) == filter.equal) return true;
    }
    return false;
}

/// As in Kubernetes' client library, bounds that do not fit the list are an error, and so find
/// nothing; they are not cut to it.
void take_slice(const Step& slice, const std::vector<Value>& items,
                std::vector<const Value*>& out) {
    const auto size = static_cast<std::int64_t>(items.size());
    const std::int64_t begin = slice.index < 0 ? slice.index + size : slice.index;
    std::int64_t end = slice.end.value_or(size);
    if (end < 0) end += size;
    if (begin < 0 || end > size || slice.stride <= 0) return;
    for (std::int64_t at = begin; at < end; at += std::min(slice.stride, size))
        out.push_back(&items[static_cast<std::size_t>(at)]);
}

void take(const Step& step, const Value& value, std::vector<const Value*>& out) {
    switch (step.kind) {
        case Step::Kind::member:
            if (const Value* member = value.find(step.name)) out.push_back(member);
            return;
        case Step::Kind::index: {
            const auto size = static_cast<std::int64_t>(value.items().size());
            const std::int64_t at = step.index < 0 ? size + step.index : step.index;
            if (at >= 0 && at < size) out.push_back(&value.items()[static_cast<std::size_t>(at)]);
            return;
        }
        case Step::Kind::slice:
            return take_slice(step, value.items(), out);
        case Step::Kind::all:
            for (const Value& item : value.items())
                out.push_back(&item);
            for (const Value::Member& member : value.members())
                out.push_back(&member.value);
            return;
        case Step::Kind::filter:
            for (const Value& item : value.items()) {
                if (passes(step, item)) out.push_back(&item);
            }
            return;
    }
}

}  // namespace

std::vector<const Value*> find_by_json_path(const Value& root, std::string_view path) {
    const std::optional<std::vector<Step>> steps = steps_of(path);
    if (!steps) return {};
    std::vector<const Value*> found = {&root};
    for (const Step& step : *steps) {
        std::vector<const Value*> next;
        for (const Value* value : found) {
            // Members of something that is no object are not there; find() allows asking.
            take(step, *value, next);
        }
        found = std::move(next);
    }
    return found;
}

}  // namespace muster::api
