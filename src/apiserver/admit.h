// apiserver/admit.h - admission: what is added to an object on its way in, and who may stop it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/admission.h"
#include "apiserver/exchange.h"
#include "apiserver/status_error.h"

namespace muster::apiserver {

/// Before anything else on a create: the namespace must be there and not be going away.
void check_namespace(Context& context, const Exchange& exchange, std::string_view ns,
                     std::string_view name);

/// Pods are hosts by their names: a name that is no host name is warned of once it is taken.
void warn_of_host_name(Exchange& exchange, const api::Kind& kind, std::string_view name);

/// Finalizers of custom kinds may be without a domain; their writer is told.
void warn_of_finalizers(Exchange& exchange, const api::Kind& kind, const api::Value& object,
                        const api::Value& old);

/// As the API server passes on what a webhook said.
StatusError refused_by_webhook(const api::Admission::Denial& denied);

/// The built-in steps, then the hooks in order. `object` and `old` are in stored form and null as
/// in AdmissionRequest; `object` is changed in place. Throws StatusError on a denial. What a
/// validating webhook refuses is returned instead: on a cluster those are asked last, of what is
/// valid otherwise.
std::optional<api::Admission::Denial> admit(Context& context, Exchange& exchange,
                                            const api::Kind& kind,
                                            api::AdmissionRequest::Operation operation,
                                            std::string_view subresource, api::Value& object,
                                            const api::Value& old);

// The built-in steps, one file for each family.
void admit_pod(Context& context, api::Value& pod, const api::Value& old);
void admit_service(Context& context, const api::Kind& kind, api::Value& service,
                   const api::Value& old);
/// What is asked of a service and not served: its author is told.
void warn_of_service(Exchange& exchange, const api::Value& service);
/// Somebody else has got an address or a port that was promised to this one.
bool has_lost_addresses(const Context& context, const api::Value& service, const api::Value& old);
void admit_rbac(const Context& context, const Exchange& exchange, const api::Kind& kind,
                const api::Value& object, const api::Value& old);

/// What the server gives itself once nobody changes the object any more: a service's addresses, an
/// account's token, a definition's status. Nothing is taken by it: the write does that.
void allot(Context& context, const api::Kind& kind, std::string_view subresource,
           api::Value& object, const api::Value& old);

/// Others were served since this was admitted and allotted: true when what it was given is no
/// longer its own, and it must be written anew. Throws StatusError on a denial.
bool is_past(const Context& context, const api::Kind& kind, std::string_view subresource,
             const api::Value& object, const api::Value& old);

/// True for nodes, which come with their status.
bool keeps_first_status(const api::Kind& kind);

/// What a new object's status starts as: nothing, but for the kinds that say otherwise. A namespace
/// also gets the finalizer that it starts with.
void reset_status(const api::Kind& kind, api::Value& object);

/// Guaranteed, Burstable or BestEffort, by the containers' requests and limits.
std::string quality_class(const api::Value& pod_spec);

}  // namespace muster::apiserver
