// api/apiextensions/crd_validation.h - defaults and checks of CustomResourceDefinitions.
#pragma once

#include <vector>

#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

void default_crd(Value& crd);
std::vector<FieldError> validate_crd(const Value& crd, const Value* old);

}  // namespace muster::api
