// decide/why_text.h - the one place where reasons become words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/amount.h"
#include "decide/decision.h"
#include "decide/why.h"

namespace muster::decide {

/// Kueue's reason of QuotaReserved=False: "WaitingForQuota", "NoMatchingFlavor", ...
std::string condition_reason(const WaitReason& reason);

/// Kueue's message of QuotaReserved=False, in its words.
std::string condition_message(const WaitReason& reason);

/// Kueue's reason of Evicted=True: "Deactivated", "ClusterQueueStopped", "LocalQueueStopped",
/// "Preempted".
std::string eviction_reason(const Evict& evict);
std::string eviction_message(const Evict& evict);

/// Kueue's reason of Preempted=True: "InClusterQueue", "InCohortReclamation", ...
std::string preemption_reason(PreemptionCause cause);

/// One sentence for people, with numbers: what is needed, what is free, who holds the rest.
std::string sentence(const Explanation& explanation);

/// "raise the quota of cpu in flavor default of ClusterQueue q by 2"; empty for no remedy.
std::string change_text(const Remedy& remedy);

/// "would start it now: raise the quota of ...", or why nothing would.
std::string remedy_text(const Explanation& explanation);

/// The whole explanation as lines of text, for `muster why`.
std::vector<std::string> lines(const Explanation& explanation);

/// "3050m" for cpu, "36Gi" for memory, "5" for the rest.
std::string amount_text(std::string_view resource, Amount amount);

}  // namespace muster::decide
