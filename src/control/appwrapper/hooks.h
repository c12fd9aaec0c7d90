// control/appwrapper/hooks.h - what an AppWrapper must be to come in: what it wraps is valid, in
// its namespace, and its author may create it.
#pragma once

#include <vector>

#include "api/admission.h"

namespace muster::control::appwrapper {

/// Refuses wrapped objects that are of an unknown kind, invalid, AppWrappers themselves, roles or
/// bindings, or meant for another namespace.
api::Admission check_templates(const api::AdmissionRequest& request);

/// Whoever creates an AppWrapper, or changes what it wraps, needs the right to create all of that.
api::Admission check_rights(const api::AdmissionRequest& request);

/// Refuses to change what is wrapped once it is made.
api::Admission check_change(const api::AdmissionRequest& request);

/// Warns of GenericItems[].replicas, which nothing obeys.
api::Admission warn_of_replicas(const api::AdmissionRequest& request);

/// All of them, in order.
std::vector<api::AdmissionHook> admission_hooks();

}  // namespace muster::control::appwrapper
