// api/status.h - a refusal as Kubernetes' Status.
#pragma once

#include <string>

#include "api/value.h"
#include "base/error.h"

namespace muster::api {

inline Value failure_status(Reason reason, const std::string& message) {
    return Value::object({{"kind", "Status"},
                          {"apiVersion", "v1"},
                          {"metadata", Value::object()},
                          {"status", "Failure"},
                          {"message", message},
                          {"reason", reason_word(reason)},
                          {"code", reason_code(reason)}});
}

}  // namespace muster::api
