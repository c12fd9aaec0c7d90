// api/yaml.cpp - YAML text to value trees, from libyaml's events.
#include "api/yaml.h"

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include <yaml.h>

#include "api/members_by_name.h"
#include "api/told.h"
#include "api/yaml_scalar.h"
#include "base/text.h"

namespace muster::api {
namespace {

constexpr int depth_max = 1000;
// Copies made for anchors and aliases, in values: far above honest files, far below trouble.
constexpr std::size_t copies_max = 200'000;
constexpr std::string_view core_tag = "tag:yaml.org,2002:";

std::string_view text_of(const yaml_char_t* text) {
    return text ? reinterpret_cast<const char*>(text) : std::string_view();
}

std::size_t count_values(const Value& value) {
    std::size_t count = 1;
    for (const Value& item : value.items())
        count += count_values(item);
    for (const Value::Member& member : value.members())
        count += count_values(member.value);
    return count;
}

/// One event of the parser, freed at the end of its life.
class Event {
public:
    Event() = default;
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    ~Event() { yaml_event_delete(&event_); }
    yaml_event_t* get() { return &event_; }
    const yaml_event_t& operator*() const { return event_; }
    const yaml_event_t* operator->() const { return &event_; }

private:
    yaml_event_t event_{};
};

/// Reads a stream of documents. After the first fault nothing is read any more, and what was read
/// means nothing.
class Reader {
public:
    explicit Reader(std::string_view text) {
        yaml_parser_initialize(&parser_);
        yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                     text.size());
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    ~Reader() { yaml_parser_delete(&parser_); }

    std::vector<Parsed> documents() {
        std::vector<Parsed> read;
        for (;;) {
            Event event;
            if (!next(event) || event->type == YAML_STREAM_END_EVENT) return read;
            if (event->type != YAML_DOCUMENT_START_EVENT) continue;
            Event root;
            if (!next(root)) return read;
            Value value = node(root, nullptr, 0);
            if (!value.is_null()) read.push_back({std::move(value), std::move(duplicates_)});
            duplicates_.clear();
            anchors_.clear();
        }
    }

    std::optional<std::string> fault;

private:
    /// One step of the way from the document's root, on the stack of the reading function.
    struct Step {
        const Step* parent;
        std::string text;  // ".key" or "[3]"
    };

    static std::string path_text(const Step* step) {
        return step ? path_text(step->parent) + step->text : std::string();
    }

    void fail(std::size_t line, const std::string& why) {
        if (!fault) fault = "yaml: line " + std::to_string(line + 1) + ": " + why;
    }

    /// False: there is none, because of a fault.
    bool next(Event& event) {
        if (fault) return false;
        if (yaml_parser_parse(&parser_, event.get())) return true;
        const std::string why = parser_.problem ? parser_.problem : "cannot be read";
        fail(parser_.problem_mark.line, why);
        if (parser_.error == YAML_READER_ERROR)
            fault = "yaml: " + why + " at byte " + std::to_string(parser_.problem_offset);
        return false;
    }

    Value node(const Event& event, const Step* step, int depth) {
        const std::size_t line = event->start_mark.line;
        if (depth > depth_max) {
            fail(line, "exceeded max depth");
            return {};
        }
        switch (event->type) {
            case YAML_ALIAS_EVENT:
                return alias(text_of(event->data.alias.anchor), line);
            case YAML_SCALAR_EVENT:
                return anchored(text_of(event->data.scalar.anchor), scalar(event));
            case YAML_SEQUENCE_START_EVENT:
                return sequence(text_of(event->data.sequence_start.anchor), step, depth);
            case YAML_MAPPING_START_EVENT:
                return mapping(text_of(event->data.mapping_start.anchor), step, depth);
            default:
                fail(line, "did not find expected node content");
                return {};
        }
    }

    Value sequence(std::string_view anchor, const Step* parent, int depth) {
        if (!anchor.empty()) open_.emplace(anchor);
        Value value = Value::array();
        Step step{parent, {}};
        for (;;) {
            Event event;
            if (!next(event) || event->type == YAML_SEQUENCE_END_EVENT) break;
            step.text = "[" + std::to_string(value.size()) + "]";
            value.push(node(event, &step, depth + 1));
        }
        return anchored(anchor, std::move(value));
    }

    Value mapping(std::string_view anchor, const Step* parent, int depth) {
        if (!anchor.empty()) open_.emplace(anchor);
        Value value = Value::object();
        MemberTable members(value);
        std::set<std::string> written;  // Keys that stand here themselves, not merged ones.
        for (;;) {
            Event key;
            if (!next(key) || key->type == YAML_MAPPING_END_EVENT) break;
            const std::optional<std::string> name = key_of(key);
            Step step{parent, name ? (parent ? "." : "") + *name : "<<"};
            Event content;
            if (!next(content)) break;
            const std::size_t line = content->start_mark.line;
            Value member = node(content, &step, depth + 1);
            if (!name) {
                merge(members, std::move(member), line);
                continue;
            }
            const bool again = !written.insert(*name).second;
            if (again && tells_more(duplicates_)) duplicates_.push_back(path_text(&step));
            members.set(*name, std::move(member));
        }
        return anchored(anchor, std::move(value));
    }

