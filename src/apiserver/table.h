// apiserver/table.h - Tables: what `kubectl get` prints, made here as in the reference.
#pragma once

#include "api/kind.h"
#include "api/value.h"
#include "apiserver/media.h"
#include "base/time.h"

namespace muster::apiserver {

/// A Table with its column definitions and no rows.
api::Value empty_table(const api::Kind& kind, const api::Version& version, const Form& form);

/// One row: cells, and of the object what the form includes. `object` is in `version`.
api::Value table_row(const api::Kind& kind, const api::Version& version, const Form& form,
                     const api::Value& object, Time now);

}  // namespace muster::apiserver
