// apiserver/decode.h - request bodies to trees: JSON, YAML and protobuf, with the checks of
// fieldValidation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"
#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Larger bodies are refused with 413.
constexpr std::size_t body_limit = 3 << 20;

/// A body and the members that stood in it twice.
struct Decoded {
    api::Value value;
    std::vector<std::string> duplicates;
};

/// The tree of a body in one of the three object types. Throws StatusError: 400, 413, 415.
Decoded decode_body(const net::Request& request);

/// The tree of a text that is JSON or YAML ("apply" patches).
Decoded decode_yaml(std::string_view text);

/// An object for the exchange's kind and version: apiVersion and kind are there and right, unknown
/// and duplicate fields are answered as `fieldValidation` says, then dropped. Types are checked.
/// Throws StatusError.
api::Value typed_object(Exchange& exchange, Decoded decoded);

/// An object that a webhook has changed, in a version of its kind: pruned, with its defaults.
/// Throws StatusError when it no longer is one.
api::Value mutated_object(const api::Kind& kind, const api::Version& version, api::Value object);

/// An incomplete object of a patch ("apply"): apiVersion, kind and unknown fields are checked;
/// nothing is defaulted, nothing has to be there.
api::Value typed_part(Exchange& exchange, Decoded decoded);

/// The same without the checks of apiVersion and kind, for bodies of subresources. An empty body is
/// an empty object. `api_version` and `kind` choose the schema.
/// Without strictness unknown fields are passed over.
enum class Strictness { as_asked, none };
api::Value typed_body(Exchange& exchange, std::string_view api_version, std::string_view kind,
                      Strictness strictness = Strictness::as_asked);

}  // namespace muster::apiserver
