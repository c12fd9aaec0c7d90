// agent/pod_refusal.h - what a pod asks for that this machine does not do: said before anything of
// it starts, never ignored.
#pragma once

#include <string>

#include "agent/identity.h"
#include "api/value.h"

namespace muster::agent {

/// The sentence for the container's status and the pod's event: what is not supported and what to
/// do instead; empty when nothing of it is asked for. `users`: whether pods have users of their
/// own.
std::string refusal_of(const api::Value& pod, const api::Value& container, PodUsers users);

}  // namespace muster::agent
