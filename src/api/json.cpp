// api/json.cpp - JSON text to value tree, by simdjson.
#include "api/json.h"

#include <map>
#include <memory>

#include <simdjson.h>

#include "api/json_syntax.h"
#include "api/told.h"

namespace muster::api {
namespace {

namespace dom = simdjson::dom;

constexpr int depth_max = 1000;
// What a thread keeps for its next document; a larger document's buffers are given back.
constexpr std::size_t kept_capacity = 1 << 20;
// Above this many members a table is quicker than looking at each for a duplicate.
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
    explicit Builder(FieldOwners owners) : owners_(owners) {}

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
        std::map<std::string_view, std::size_t> seen;  // And where. As MemberIndex.
        const bool large = source.size() > linear_members_max;
        for (const dom::key_value_pair field : source) {
            if (owners_ == FieldOwners::left_out && field.key == "managedFields" &&
                parent != nullptr && parent->key == "metadata") {
                continue;
            }
            const Step step{parent, field.key, 0, false};
            Value* before = large ? nullptr : value.find(field.key);
            if (large) {
                const auto [place, is_new] = seen.emplace(field.key, members.size());
                if (!is_new) before = &members[place->second].value;
            }
            Value member = build(field.value, &step, depth + 1);
            if (before != nullptr) {
                if (tells_more(duplicates)) duplicates.push_back(path_text(&step));
                *before = std::move(member);
            } else {
                members.push_back({field.key, std::move(member)});
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

    const FieldOwners owners_;
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

/// This thread's parser; what it returned last lives until it is asked again.
std::unique_ptr<dom::parser>& this_threads_parser() {
    thread_local auto of_this_thread = std::make_unique<dom::parser>();
    return of_this_thread;
}

std::variant<dom::element, ParseError> parse_root(std::string_view text) {
    auto& parser = this_threads_parser();
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
    return root;
}

/// Ends the life of `element`'s document.
std::variant<Parsed, ParseError> build(const dom::element& element, FieldOwners owners) {
    Builder builder(owners);
    Value value = builder.build(element, nullptr, 0);
    auto& parser = this_threads_parser();
    if (parser->capacity() > kept_capacity) parser = std::make_unique<dom::parser>();
    if (builder.too_deep) return ParseError{"exceeded max depth"};
    return Parsed{std::move(value), std::move(builder.duplicates)};
}

/// The text at a JSON pointer; empty when there is none.
std::string text_at(const dom::element& root, std::string_view pointer) {
    std::string_view text;
    if (root.at_pointer(pointer).get(text)) return {};
    return std::string(text);
}

}  // namespace

std::variant<Parsed, ParseError> parse_json(std::string_view text, FieldOwners owners) {
    auto root = parse_root(text);
    if (auto* problem = std::get_if<ParseError>(&root)) return std::move(*problem);
    return build(std::get<dom::element>(root), owners);
}

std::variant<WatchEvent, ParseError> parse_watch_event(
    std::string_view line, const std::function<bool(const WatchEvent& head)>& is_wanted) {
    auto parsed = parse_root(line);
    if (auto* problem = std::get_if<ParseError>(&parsed)) return std::move(*problem);
    const dom::element root = std::get<dom::element>(parsed);
    WatchEvent event{text_at(root, "/type"),
                     text_at(root, "/object/metadata/namespace"),
                     text_at(root, "/object/metadata/name"),
                     text_at(root, "/object/metadata/resourceVersion"),
                     {}};
    dom::element object;
    if (!is_wanted(event) || root.at_pointer("/object").get(object)) return event;
    auto built = build(object, FieldOwners::left_out);
    if (auto* problem = std::get_if<ParseError>(&built)) return std::move(*problem);
    event.object = std::move(std::get<Parsed>(built).value);
    return event;
}

}  // namespace muster::api
