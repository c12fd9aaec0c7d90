// apiserver/subresources.h - what hangs below an object: /scale, pods/binding, pods/log and the
// like.
#pragma once

#include <string>
#include <vector>

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// A subresource as discovery tells of it.
struct Subresource {
    std::string name;
    std::string group;  // Of what it takes and gives.
    std::string version;
    std::string kind;
    std::vector<std::string> verbs;
};
std::vector<Subresource> subresources_of(const Context& context, const api::Kind& kind,
                                         const std::string& version);

/// Answers a request to a subresource other than /status. Throws StatusError.
void serve_subresource(Context& context, const ExchangePtr& exchange);

/// services/NAME/proxy and pods/NAME/proxy: on to a pod, through the node.
void serve_proxy(Context& context, const ExchangePtr& exchange);

/// /scale: replicas and selector of any kind that has them.
void serve_scale(Context& context, const ExchangePtr& exchange);

}  // namespace muster::apiserver
