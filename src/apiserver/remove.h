// apiserver/remove.h - delete and deletecollection: preconditions, grace, finalizers, propagation.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "apiserver/commit.h"
#include "apiserver/exchange.h"

namespace muster::apiserver {

void serve_delete(Context& context, const ExchangePtr& exchange);
void serve_delete_collection(Context& context, const ExchangePtr& exchange);

/// How a removal ends: gone at once, or marked and waiting.
struct Removal {
    bool gone = false;
    Committed last;  // The object as it was, or as it is now.
};

/// Deletes one object as `options` (DeleteOptions) say; `done` runs when that is durable. Throws
/// StatusError: 404, 409, admission's refusals.
void remove_object(Context& context, const ExchangePtr& exchange, const api::Kind& kind,
                   std::string_view ns, std::string_view name, const api::Value& options,
                   std::function<void(const Removal&)> done);

}  // namespace muster::apiserver
