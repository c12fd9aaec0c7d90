// apiserver/table.cpp - rows and columns.
#include "apiserver/table.h"

#include <string>
#include <utility>

#include "apiserver/answer.h"

namespace muster::apiserver {

using api::Value;

Value empty_table(const api::Kind& kind, const api::Version& version, const Form& form) {
    static_cast<void>(kind);
    Value columns = Value::array();
    const auto add = [&](const std::string& name, const std::string& type,
                         const std::string& format, const std::string& description, int priority) {
        columns.push(Value::object({{"name", name},
                                    {"type", type},
                                    {"format", format},
                                    {"description", description},
                                    {"priority", priority}}));
    };
    add("Name", "string", "name", "Name must be unique within a namespace.", 0);
    for (const api::Column& column : version.columns) {
        add(column.name, column.type, column.format, column.description, column.priority);
    }
    return Value::object({{"kind", "Table"},
                          {"apiVersion", "meta.k8s.io/" + form.meta_version},
                          {"metadata", Value::object()},
                          {"columnDefinitions", columns},
                          {"rows", Value::array()}});
}

Value table_row(const api::Kind& kind, const api::Version& version, const Form& form,
                const Value& object, Time now) {
    static_cast<void>(kind);
    static_cast<void>(now);
    Value cells = Value::array({object["metadata"]["name"]});
    for (const api::Column& column : version.columns) {
        cells.push(object.path(column.path.substr(1)));
    }
    Value row = Value::object({{"cells", cells}});
    if (form.include == Form::Include::metadata) {
        row.set("object", to_metadata(object, form.meta_version));
    } else if (form.include == Form::Include::object) {
        row.set("object", object);
    }
    return row;
}

}  // namespace muster::apiserver
