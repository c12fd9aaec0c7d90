// control/cluster/namespace.h - the end and the beginning of namespaces: deletion of all that is in
// one, and what each one has from the start.
#pragma once

#include <string>

#include "control/controller.h"

namespace muster::control::cluster {

/// Empties terminating namespaces, pods first, and finalizes them when nothing is left. The
/// conditions say what remains.
Controller namespace_controller();

/// Keeps ServiceAccount `default` and ConfigMap `kube-root-ca.crt` in every active namespace.
Controller namespace_contents_controller(std::string certificate_authority_pem);

}  // namespace muster::control::cluster
