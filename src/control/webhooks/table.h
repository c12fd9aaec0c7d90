// control/webhooks/table.h - which webhooks there are: for each kind its name, its path, and what
// of it they are asked about; the names and paths are those of the originals.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "control/queue/settings.h"

namespace muster::control::webhooks {

/// The two ways in which an API server asks.
enum class Phase { mutating, validating };

/// One webhook of a configuration.
struct Webhook {
    /// Which objects are asked about.
    enum class Scope {
        everywhere,  // All of them: Kueue's own kinds.
        jobs,        // Those in namespaces where jobs are queued.
        queued,      // Of these only what names a queue.
        grouped,     // Of these only pods of a LeaderWorkerSet: it names the queue, they do not.
    };
    Phase phase = Phase::validating;
    std::string name;                           // "vjob.kb.io"
    std::string path;                           // "/validate-batch-v1-job"
    std::vector<api::GroupResource> resources;  // Of one kind, in all its groups.
    std::string version;                        // In which objects come.
    std::vector<std::string_view>
        subresources;                          // Beside the objects themselves: "status", "scale".
    std::vector<std::string_view> operations;  // "CREATE", "UPDATE"
    Scope scope = Scope::everywhere;
};

/// All of them, by name, for the jobs that the rules speak of.
std::vector<Webhook> webhooks_for(const queue::JobRules& rules);

}  // namespace muster::control::webhooks
