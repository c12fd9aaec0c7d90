// api/columns.cpp - columns of custom kinds by their JSONPaths, of built-in kinds by their own
// functions.
#include "api/columns.h"

#include <cmath>
#include <string>

#include "api/builtin/columns.h"
#include "api/json.h"
#include "api/json_path.h"

namespace muster::api {
namespace {

Column column(const char* name, const char* type, const char* path) {
    Column made;
    made.name = name;
    made.type = type;
    made.path = path;
    return made;
}

Column name_column() {
    Column name = column("Name", "string", ".metadata.name");
    name.format = "name";
    name.description = "Name must be unique within a namespace.";
    return name;
}

/// A cell as the API server fills it for a custom kind: of the wrong type is as good as absent, but
/// anything can be text.
Value cell_of(const Column& column, const Value& value, Time now) {
    if (value.is_null()) return Value();
    if (column.type == "string") return value.is_string() ? value : Value(to_json(value));
    if (column.type == "integer") {
        if (value.is_integer()) return value;
        if (value.is_number()) return static_cast<std::int64_t>(std::trunc(value.as_real()));
        return Value();
    }
    if (column.type == "number") return value.is_number() ? value : Value();
    if (column.type == "boolean") return value.is_boolean() ? value : Value();
    if (column.type == "date") return age_cell(value, now);
    return value;
}

}  // namespace

std::vector<Column> columns_of(const Kind& kind, std::string_view version) {
    if (const PrintedKind* printed = find_printed(kind)) return printed->columns;
    std::vector<Column> columns = {name_column()};
    const Version* found = kind.find_version(version);
    if (found != nullptr && !found->columns.empty()) {
        columns.insert(columns.end(), found->columns.begin(), found->columns.end());
    } else {
        columns.push_back(column("Age", "date", ".metadata.creationTimestamp"));
    }
    return columns;
}

std::vector<Value> row_of(const Kind& kind, std::string_view version, const Value& object,
                          Time now) {
    if (const PrintedKind* printed = find_printed(kind)) return printed->row(object, now);
    std::vector<Value> cells;
    for (const Column& column : columns_of(kind, version)) {
        const std::vector<const Value*> found = find_by_json_path(object, column.path);
        cells.push_back(found.empty() ? Value() : cell_of(column, *found.front(), now));
    }
    return cells;
}

}  // namespace muster::api
