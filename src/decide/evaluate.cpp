// decide/evaluate.cpp - the one place where quota and nodes are asked about a waiting workload.
#include "decide/evaluate.h"

#include <utility>

namespace muster::decide {

namespace {

Fit fit_without_quota(const Shape& shape) {
    Fit fit;
    for (const PodSetNeed& pod_set : shape.pod_sets)
        fit.pod_sets.push_back({pod_set.count, {}});
    return fit;
}

WaitReason reason_of(GangRefusal refusal) {
    WaitReason reason;
    reason.rule = refusal.never ? WaitReason::Rule::exceeds_nodes : WaitReason::Rule::nodes;
    reason.pod_set = std::move(refusal.pod_set);
    reason.placed = refusal.placed;
    reason.pods = refusal.pods;
    reason.refusals = std::move(refusal.refusals);
    reason.lacks = std::move(refusal.lacks);
    return reason;
}

}  // namespace

std::variant<Fit, WaitReason> evaluate(const World& world, Ledger& ledger, QueueId queue,
                                       ClassKey key) {
    const Shape& shape = world.shapes.of(key.shape);
    Fit fit;
    WaitReason reason;
    if (queue == no_queue) {
        fit = fit_without_quota(shape);
    } else {
        FitAnswer answer = choose_flavors(world.tree, world.book, world.queue(queue).plan, shape);
        if (!answer.fit) {
            reason.rule = answer.no_fit.rule;
            reason.obstacles = std::move(answer.no_fit.obstacles);
            reason.cluster_queue = world.queue_names.name_of(queue);
            return reason;
        }
        fit = std::move(*answer.fit);
    }
    if (shape.binds == Workload::Binds::quota) return fit;
    auto refusal = ledger.refusal(shape, world.options.capacity);
    if (!refusal) return fit;
    reason = reason_of(std::move(*refusal));
    reason.cluster_queue = world.queue_names.name_of(queue);
    return reason;
}

}  // namespace muster::decide
