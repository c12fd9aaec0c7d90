// api/kueue/rules.h - what Kueue's webhooks do: conversion between v1beta1 and v1beta2, defaults,
// validation.
#pragma once

#include <string_view>
#include <vector>

#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

Value convert_cluster_queue(Value object, std::string_view to_version);
Value convert_cohort(Value object, std::string_view to_version);
Value convert_local_queue(Value object, std::string_view to_version);
Value convert_multi_kueue_cluster(Value object, std::string_view to_version);
Value convert_workload(Value object, std::string_view to_version);

void default_workload(Value& workload);

/// Each takes objects of either version and names the fields as that version does.
std::vector<FieldError> validate_cluster_queue(const Value& object, const Value* old);
std::vector<FieldError> validate_cohort(const Value& object, const Value* old);
std::vector<FieldError> validate_local_queue(const Value& object, const Value* old);
std::vector<FieldError> validate_resource_flavor(const Value& object, const Value* old);
std::vector<FieldError> validate_workload(const Value& object, const Value* old);

}  // namespace muster::api
