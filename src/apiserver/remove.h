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

/// {"dryRun": ["All"]} in DeleteOptions means the same as in the query.
void heed_dry_run(Exchange& exchange, const api::Value& options);

/// How a removal ends: gone at once, or marked and waiting.
struct Removal {
    bool gone = false;
    Committed last;  // The object as it was, or as it is now.
};

/// A removal to do.
struct Removing {
    std::string ns;
    std::string name;
    api::Value options;  // DeleteOptions.
    enum class Asked { now, already };
    Asked asked = Asked::now;  // Webhooks; already: or nobody is to be asked.
    std::function<void(const Removal&)> done;
    /// What is refused after webhooks were asked; null: it is the answer.
    std::function<void(const StatusError&)> refuse;
    int repeats = 0;  // How often it began anew, because others came before it.
};

/// Deletes one object of the exchange's kind; `done` runs when that is durable. Throws StatusError,
/// or gives it to `refuse`: 404, 409, admission's refusals.
void remove_object(Context& context, const ExchangePtr& exchange, const Removing& removing);

}  // namespace muster::apiserver
