// decide/evaluate.h - does a waiting workload fit now: quota first, then nodes; the fit or the
// reason.
#pragma once

#include <variant>

#include "decide/world.h"

namespace muster::decide {

/// Tries one class of waiting workloads of a queue. `ledger` is the world's or a copy of it: it is
/// left as it was, but for promised pods that find a seat meanwhile.
std::variant<Fit, WaitReason> evaluate(const World& world, Ledger& ledger, QueueId queue,
                                       ClassKey key);

}  // namespace muster::decide
