// api/patch.h - the four patches of Kubernetes as pure functions on value trees.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/schema.h"
#include "api/value.h"

namespace muster::api {

/// Why a patch cannot be applied; `invalid` is 422, otherwise 400.
struct PatchError {
    std::string text;
    bool invalid = false;
    bool untyped = false;  // What is applied is not of its kind's shape.
};
using Patched = std::variant<Value, PatchError>;

Patched merge_patch(Value target, const Value& patch);      // RFC 7386
Patched json_patch(Value target, const Value& operations);  // RFC 6902
Patched strategic_merge_patch(const Schema& schema, Value target,
                              const Value& patch);  // merge keys, $patch, ...

/// A field owned by another manager that an apply would change.
struct ApplyConflict {
    std::string manager;
    std::string api_version;  // Empty: that manager applied it.
    std::string field;        // ".spec.replicas"
    std::string subresource;  // Through which that manager wrote; empty: the object itself.
};

/// The message of the cause: `conflict with "kubectl-edit" using v1`.
std::string conflict_cause(const ApplyConflict& conflict);
/// The message of the 409: `Apply failed with 1 conflict: conflict with "kubectl-edit" using v1:
/// .spec.replicas`.
std::string conflict_message(const std::vector<ApplyConflict>& conflicts);

/// Who applies, and in which form.
struct ApplyRequest {
    std::string manager;
    std::string api_version;
    std::string subresource;
    std::string time;  // RFC 3339, written to the manager's entry when the object changes.
    bool force = false;
    std::string kept_part = {};  // "status" or "spec": what this endpoint does not write.
};

/// Server-side apply: merges `applied` into `live` (null when it does not exist), drops what this
/// manager had applied before and nobody else owns, never a field of another manager, and updates
/// metadata.managedFields. `applied` holds only what the endpoint may write (no status on the main
/// one). When nothing changes the answer equals `live`, times included. Without defaults: the
/// caller fills them in.
std::variant<Value, std::vector<ApplyConflict>, PatchError> server_side_apply(
    const Schema& schema, const Value& live, const Value& applied, const ApplyRequest& request);

/// Records an ordinary write: the fields in which `after` differs from `before` now belong to the
/// manager. Returns `after` with its managedFields: those that it came with or else those of
/// `before`, brought up to date; unchanged, times included, when no field changed. `before` is null
/// on create. An empty list or a list of one empty entry in `after` clears them.
Value track_update(const Schema& schema, const Value& before, Value after,
                   const ApplyRequest& request);

}  // namespace muster::api
