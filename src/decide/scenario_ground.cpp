// decide/scenario_ground.cpp - scenarios on decide: what is said goes into a state.
#include "decide/scenario.h"
#include "decide/why.h"
#include "decide/why_text.h"

namespace muster::decide {

std::optional<std::string> DecideGround::refuses(const Step&) {
    return std::nullopt;
}

std::optional<std::string> DecideGround::take(const Change& change, Time) {
    apply(state_, change);
    return std::nullopt;
}

ScenarioCycle DecideGround::cycle(Time now) {
    Decision decision = decide(state_, now);
    ScenarioCycle came;
    for (const Evict& evict : decision.evicts)
        came.evicts.push_back({evict.workload, eviction_reason(evict)});
    came.admits = std::move(decision.admits);
    came.moves = std::move(decision.moves);
    for (const Wait& wait : decision.waits) {
        came.waits.push_back({wait.workload, condition_reason(*wait.reason) + ": " +
                                                 condition_message(*wait.reason)});
    }
    came.look_again = decision.look_again;
    return came;
}

std::vector<std::string> DecideGround::why(const std::string& workload, Time now) {
    return lines(decide::why(state_, workload, now));
}

std::optional<QueueReport> DecideGround::show(const std::string& queue) {
    return report_queue(state_, queue);
}

std::vector<std::string> DecideGround::order(const std::string& queue, Time now) {
    return waiting_in(state_, queue, now);
}

std::optional<std::string> DecideGround::broken() {
    std::vector<std::string> broken = broken_invariants(state_);
    if (broken.empty()) return std::nullopt;
    return std::move(broken.front());
}

}  // namespace muster::decide
