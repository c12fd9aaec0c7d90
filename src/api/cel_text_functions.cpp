// api/cel_text_functions.cpp - the functions of CEL about texts.
#include <algorithm>
#include <utility>

#include <re2/re2.h>

#include "api/cel_cost.h"
#include "api/cel_functions.h"
#include "api/cel_text.h"
#include "api/json.h"
#include "base/text.h"

namespace muster::api {
namespace {

using Arguments = std::vector<const Value*>;

CelResult trouble(std::string what) {
    return {Value(), std::move(what)};
}

CelResult no_overload() {
    return trouble("no such overload");
}

bool are_texts(const Arguments& arguments) {
    return std::all_of(arguments.begin(), arguments.end(),
                       [](const Value* each) { return each->is_string(); });
}

std::string_view text(const Arguments& arguments, std::size_t at) {
    return arguments[at]->as_string();
}

/// The places where the characters of a text begin, and its end.
std::vector<std::size_t> characters(std::string_view text) {
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) starts.push_back(i);
    }
    starts.push_back(text.size());
    return starts;
}

CelResult starts_with(const Arguments& given) {
    if (!are_texts(given)) return no_overload();
    return {text(given, 0).starts_with(text(given, 1)), {}};
}

CelResult ends_with(const Arguments& given) {
    if (!are_texts(given)) return no_overload();
    return {text(given, 0).ends_with(text(given, 1)), {}};
}

CelResult contains(const Arguments& given) {
    if (!are_texts(given)) return no_overload();
    return {text(given, 0).find(text(given, 1)) != std::string::npos, {}};
}

CelResult matches(const Arguments& given) {
    if (!are_texts(given)) return no_overload();
    const RE2 expression(text(given, 1), RE2::Quiet);
    if (!expression.ok()) return trouble("error parsing regexp: " + expression.error());
    return {RE2::PartialMatch(text(given, 0), expression), {}};
}

CelResult find(const Arguments& given) {
    if (!are_texts(given)) return no_overload();
    const RE2 expression("(" + given[1]->text() + ")", RE2::Quiet);
    if (!expression.ok()) return trouble("error parsing regexp: " + expression.error());
    std::string found;
    RE2::PartialMatch(text(given, 0), expression, &found);
    return {std::move(found), {}};
}

CelResult find_all(const Arguments& given) {
    if (!given[0]->is_string() || !given[1]->is_string()) return no_overload();
    const RE2 expression("(" + given[1]->text() + ")", RE2::Quiet);
    if (!expression.ok()) return trouble("error parsing regexp: " + expression.error());
    const std::int64_t most = given.size() > 2 ? given[2]->integer_or(-1) : -1;
    constexpr std::size_t found_max = 300'000;
    Value all = Value::array();
    re2::StringPiece rest(text(given, 0));
    std::string found;
    while ((most < 0 || static_cast<std::int64_t>(all.size()) < most) &&
           RE2::FindAndConsume(&rest, expression, &found)) {
        if (found.empty()) {
            if (rest.empty()) break;
            rest.remove_prefix(1);
        }
        all.push(found);
        if (all.size() > found_max) return trouble("call cost exceeds limit");
    }
    return {std::move(all), {}};
}

CelResult lower(const Arguments& given) {
    if (!are_texts(given)) return no_overload();
    return {to_lower(text(given, 0)), {}};
}

CelResult upper(const Arguments& given) {
    if (!are_texts(given)) return no_overload();
    std::string made = given[0]->text();
    for (char& c : made)
        c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return {std::move(made), {}};
}

CelResult trim_text(const Arguments& given) {
    if (!are_texts(given)) return no_overload();
    return {std::string(trim(text(given, 0))), {}};
}

CelResult char_at(const Arguments& given) {
    if (!given[0]->is_string() || !given[1]->is_integer()) return no_overload();
    const auto starts = characters(text(given, 0));
    const std::int64_t at = given[1]->as_integer();
    if (at < 0 || at >= static_cast<std::int64_t>(starts.size()))
        return trouble("index out of range: " + std::to_string(at));
    const auto i = static_cast<std::size_t>(at);
    if (i + 1 == starts.size()) return {"", {}};
    return {text(given, 0).substr(starts[i], starts[i + 1] - starts[i]), {}};
}

CelResult substring(const Arguments& given) {
    const bool numbers = given[1]->is_integer() && (given.size() == 2 || given[2]->is_integer());
    if (!given[0]->is_string() || !numbers) return no_overload();
    const auto starts = characters(text(given, 0));
    const auto count = static_cast<std::int64_t>(starts.size()) - 1;
    const std::int64_t from = given[1]->as_integer();
    const std::int64_t to = given.size() == 2 ? count : given[2]->as_integer();
    if (from < 0 || from > count) return trouble("index out of range: " + std::to_string(from));
    if (to < 0 || to > count) return trouble("index out of range: " + std::to_string(to));
    if (from > to) {
        return trouble("invalid substring range. start: " + std::to_string(from) +
                       ", end: " + std::to_string(to));
    }
    const std::size_t begin = starts[static_cast<std::size_t>(from)];
    return {text(given, 0).substr(begin, starts[static_cast<std::size_t>(to)] - begin), {}};
}

/// In characters; -1 when it is not there.
std::int64_t place_in_text(std::string_view text, std::string_view part, bool last) {
    const std::size_t at = last ? text.rfind(part) : text.find(part);
    if (at == std::string::npos) return -1;
    return static_cast<std::int64_t>(characters_in(std::string_view(text).substr(0, at)));
}