    /// A merged member replaces what stands before it, as go-yaml does; of several merged maps the
    /// earlier ones win.
    void merge(MemberTable& into, Value from, std::size_t line) {
        const auto take = [&](Value& source) {
            if (!source.is_object())
                return fail(line, "map merge requires map or sequence of maps as the value");
            for (Value::Member& member : source.mutable_members())
                into.set(member.key, std::move(member.value));
        };
        if (!from.is_array()) return take(from);
        Value::Array& sources = from.mutable_items();
        for (auto source = sources.rbegin(); source != sources.rend(); ++source)
            take(*source);
    }

    /// The member's name; absent for a merge key.
    std::optional<std::string> key_of(const Event& event) {
        const std::size_t line = event->start_mark.line;
        if (event->type == YAML_SCALAR_EVENT && is_merge(event)) return std::nullopt;
        if (event->type != YAML_SCALAR_EVENT && event->type != YAML_ALIAS_EVENT) {
            fail(line, "invalid map key: it must be a scalar");
            return "";
        }
        const Value key = node(event, nullptr, 0);
        switch (key.type()) {
            case Value::Type::string:
                return key.text();
            case Value::Type::boolean:
                return key.as_boolean() ? "true" : "false";
            case Value::Type::integer:
                return std::to_string(key.as_integer());
            case Value::Type::real: {
                char text[32];
                const auto end =
                    std::to_chars(text, text + sizeof text, static_cast<float>(key.as_real()));
                return std::string(text, end.ptr);
            }
            default:
                fail(line, "unsupported map key: null; put it in quotes");
                return "";
        }
    }

    static bool is_merge(const Event& event) {
        const auto& scalar = event->data.scalar;
        const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
        if (text != "<<") return false;
        const std::string_view tag = text_of(scalar.tag);
        return tag.empty() ? scalar.style == YAML_PLAIN_SCALAR_STYLE
                           : tag == std::string(core_tag) + "merge";
    }

    Value scalar(const Event& event) {
        const auto& scalar = event->data.scalar;
        const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
        const std::string_view full_tag = text_of(scalar.tag);
        if (full_tag.empty() && scalar.style != YAML_PLAIN_SCALAR_STYLE) return text;
        if (full_tag.empty()) return resolved(text, event->start_mark.line);
        const std::string_view tag =
            full_tag.starts_with(core_tag) ? full_tag.substr(core_tag.size()) : "";
        return tagged(tag, text, event->start_mark.line);
    }

    Value tagged(std::string_view tag, std::string_view text, std::size_t line) {
        if (tag == "binary") {
            std::optional<std::string> bytes = from_base64(text);
            if (!bytes) {
                fail(line, "!!binary value contains invalid base64 data");
            } else if (!is_utf8(*bytes)) {
                fail(line, "!!binary value is not UTF-8");
            }
            return std::move(bytes).value_or("");
        }
        const bool known = tag == "bool" || tag == "int" || tag == "float" || tag == "null";
        if (!known) return text;
        Value value = resolved(text, line);
        if (tag == "float" && value.is_integer()) return value.as_real();
        const bool fits =
            (tag == "bool" && value.is_boolean()) || (tag == "int" && value.is_integer()) ||
            (tag == "float" && value.is_number()) || (tag == "null" && value.is_null());
        if (!fits)
            fail(line, "cannot decode `" + std::string(text) + "` as a !!" + std::string(tag));
        return value;
    }

    Value resolved(std::string_view text, std::size_t line) {
        const YamlScalar scalar = resolve_plain_scalar(text);
        if (std::holds_alternative<std::monostate>(scalar)) return {};
        if (const bool* boolean = std::get_if<bool>(&scalar)) return *boolean;
        if (const std::int64_t* integer = std::get_if<std::int64_t>(&scalar)) return *integer;
        const double* real = std::get_if<double>(&scalar);
        if (!real) return text;
        if (std::isfinite(*real)) return *real;
        fail(line, "unsupported value: " + std::string(text));
        return {};
    }

    Value alias(std::string_view name, std::size_t line) {
        const auto found = anchors_.find(name);
        if (open_.contains(name)) {
            fail(line, "anchor '" + std::string(name) + "' value contains itself");
        } else if (found == anchors_.end()) {
            fail(line, "unknown anchor '" + std::string(name) + "' referenced");
        } else if (may_copy(found->second, line)) {
            return found->second;
        }
        return {};
    }

    Value anchored(std::string_view anchor, Value value) {
        if (anchor.empty()) return value;
        open_.erase(std::string(anchor));
        if (may_copy(value, parser_.mark.line))
            anchors_.insert_or_assign(std::string(anchor), value);
        return value;
    }

    bool may_copy(const Value& value, std::size_t line) {
        copies_ += count_values(value);
        if (copies_ > copies_max) fail(line, "document contains excessive aliasing");
        return copies_ <= copies_max;
    }

    yaml_parser_t parser_{};
    std::vector<std::string> duplicates_;
    std::map<std::string, Value, std::less<>> anchors_;
    std::set<std::string, std::less<>> open_;
    std::size_t copies_ = 0;
};

}  // namespace

std::variant<std::vector<Parsed>, ParseError> parse_yaml(std::string_view text) {
    // JSON is nearly YAML: what looks like it is read as it, surrogate pairs and all, and faster.
    if (trim(text).starts_with('{')) {
        auto json = parse_json(text);
        if (Parsed* parsed = std::get_if<Parsed>(&json)) {
            std::vector<Parsed> documents;
            documents.push_back(std::move(*parsed));
            return documents;
        }
    }
    Reader reader(text);
    std::vector<Parsed> documents = reader.documents();
    if (reader.fault) return ParseError{*std::move(reader.fault)};
    return documents;
}

}  // namespace muster::api
