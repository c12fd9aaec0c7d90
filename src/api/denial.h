// api/denial.h - refusals in the name of a webhook, as the API server and a webhook word them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/admission.h"

namespace muster::api {

/// "FIELD: TEXT", each once; more than one in brackets, as Kubernetes joins errors.
std::string joined(const std::vector<FieldError>& errors);

/// The details of a Status with these causes; null when there are none.
Value details_with(const std::vector<FieldError>& causes);

/// A validating webhook refuses: asked last, of an object that is valid otherwise.
bool is_validating(const Admission::Denial& denied);

/// The refusal of a webhook. Requires: some errors.
Admission::Denial denial_by(std::string webhook, std::vector<FieldError> errors);

/// What the webhook of a custom kind says of an object that keeps its schema: `validate`, under the
/// original's name ("vclusterqueue.kb.io"). `old` is null on create.
std::optional<Admission::Denial> denial_of_kind(const Kind& kind, const Value& object,
                                                const Value& old);

}  // namespace muster::api
