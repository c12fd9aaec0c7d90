// apiserver/stored.h - objects at rest: under which key they are kept, and the way from stored
// bytes to a version and back.
#pragma once

#include <string>
#include <string_view>

#include "api/kind.h"
#include "api/value.h"
#include "base/bytes.h"

namespace muster::apiserver {

/// "/core/pods/", "/batch/jobs/default/". Every key of the kind (in the namespace) starts with it.
std::string key_prefix(const api::Kind& kind, std::string_view ns = "");

/// "/core/pods/default/web-0"; cluster-scoped: "/core/nodes//n1".
std::string key_of(const api::Kind& kind, std::string_view ns, std::string_view name);

/// The parts of a key.
struct Place {
    std::string_view ns;
    std::string_view name;
};
Place place_of(std::string_view key);

/// "batch/v1": the apiVersion that stored objects of the kind carry.
std::string stored_api_version(const api::Kind& kind);

/// The tree of stored bytes. Throws Error when they are damaged.
api::Value read_stored(const std::string& bytes);

/// A stored object as one of the kind's served versions, and the way back.
api::Value in_version(const api::Kind& kind, api::Value stored, std::string_view version);
api::Value to_stored(const api::Kind& kind, api::Value object);

/// True when stored bytes are what a client of this version gets.
bool is_stored_form(const api::Kind& kind, std::string_view version);

}  // namespace muster::apiserver
