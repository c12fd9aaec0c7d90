// decide/evaluate.h - tries one waiting workload: does it fit now, whole or in part, and if not,
// whom would it have to preempt, or why does it wait.
#pragma once

#include <memory>
#include <vector>

#include "decide/preempt/victims.h"
#include "decide/world.h"

namespace muster::decide {

/// What is tried, and how.
struct Try {
    enum class Preempting { considered, left_out };
    enum class Reasons { told, left_out };
    QueueId queue{};
    ClassKey key;
    WorkloadId workload{};                 // One of the class: whose priority and age count.
    const FlavorMemory* memory = nullptr;  // Null: all flavors.
    const Fit* pinned = nullptr;           // Not null: only the flavors of this fit.
    Preempting preempting = Preempting::considered;
    bool patient = false;  // See FlavorSearch.
    Reasons reasons = Reasons::told;
};

/// What came of it.
struct Attempt {
    using Mode = FlavorAnswer::Mode;
    Mode mode = Mode::no_fit;
    Fit fit;                      // Unless no_fit.
    std::vector<Victim> victims;  // With preempt; empty: it may preempt nobody, or not enough.
    std::unique_ptr<WaitReason> reason;  // Null when it fits, or reasons are left out.
    FlavorMemory memory;                 // Not empty: other flavors are left to be tried.
    bool waits_to_be_free = false;       // See FlavorAnswer.

    /// It would have to preempt, and may preempt nobody, or not enough.
    bool preempts_in_vain() const { return mode == Mode::preempt && victims.empty(); }
    /// It starts now, or when its victims have gone.
    bool has_way() const { return mode != Mode::no_fit && !preempts_in_vain(); }
};

/// Tries it against quota, then against nodes. `ledger` is the world's or a copy of it: it is left
/// as it was, but for promised pods that find a seat meanwhile. The scene's tree is left as it was.
Attempt evaluate(const Scene& scene, Ledger& ledger, const Try& what);

}  // namespace muster::decide
