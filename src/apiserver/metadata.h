// apiserver/metadata.h - the fields of metadata that the server keeps: names, uids, times,
// generations, finalizers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/schema.h"
#include "api/value.h"
#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Name and namespace of a new object. Throws StatusError when they are missing, wrong or do not go
/// with the path. What only the server gives is taken out.
/// A name that the server makes up is that of the whole exchange.
void fill_new_name(Context& context, Exchange& exchange, api::Value& object);

/// Its uid, creationTimestamp and generation.
void fill_new_identity(Context& context, const api::Kind& kind, api::Value& object);

/// What an update may not change is taken from `old`; what it must not, is refused. Objects in
/// stored form.
enum class Given { as_whole, by_patch };
void carry_metadata(const api::Kind& kind, const api::Value& old, store::Revision revision,
                    Given given, api::Value& object);

/// One that names a namespace names that of the path. Throws StatusError (400).
void check_namespace(const Exchange& exchange, const api::Value& object);

/// An object that is written must be the one that the path names. Throws StatusError (400).
void check_place(const Exchange& exchange, const api::Value& object);

/// An apply that makes an object may not say which one it means. Throws StatusError (409).
void check_no_uid(const Exchange& exchange, const api::Value& object);

/// One more when anything but metadata and status differs, for kinds that count.
void count_generation(const api::Kind& kind, std::string_view subresource, const api::Value& old,
                      api::Value& object);
bool has_generation(const api::Kind& kind);

/// Labels, annotations, owner references, finalizers: what the API server demands of them.
std::vector<api::FieldError> validate_metadata(const api::Kind& kind, const api::Value& object,
                                               const api::Value& old);

/// Nothing differs but the version (and the times in managedFields).
bool same_but_version(const api::Value& a, const api::Value& b);

/// True when the object is going away and nothing holds it any more.
bool is_released(const api::Kind& kind, const api::Value& object);

/// Finalizers of Kubernetes' own, which have no domain.
bool is_standard_finalizer(std::string_view name);

}  // namespace muster::apiserver
