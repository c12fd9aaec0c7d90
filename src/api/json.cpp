// api/json.cpp - JSON text to value tree, by simdjson.
#include "api/json.h"

#include <unordered_set>

#include <simdjson.h>

#include "api/json_syntax.h"

namespace muster::api {
namespace {

namespace dom = simdjson::dom;

constexpr int depth_max = 1000;
// What a thread keeps for its next document; a larger document's buffers are given back.
constexpr std::size_t kept_capacity = 1 << 20;
// Above this many members a set is quicker than looking at each for a duplicate.
constexpr std::size_t linear_members_max = 24;

/// One step of the way from the document's root, on the stack of the reading function.
struct Step {
    const Step* parent = nullptr;
    std::string_view key;
    std::size_t index = 0;
    bool in_array = false;
};

std::string path_text(const Step* step) {
    if (!step) return {};
    const std::string before = path_text(step->parent);
    if (step->in_array) return before + "[" + std::to_string(step->index) + "]";
    return before.empty() ? std::string(step->key) : before + "." + std::string(step->key);
}

/// Copies a parsed document into our tree, noting members that stand twice.
class Builder {
public:
    Value build(const dom::element& element, const Step* step, int depth) {
        switch (element.type()) {
            case dom::element_type::OBJECT:
                return object(element, step, depth);
            case dom::element_type::ARRAY:
                return array(element, step, depth);
            case dom::element_type::STRING:
                return Value(std::string_view(element.get_string().value_unsafe()));
            case dom::element_type::INT64:
                return Value(std::int64_t{element.get_int64().value_unsafe()});
            case dom::element_type::UINT64:
                return Value(static_cast<double>(element.get_uint64().value_unsafe()));
            case dom::element_type::DOUBLE:
                return Value(element.get_double().value_unsafe());
            case dom::element_type::BOOL:
                return Value(bool{element.get_bool().value_unsafe()});
            case dom::element_type::NULL_VALUE:
                break;
        }
        return {};
    }

    std::vector<std::string> duplicates;
    bool too_deep = false;

private:
    Value object(const dom::element& element, const Step* parent, int depth) {
        Value value = Value::object();
        if (depth >= depth_max) too_deep = true;
        if (too_deep) return value;
        const dom::object source = element.get_object().value_unsafe();
        Value::Object& members = value.mutable_members();
        members.reserve(source.size());
        std::unordered_set<std::string_view> seen;
        const bool large = source.size() > linear_members_max;
        for (const dom::key_value_pair field : source) {
            const Step step{parent, field.key, 0, false};
            const bool twice = large ? !seen.insert(field.key).second : value.has(field.key);
            Value member = build(field.value, &step, depth + 1);
            if (twice) {
                duplicates.push_back(path_text(&step));
                value.set(field.key, std::move(member));
            } else {
                members.push_back({std::string(field.key), std::move(member)});
            }
        }
        return value;
    }

    Value array(const dom::element& element, const Step* parent, int depth) {
        Value value = Value::array();
        if (depth >= depth_max) too_deep = true;
        if (too_deep) return value;
        const dom::array source = element.get_array().value_unsafe();
        Value::Array& items = value.mutable_items();
        items.reserve(source.size());
        Step step{parent, {}, 0, true};
        for (const dom::element item : source) {
            items.push_back(build(item, &step, depth + 1));
            ++step.index;
        }
        return value;
    }
};

/// The text with each long integer made a real ("…e0"), which simdjson reads at any size.
std::string with_real_integers(std::string_view text, const std::vector<std::size_t>& ends) {
    std::string changed;
    std::size_t from = 0;
    for (const std::size_t end : ends) {
        changed += text.substr(from, end - from);
        changed += "e0";
        from = end;
    }
    changed += text.substr(from);
    return changed;
}

}  // namespace

std::variant<Parsed, ParseError> parse_json(std::string_view text) {
    thread_local auto parser = std::make_unique<dom::parser>();
    dom::element root;
    simdjson::error_code error = parser->parse(text.data(), text.size()).get(root);
    if (error) {
        JsonSyntax syntax = check_json_syntax(text, depth_max);
        if (syntax.fault) return ParseError{*std::move(syntax.fault)};
        if (error == simdjson::NUMBER_ERROR && !syntax.long_integers.empty()) {
            error = parser->parse(with_real_integers(text, syntax.long_integers)).get(root);
        }
        if (error == simdjson::NUMBER_ERROR) return ParseError{"a number is out of range"};
        if (error) return ParseError{simdjson::error_message(error)};
    }
    Builder builder;
    Value value = builder.build(root, nullptr, 0);
    if (parser->capacity() > kept_capacity) parser = std::make_unique<dom::parser>();
    if (builder.too_deep) return ParseError{"exceeded max depth"};
    return Parsed{std::move(value), std::move(builder.duplicates)};
}

}  // namespace muster::api
