// control/owner.h - owner references, and names that derive from the owner so that a repeated
// create collides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"
#include "kube/cache.h"

namespace muster::control {

/// A controlling owner reference to the object, with blockOwnerDeletion.
api::Value owner_reference(const kube::Object& owner);

/// What made the object, and what made that, as far as it is seen; nearest first, each once.
std::vector<kube::ObjectPtr> ancestors_of(const kube::Cache& seen, const kube::Object& object);

/// The object with this uid owns the object, or something that made it.
bool descends_from(const kube::Cache& seen, const kube::Object& object, std::string_view uid);

/// Five characters of Kubernetes' safe alphabet, made from the owner's uid and `what`: the same
/// always, and others for another owner, purpose or number.
std::string derived_suffix(std::string_view owner_uid, std::string_view what);

}  // namespace muster::control
