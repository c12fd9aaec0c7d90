// apps/cli/output.cpp - YAML, JSON, names, templates, columns and tables.
#include "apps/cli/output.h"

#include <algorithm>

#include "api/json.h"
#include "api/kind.h"
#include "api/yaml.h"
#include "apps/cli/json_path.h"
#include "apps/cli/tab_writer.h"
#include "base/error.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

/// Go prints maps in the order of their keys.
Value sorted(const Value& value) {
    if (value.is_array()) {
        Value out = Value::array();
        for (const Value& item : value.items())
            out.push(sorted(item));
        return out;
    }
    if (!value.is_object()) return value;
    std::vector<std::string> keys;
    for (const auto& member : value.members())
        keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    Value out = Value::object();
    for (const std::string& key : keys)
        out.set(key, sorted(value[key]));
    return out;
}

Value without_managed_fields(Value object) {
    if (Value* metadata = object.find("metadata"); metadata && metadata->is_object())
        metadata->erase("managedFields");
    return object;
}

std::string joined_found(const Value& object, std::string_view path) {
    std::string text;
    for (const Value* found : find_path(path, object))
        text += (text.empty() ? "" : ",") + plain_text(*found);
    return text.empty() ? "<none>" : text;
}

/// "NAME:.metadata.name,AGE:.metadata.creationTimestamp".
std::string columns_text(const std::string& spec, const std::vector<Value>& objects) {
    std::string text;
    for (const std::string_view column : split(spec, ','))
        text += (text.empty() ? "" : "\t") + std::string(column.substr(0, column.find(':')));
    text += "\n";
    for (const Value& object : objects) {
        std::string line;
        for (const std::string_view column : split(spec, ',')) {
            const auto halves = split_first(column, ':');
            if (!halves)
                throw Error(Reason::bad_request,
                            "error: custom-columns are NAME:PATH, separated by commas");
            line += (line.empty() ? "" : "\t") + joined_found(object, halves->after);
        }
        text += line + "\n";
    }
    return align(text, table_style);
}

std::string cell_text(const Value& cell) {
    if (!cell.is_string()) return cell.is_null() ? "" : api::to_json(cell);
    std::string text = cell.text();
    // A line end would break the table.
    if (const std::size_t end = text.find_first_of("\n\r\f"); end != std::string::npos)
        text = text.substr(0, end) + "...";
    return replace_all(text, "\t", " ");
}

std::string label_list(const Value& labels) {
    std::vector<std::string> parts;
    for (const auto& member : labels.members())
        parts.push_back(member.key + "=" + member.value.text());
    std::sort(parts.begin(), parts.end());
    return parts.empty() ? "<none>" : join(parts, ",");
}

}  // namespace

Output parse_output(const std::string& text) {
    const auto halves = split_first(text, '=');
    const std::string form(halves ? halves->before : std::string_view(text));
    Output output;
    if (halves) output.argument = halves->after;
    if (form.empty()) return output;
    if (form == "wide")
        output.form = Output::Form::wide;
    else if (form == "yaml")
        output.form = Output::Form::yaml;
    else if (form == "json")
        output.form = Output::Form::json;
    else if (form == "name")
        output.form = Output::Form::name;
    else if (form == "jsonpath")
        output.form = Output::Form::template_text;
    else if (form == "custom-columns")
        output.form = Output::Form::columns;
    else
        throw Error(Reason::bad_request,
                    "error: unable to match a printer suitable for the output format \"" + form +
                        "\", allowed formats are: custom-columns,json,jsonpath,name,wide,yaml");
    const bool needs =
        output.form == Output::Form::template_text || output.form == Output::Form::columns;
    if (needs && output.argument.empty())
        throw Error(Reason::bad_request, "error: template format specified but no template given");
    return output;
}

std::string name_text(const Value& object) {
    const auto version = api::parse_group_version(object["apiVersion"].text());
    const std::string kind = to_lower(object["kind"].text());
    return kind + (version.group.empty() ? "" : "." + version.group) + "/" +
           object["metadata"]["name"].text();
}

std::string objects_text(const Output& output, const std::vector<Value>& objects, bool as_list,
                         bool show_managed_fields) {
    std::string text;
    if (output.form == Output::Form::name) {
        for (const Value& object : objects)
            text += name_text(object) + "\n";
        return text;
    }
    if (output.form == Output::Form::columns) return columns_text(output.argument, objects);
    Value items = Value::array();
    for (const Value& object : objects)
        items.push(show_managed_fields ? object : without_managed_fields(object));
    const Value whole =
        as_list ? Value::object({{"apiVersion", "v1"},
                                 {"items", items},
                                 {"kind", "List"},
                                 {"metadata", Value::object({{"resourceVersion", ""}})}})
                : items[0];
    if (output.form == Output::Form::template_text) return fill_template(output.argument, whole);
    if (output.form == Output::Form::yaml) return api::to_yaml(whole);
    return api::to_pretty_json(sorted(whole)) + "\n";
}

std::string table_text(const Value& columns, const std::vector<Value>& rows,
                       const TableStyle& style) {
    if (rows.empty()) return "";
    std::vector<std::size_t> shown;
    std::string head = style.namespaces ? "NAMESPACE" : "";
    const auto add = [](std::string& line, const std::string& cell) {
        line += (line.empty() ? "" : "\t") + cell;
    };
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (columns[i]["priority"].integer_or(0) > 0 && !style.wide) continue;
        shown.push_back(i);
        std::string name = columns[i]["name"].text();
        for (char& c : name)
            c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        add(head, name);
    }
    for (const std::string& label : style.label_columns) {
        std::string name(label.substr(label.rfind('/') + 1));
        for (char& c : name)
            c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        add(head, name);
    }
    if (style.labels) add(head, "LABELS");
    std::string text = style.headers ? head + "\n" : "";
    for (const Value& row : rows) {
        const Value& metadata = row["object"]["metadata"];
        std::vector<std::string> cells;
        if (style.namespaces) cells.push_back(metadata["namespace"].text());
        bool first = true;
        for (const std::size_t i : shown) {
            std::string cell = cell_text(row["cells"][i]);
            if (first && !style.kind_prefix.empty()) cell = style.kind_prefix + "/" + cell;
            first = false;
            cells.push_back(std::move(cell));
        }
        for (const std::string& label : style.label_columns)
            cells.push_back(metadata["labels"][label].text());
        if (style.labels) cells.push_back(label_list(metadata["labels"]));
        text += join(cells, "\t") + "\n";
    }
    return align(text, table_style);
}

}  // namespace muster::cli
