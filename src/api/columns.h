// api/columns.h - what `kubectl get` shows of an object: the columns of a kind and the cells of a
// row.
#pragma once

#include <string_view>
#include <vector>

#include "api/kind.h"
#include "api/value.h"
#include "base/time.h"

namespace muster::api {

/// All columns of a Table, in order, the wide ones too; as the original's API server names them.
std::vector<Column> columns_of(const Kind& kind, std::string_view version);

/// The cells of one object, one for each of columns_of; null where there is nothing to show.
/// `object` is in `version`.
std::vector<Value> row_of(const Kind& kind, std::string_view version, const Value& object,
                          Time now);

}  // namespace muster::api
