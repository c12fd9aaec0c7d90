// apps/up/shared_users.h - who may run pods where all pods run as Muster's own user.
#pragma once

#include <string>
#include <vector>

#include "api/admission.h"

namespace muster::up {

/// Where pods have no users of their own, only who started Muster may run them: pods of others
/// would act with that user's rights wherever the list of what pods see has a gap. Refuses objects
/// of others that Muster's controllers turn into pods (403), with what to do.
api::AdmissionHook refuse_pods_of_others();

/// Why somebody of these groups may not run commands in the pods; empty for who started Muster.
std::string refuse_connections_of_others(const std::vector<std::string>& groups);

}  // namespace muster::up
