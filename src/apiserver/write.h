// apiserver/write.h - create, update and the four patches of whole objects and their /status.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "apiserver/commit.h"
#include "apiserver/exchange.h"

namespace muster::apiserver {

void serve_create(Context& context, const ExchangePtr& exchange);
void serve_update(Context& context, const ExchangePtr& exchange);
void serve_patch(Context& context, const ExchangePtr& exchange);

/// A change to an object by a subresource (binding, scale, finalize): the object in stored form is
/// changed by `change` and goes through admission, validation and the store as any other update.
/// `answer` is called when it is durable. `change` may have to be done again, of a newer object.
struct Edit {
    std::string subresource;
    enum class Asked { now, already };
    Asked asked = Asked::now;  // Webhooks; already: about what was posted.
    enum class Owned { by_writer, already };
    Owned owned = Owned::by_writer;  // What is changed; already: `change` says whose it is.
    std::function<void(api::Value& object)> change;
    std::function<void(const Committed&)> answer;
};
void edit_object(Context& context, const ExchangePtr& exchange, const Edit& edit);

/// The manager of a write: the parameter `fieldManager`, else the User-Agent up to its first "/".
std::string field_manager(const net::Request& request);

}  // namespace muster::apiserver
