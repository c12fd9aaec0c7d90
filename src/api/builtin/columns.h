// api/builtin/columns.h - columns of the built-in kinds, whose cells need code.
#pragma once

#include <string>
#include <vector>

#include "api/kind.h"
#include "api/value.h"
#include "base/time.h"

namespace muster::api {

using Cells = std::vector<Value>;

/// A built-in kind as it is printed.
struct PrintedKind {
    std::string group;
    std::string kind;
    std::vector<Column> columns;
    Cells (*row)(const Value& object, Time now) = nullptr;
};

/// Null when the kind has no columns of its own.
const PrintedKind* find_printed(const Kind& kind);

Cells pod_row(const Value& pod, Time now);
Cells job_row(const Value& job, Time now);
Cells node_row(const Value& node, Time now);
Cells service_row(const Value& service, Time now);
Cells event_row(const Value& event, Time now);

/// "5m" since a time text; "<unknown>" when there is none.
Value age_cell(const Value& timestamp, Time now);
Value age_of(const Value& object, Time now);
/// The text, or "<none>".
Value text_or_none(const Value& text);
/// "a=b,c in (d)", or "<none>".
std::string selector_text(const Value& selector);
std::string labels_text(const Value& labels);
/// Names and images of a pod spec's containers, joined by commas.
std::string container_names(const Value& pod_spec);
std::string container_images(const Value& pod_spec);

}  // namespace muster::api
