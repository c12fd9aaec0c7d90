// api/admission.h - admission as a pure function: what a webhook would be told, and what it may
// answer. The embedded server calls the functions directly; on a real cluster a webhook endpoint
// does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "api/value.h"
#include "base/error.h"
#include "base/time.h"

namespace muster::api {

/// A write on its way in, after defaults and schema validation.
struct AdmissionRequest {
    enum class Operation { create, update, remove };
    Operation operation = Operation::create;
    const Kind* kind = nullptr;    // Never null.
    const Kinds* kinds = nullptr;  // All that the server has; null: those of the tables.
    std::string version;           // In which `object` and `old` are.
    std::string subresource;       // "" or "status", "scale".
    std::string user;
    std::vector<std::string> groups;
    Value object;  // Null on remove.
    Value old;     // Null on create.
    Time now;
    /// Reads of the server's newest state, in the kind's storage version. `find` gives null when
    /// absent.
    std::function<Value(const Key& key)> find;
    std::function<std::vector<Value>(const GroupResource& resource, std::string_view ns)> list;
    /// True when the user may do `verb` on the resource in the namespace (RBAC).
    std::function<bool(std::string_view verb, const GroupResource& resource, std::string_view ns)>
        allowed;
};

/// The answer: nothing set means "fine as it is".
struct Admission {
    struct Denial {
        Reason reason = Reason::forbidden;
        std::string text;
        std::vector<FieldError> causes;
        /// The webhook that refuses in the original ("vjob.kb.io"); empty: the server itself does.
        std::string webhook = {};
    };
    std::optional<Value> changed;
    std::optional<Denial> denied;
    std::vector<std::string> warnings;
};

using AdmissionHook = std::function<Admission(const AdmissionRequest& request)>;

}  // namespace muster::api
