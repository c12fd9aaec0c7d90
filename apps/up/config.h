// apps/up/config.h - the file of --config: Kueue's Configuration and Muster's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "api/builtin/pod_security_config.h"
#include "apiserver/event_bounds.h"
#include "control/queue/process_settings.h"
#include "control/queue/settings.h"

namespace muster::up {

/// What the file sets.
struct Config {
    control::queue::Settings queues;  // See control/queue/configuration.h.
    control::queue::ProcessSettings process;
    std::vector<agent::ImageMapping> images;  // Before the usual ones.
    std::vector<agent::HostPath> host_paths;  // Checked when the data folder is known.
    std::optional<std::int64_t> pids_limit;   // Processes and threads of a pod.
    api::PodSecurityConfiguration pod_security;
    apiserver::EventBounds event_bounds;
    std::optional<std::size_t> bytes_per_namespace;  // Of objects; absent: by the memory.
};

/// Reads the text of the file `path` (named in errors). Beside what concerns the queues, Muster's
/// own document maps images to environments of this machine:
///
///     apiVersion: muster.dev/v1alpha1
///     kind: Configuration
///     images:
///     - {pattern: "rayproject/ray*", environment: /opt/ray, variables: {KEY: value}}
///     hostPaths:
///     - {path: /data/models}
///     - {path: /data/scratch, writable: true}
///     podPidsLimit: 4096
///     events: {maxCount: 50000, maxBytes: 67108864}
///     objects: {maxBytesPerNamespace: 1073741824}
///     podSecurity:   # Kubernetes' PodSecurityConfiguration; this is what is usual.
///       defaults: {enforce: baseline, warn: baseline}
///       exemptions: {namespaces: [kube-system]}
///
/// `gates` is what --feature-gates says. Throws Error that names every fault with its line and what
/// is allowed.
Config parse_config(const std::string& path, const std::string& text,
                    const std::string& gates = {});

}  // namespace muster::up
