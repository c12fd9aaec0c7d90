// control/cluster/endpoint_slice.h - which pods are behind a service: the slices that the agent's
// DNS and the service proxy read.
#pragma once

#include "control/controller.h"

namespace muster::control::cluster {

/// Whether a pod has all labels that a Service selects by. Requires: the Service has a selector.
bool selects(const kube::Object& service, const kube::Object& pod);

/// Keeps EndpointSlices for each Service with a selector: every pod with an address that has not
/// finished, with ready, serving and terminating; one slice for each set of resolved ports, at most
/// 100 endpoints each. Names follow from the Service's uid.
Controller endpoint_slice_controller();

}  // namespace muster::control::cluster
