// apiserver/namespace_room.cpp - see namespace_room.h.
#include "apiserver/namespace_room.h"

#include <string>

#include "api/json.h"
#include "apiserver/commit.h"
#include "apiserver/status_error.h"

namespace muster::apiserver {

void check_namespace_room(const Context& context, const Exchange& exchange, const api::Kind& kind,
                          const api::Value& object, const Bytes& before) {
    if (kind.group.empty() && kind.plural == "events") return;
    const std::string_view ns = object["metadata"]["namespace"].text_or("");
    const std::size_t held = context.totals.of(ns);
    const std::size_t most = context.options.object_bounds.bytes_per_namespace;
    if (held < most) return;
    if (before) {
        if (exchange.request.peer.trusted || purpose_of(object) == Purpose::removal) return;
        if (api::to_json(object).size() <= before->size()) return;
    }
    throw forbidden(kind.resource(), object["metadata"]["name"].text_or(""),
                    "exceeded quota: the objects of namespace " + std::string(ns) + " have " +
                        std::to_string(held >> 20) + " MiB, and may have no more than " +
                        std::to_string(most >> 20) +
                        " MiB; delete some, or have an administrator raise "
                        "objects.maxBytesPerNamespace of --config");
}

}  // namespace muster::apiserver
