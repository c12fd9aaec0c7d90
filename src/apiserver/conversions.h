// apiserver/conversions.h - versions of objects, also where a webhook makes them of each other.
//
// What only a webhook knows is not there at once: the step that needs it is given up (NotYetKnown),
// the webhook is asked, and the step is done again from its beginning; it then finds the answer in
// its exchange. So a step that uses these functions must be one that can be repeated.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "api/value.h"
#include "apiserver/exchange.h"

namespace muster::apiserver {

/// A step cannot go on before something is found out. Caught by guarded().
struct NotYetKnown {
    using Done = std::function<void()>;
    using Refuse = std::function<void(const StatusError&)>;
    std::function<void(Done again, Refuse refuse)> find_out;
};

/// The answers that an exchange has got: by version and content of what was converted.
struct KnownConversions {
    std::map<std::string, api::Value> made;
    int questions = 0;
};

/// A stored object in a served version, and the way back; as in stored.h, but for all kinds.
/// Throws NotYetKnown, StatusError.
api::Value shown_in(Context& context, Exchange& exchange, const api::Kind& kind, api::Value stored,
                    std::string_view version);
api::Value stored_form(Context& context, Exchange& exchange, const api::Kind& kind,
                       api::Value object);

/// Throws NotYetKnown when any of these stored objects is not known in that version: all of them
/// are asked for at once.
void know_all(Context& context, Exchange& exchange, const api::Kind& kind,
              const std::vector<const api::Value*>& stored, std::string_view version);

}  // namespace muster::apiserver
