// apiserver/table.cpp - rows and columns.
#include "apiserver/table.h"

#include <string>
#include <utility>

#include "api/columns.h"
#include "apiserver/answer.h"

namespace muster::apiserver {

using api::Value;

Value empty_table(const api::Kind& kind, const api::Version& version, const Form& form) {
    Value columns = Value::array();
    for (const api::Column& column : api::columns_of(kind, version.name)) {
        columns.push(Value::object({{"name", column.name},
                                    {"type", column.type},
                                    {"format", column.format},
                                    {"description", column.description},
                                    {"priority", column.priority}}));
    }
    return Value::object({{"kind", "Table"},
                          {"apiVersion", "meta.k8s.io/" + form.meta_version},
                          {"metadata", Value::object()},
                          {"columnDefinitions", columns},
                          {"rows", Value::array()}});
}

Value table_row(const api::Kind& kind, const api::Version& version, const Form& form,
                const Value& object, Time now) {
    Value cells = Value::array();
    for (Value& cell : api::row_of(kind, version.name, object, now))
        cells.push(std::move(cell));
    Value row = Value::object({{"cells", cells}});
    if (form.include == Form::Include::metadata) {
        row.set("object", to_metadata(object, form.meta_version));
    } else if (form.include == Form::Include::object) {
        row.set("object", object);
    } else {
        row.set("object", nullptr);
    }
    return row;
}

}  // namespace muster::apiserver
