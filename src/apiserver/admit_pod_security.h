// apiserver/admit_pod_security.h - Pod Security Admission: namespaces say which pods they take.
#pragma once

#include "apiserver/exchange.h"

namespace muster::apiserver {

/// Asked of an object that is valid otherwise. `old` is null on a create. Refuses pods that break
/// what their namespace enforces and labels of namespaces that cannot be read; warns of pods and
/// templates of pods that break what the namespace warns of, and, of a namespace that becomes
/// stricter, of the pods in it. Throws StatusError: 403, 422.
void admit_pod_security(Context& context, Exchange& exchange, const api::Kind& kind,
                        std::string_view subresource, const api::Value& object,
                        const api::Value& old);

}  // namespace muster::apiserver