std::int64_t place_in_list(const Value& list, const Value& item, bool last) {
    std::int64_t found = -1;
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (!(list[i] == item)) continue;
        found = static_cast<std::int64_t>(i);
        if (!last) break;
    }
    return found;
}

CelResult index_of(const Arguments& given) {
    if (given[0]->is_array()) return {place_in_list(*given[0], *given[1], false), {}};
    if (!are_texts(given)) return no_overload();
    return {place_in_text(text(given, 0), text(given, 1), false), {}};
}

CelResult last_index_of(const Arguments& given) {
    if (given[0]->is_array()) return {place_in_list(*given[0], *given[1], true), {}};
    if (!are_texts(given)) return no_overload();
    return {place_in_text(text(given, 0), text(given, 1), true), {}};
}

CelResult replace(const Arguments& given) {
    for (std::size_t i = 0; i < 3; ++i) {
        if (!given[i]->is_string()) return no_overload();
    }
    if (given.size() == 3 || given[3]->integer_or(-1) < 0) {
        if (text(given, 1).empty()) return no_overload();
        std::size_t length = 0;
        for (std::size_t at = 0;
             (at = text(given, 0).find(text(given, 1), at)) != std::string::npos;
             at += text(given, 1).size()) {
            length += text(given, 2).size();
            if (length > cel_text_max) return trouble("call cost exceeds limit");
        }
        return {replace_all(text(given, 0), text(given, 1), text(given, 2)), {}};
    }
    std::string made = given[0]->text();
    std::size_t from = 0;
    for (std::int64_t left = given[3]->as_integer(); left > 0; --left) {
        const std::size_t at = made.find(text(given, 1), from);
        if (at == std::string::npos || text(given, 1).empty()) break;
        made.replace(at, text(given, 1).size(), text(given, 2));
        if (made.size() > cel_text_max) return trouble("call cost exceeds limit");
        from = at + text(given, 2).size();
    }
    return {std::move(made), {}};
}

CelResult split_text(const Arguments& given) {
    if (!given[0]->is_string() || !given[1]->is_string()) return no_overload();
    const std::int64_t most = given.size() > 2 ? given[2]->integer_or(-1) : -1;
    Value parts = Value::array();
    if (most == 0) return {std::move(parts), {}};
    std::string_view rest = text(given, 0);
    const std::string_view separator = text(given, 1);
    if (separator.empty()) {
        const auto starts = characters(rest);
        for (std::size_t i = 0; i + 1 < starts.size(); ++i)
            parts.push(rest.substr(starts[i], starts[i + 1] - starts[i]));
        return {std::move(parts), {}};
    }
    while (most < 0 || static_cast<std::int64_t>(parts.size()) + 1 < most) {
        const std::size_t at = rest.find(separator);
        if (at == std::string_view::npos) break;
        parts.push(rest.substr(0, at));
        rest.remove_prefix(at + separator.size());
    }
    parts.push(rest);
    return {std::move(parts), {}};
}

CelResult join_list(const Arguments& given) {
    if (!given[0]->is_array() || (given.size() > 1 && !given[1]->is_string())) return no_overload();
    std::string made;
    for (std::size_t i = 0; i < given[0]->size(); ++i) {
        const Value& item = (*given[0])[i];
        if (!item.is_string()) return no_overload();
        if (i > 0 && given.size() > 1) made += text(given, 1);
        made += item.as_string();
    }
    return {std::move(made), {}};
}

/// '%s' and '%d' of a list of values.
CelResult format(const Arguments& given) {
    if (!given[0]->is_string() || !given[1]->is_array()) return no_overload();
    const std::string_view pattern = text(given, 0);
    std::string made;
    std::size_t next = 0;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] != '%') {
            made += pattern[i];
            continue;
        }
        const char verb = ++i < pattern.size() ? pattern[i] : '\0';
        if (verb == '%') {
            made += '%';
        } else if (verb == 's' || verb == 'd') {
            if (next == given[1]->size())
                return trouble("index " + std::to_string(next) + " out of range");
            const Value& item = (*given[1])[next++];
            if (verb == 'd' && !item.is_integer()) return no_overload();
            made += item.is_string() ? item.text() : to_json(item);
        } else {
            return trouble("could not parse formatting clause: unrecognized formatting clause");
        }
    }
    return {std::move(made), {}};
}

}  // namespace

std::span<const CelFunction> cel_text_functions() {
    static constexpr CelFunction functions[] = {
        {"startsWith", 2, 2, starts_with},
        {"endsWith", 2, 2, ends_with},
        {"contains", 2, 2, contains, nullptr, steps_of_search},
        {"matches", 2, 2, matches, nullptr, steps_of_expression},
        {"find", 2, 2, find, made_as_long, steps_of_expression},
        {"findAll", 2, 3, find_all, made_as_long, steps_of_expression},
        {"lowerAscii", 1, 1, lower, made_as_long},
        {"upperAscii", 1, 1, upper, made_as_long},
        {"trim", 1, 1, trim_text, made_as_long},
        {"charAt", 2, 2, char_at},
        {"substring", 2, 3, substring, made_as_long},
        {"indexOf", 2, 2, index_of, nullptr, steps_of_search},
        {"lastIndexOf", 2, 2, last_index_of, nullptr, steps_of_search},
        {"replace", 3, 4, replace, made_as_long, steps_of_search},
        {"split", 2, 3, split_text, made_by_split, steps_of_search},
        {"join", 1, 2, join_list, made_by_join, steps_of_walk},
        {"format", 2, 2, format, made_by_format, steps_of_walk},
    };
    return functions;
}

}  // namespace muster::api
