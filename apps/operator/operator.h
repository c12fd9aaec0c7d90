// apps/operator/operator.h - `muster operator`: Muster's controllers on a Kubernetes cluster.
#pragma once

#include <string>

#include "apps/operator/webhooks.h"
#include "kube/http_transport.h"

namespace muster::on_cluster {

/// What the command line says; it goes before what the file says. Empty: not said.
struct OperatorOptions {
    kube::Connection connection;
    std::string config;         // A file of Kueue's Configuration; may be empty.
    std::string feature_gates;  // "A=true,B=false"; not when the file has some.
    bool leader_elect = false;  // Of several operators one works at a time.
    std::string lease_ns;
    std::string lease_name;
    std::string health_address;  // "ADDRESS:PORT", ":PORT"; "0": nowhere.
    std::string metrics_address;
    std::string profile_address;
    WebhookOptions webhooks;
};

/// Runs until SIGTERM or SIGINT; prints `ready` when everything is seen and decided upon. Waits for
/// kinds that the server does not have yet, and says which. With leader election it prints
/// `leading` when its turn has come, and ends with 1 when it is over. Gives the exit code. Throws
/// Error in words for the user when it cannot start. Requires: no other threads yet.
int run_operator(const OperatorOptions& options);

}  // namespace muster::on_cluster
