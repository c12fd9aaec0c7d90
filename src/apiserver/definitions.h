// apiserver/definitions.h - CustomResourceDefinitions at work: which names they get, when their
// kinds are served, and how they go with all their objects.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/exchange.h"

namespace muster::apiserver {

bool is_definition(const api::Kind& kind);
/// Of a kind of the tables: "workloads.kueue.x-k8s.io".
bool is_own_definition(std::string_view name);

/// The status that the server gives a definition: names accepted, conditions, stored versions.
/// Of kinds that the server has anyway, the definition is kept and changes nothing.
void set_definition_status(Context& context, api::Value& crd);
/// Others have got or given back names since the status was set: it would be another one now. `old`
/// is what was there before, null when nothing was.
bool has_other_names(const Context& context, const api::Value& crd, const api::Value& old);

/// On its way to be deleted: it stays until its objects are gone.
void begin_definition_removal(Context& context, api::Value& crd);

/// The index of definitions: a kind is served, changed or gone. `crd` is null when it is removed.
void put_definition(Context& context, std::string_view name, const api::Value& crd,
                    store::Revision revision);

/// An object was removed: the definition that waited for it may go.
void after_removal(Context& context, const api::GroupResource& resource);

/// Throws StatusError when the kind's definition is being deleted.
void check_not_ending(const Context& context, const api::Kind& kind, std::string_view name);

}  // namespace muster::apiserver
