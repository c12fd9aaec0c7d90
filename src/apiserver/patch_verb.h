// apiserver/patch_verb.h - the bodies of PATCH: which of the four kinds, and what it makes of an
// object.
#pragma once

#include <string>
#include <vector>

#include "api/patch.h"
#include "api/schema.h"
#include "api/value.h"
#include "apiserver/exchange.h"

namespace muster::apiserver {

/// A patch as it came.
struct PatchBody {
    BodyType type = BodyType::merge_patch;
    api::Value value;
    std::vector<std::string> duplicates;
};

/// By the content type; size and options are checked with it. Throws StatusError: 413, 415, 422.
BodyType patch_type(const Exchange& exchange);

/// The body, of the type that patch_type() found. Throws StatusError: 400, 413, 422.
PatchBody read_patch(Exchange& exchange, BodyType type);

/// The patched object. `before` is in the version of the exchange; null only for an apply that
/// creates. Throws StatusError: 400, 409 (apply conflicts), 422.
api::Value patched(Context& context, Exchange& exchange, const PatchBody& patch, api::Value before);

/// Who writes, when, where and with what force; the version is for the caller to say.
api::ApplyRequest apply_request(Context& context, const Exchange& exchange);

/// Server-side apply of `patch`. Throws StatusError: 400, 409 (conflicts), 422, 500.
api::Value applied_over(const api::Schema& schema, const api::Value& before,
                        const api::Value& patch, const api::ApplyRequest& request);

}  // namespace muster::apiserver
