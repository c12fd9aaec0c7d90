// api/json.h - JSON text to value tree and back.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/value.h"

namespace muster::api {

/// Why a text is not the JSON it should be.
struct ParseError {
    std::string text;  // "unexpected end of JSON input (line 3, column 7)"
};

/// A parsed document and the paths of members that stood twice ("spec.replicas"; the last one won).
struct Parsed {
    Value value;
    std::vector<std::string> duplicates;
};

/// Whether "managedFields" of metadata, a third of most objects, are built. Who looks at objects
/// does not ask who wrote which field.
enum class FieldOwners { kept, left_out };

/// Parses one JSON document. Depth is limited to 1,000 levels; invalid UTF-8 is an error. An
/// integer beyond int64 becomes a real.
std::variant<Parsed, ParseError> parse_json(std::string_view text,
                                            FieldOwners owners = FieldOwners::kept);

/// One line of a watch: what happened, to what, and the object as it is then.
struct WatchEvent {
    std::string type;  // "ADDED"; empty: not said.
    std::string ns;
    std::string name;
    std::string version;  // metadata.resourceVersion of the object.
    Value object;         // Null: it was not wanted.
};

/// Parses one line of a watch; without field owners. `is_wanted` is asked before the object is
/// built, which is what costs.
std::variant<WatchEvent, ParseError> parse_watch_event(
    std::string_view line, const std::function<bool(const WatchEvent& head)>& is_wanted);

/// Compact JSON, members in order.
std::string to_json(const Value& value);
void append_json(std::string& out, const Value& value);

/// Indented JSON, as kubectl -o json prints it (4 blanks).
std::string to_pretty_json(const Value& value);

}  // namespace muster::api
