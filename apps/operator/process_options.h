// apps/operator/process_options.h - how the operator's process is run: what the command line says,
// else the file, else what is usual.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/operator/endpoints.h"
#include "apps/operator/operator.h"
#include "control/queue/process_settings.h"
#include "kube/lease.h"

namespace muster::on_cluster {

using control::queue::ProcessSettings;

/// Throws Error in words for the user when an address is none.
EndpointOptions endpoints_of(const OperatorOptions& options, const ProcessSettings& process);

/// Of the servers of webhooks and metrics. Throws Error that names what is not known here.
net::TlsLimits tls_of(const ProcessSettings& process);

/// Without identity and clock. Absent: there is no election, this one always works.
std::optional<kube::LeaseOptions> election_of(const OperatorOptions& options,
                                              const ProcessSettings& process);

/// The sections of the file that the operator does not obey.
std::vector<std::string> without_effect(const ProcessSettings& process);

}  // namespace muster::on_cluster
