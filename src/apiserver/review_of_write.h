// apiserver/review_of_write.h - what a write is to webhooks.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/admission_webhooks.h"

namespace muster::apiserver {

/// A write of a whole object (or of its status) of the exchange's kind, in stored form; null `old`:
/// it is created.
ReviewedPtr review_of_write(Context& context, const ExchangePtr& exchange, const api::Kind& kind,
                            std::string_view subresource, api::Value object, const api::Value& old);

/// The removal of one.
ReviewedPtr review_of_removal(Context& context, const ExchangePtr& exchange, const api::Kind& kind,
                              const api::Value& old, const api::Value& options);

/// What is posted to a subresource and never kept (a Binding, an Eviction): it is what webhooks
/// see.
ReviewedPtr review_of_body(const Exchange& exchange, const std::string& api_version,
                           const std::string& kind, api::Value body);

/// Null when no webhook is configured: a connection to a pod or service (exec, attach, portforward,
/// proxy). What a webhook would change of it is refused.
ReviewedPtr review_of_connection(const Context& context, const Exchange& exchange);

}  // namespace muster::apiserver
