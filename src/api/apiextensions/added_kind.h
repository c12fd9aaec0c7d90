// api/apiextensions/added_kind.h - a CustomResourceDefinition as a kind of this server.
#pragma once

#include <string_view>

#include "api/kind.h"
#include "api/value.h"

namespace muster::api {

/// Clients may use its objects.
bool is_established(const Value& crd);
/// "True", "False", "Unknown"; empty when it is not there.
std::string_view condition_of(const Value& crd, std::string_view type);

/// What it is a definition of.
GroupResource resource_of_crd(const Value& crd);
/// The kind without its schemas: names and versions, for clients.
Kind names_of_added(const Value& crd);
/// The kind with its served versions. Requires: a valid definition, at least one version served.
Kind added_kind(const Value& crd);

/// The versions in the order of discovery: the newest stable one first, then betas and alphas.
bool is_preferred_version(std::string_view a, std::string_view b);

}  // namespace muster::api
