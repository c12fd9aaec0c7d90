// api/structural_schema.h - a schema as the structural schema of a CustomResourceDefinition.
#pragma once

#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

/// The schema of a custom kind with everything in it, pod templates as well, in the form that
/// clusters ask for: no references, types everywhere. Built-in kinds inside it look as they do in
/// the CRDs of others: no enums (a cluster's own pods are checked in code), no descriptions.
Value structural_schema(const Schema& schema);

}  // namespace muster::api
