// apps/cli/output.h - objects and tables printed in the forms that -o names.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/value.h"
#include "apps/cli/resources.h"

namespace muster::cli {

/// "-o jsonpath={.x}" taken apart.
struct Output {
    enum class Form { table, wide, yaml, json, name, template_text, columns };
    Form form = Form::table;
    std::string argument;
    bool is_table() const { return form == Form::table || form == Form::wide; }
};

/// Throws Error that lists the forms.
Output parse_output(const std::string& text);

/// One object, or several as a List. Requires: not a table form.
std::string objects_text(const Output& output, const std::vector<api::Value>& objects, bool as_list,
                         bool show_managed_fields);

/// "pod/web" for an object, from its own apiVersion and kind.
std::string name_text(const api::Value& object);

/// How a Table is printed.
struct TableStyle {
    bool wide = false;
    bool headers = true;
    bool namespaces = false;  // A NAMESPACE column.
    std::string kind_prefix;  // "pod" before names when several kinds are shown.
    bool labels = false;      // A LABELS column.
    std::vector<std::string> label_columns;
};

/// Rows of a metav1.Table under its columns; "" when there are none.
std::string table_text(const api::Value& columns, const std::vector<api::Value>& rows,
                       const TableStyle& style);

}  // namespace muster::cli
