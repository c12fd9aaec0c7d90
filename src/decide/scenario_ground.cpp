// decide/scenario_ground.cpp - scenarios on decide: what is said goes into a state.
#include <utility>

#include "decide/scenario.h"
#include "decide/why.h"
#include "decide/why_text.h"

namespace muster::decide {

std::optional<std::string> DecideGround::refuses(const Step&) {
    return std::nullopt;
}

std::optional<std::string> DecideGround::take(const Change& change, Time) {
    const auto* failed = std::get_if<WorkloadFailed>(&change);
    show_decided(failed != nullptr ? failed->id : "");
    apply(state_, change);
    return std::nullopt;
}

// By now the objects show what was decided before, but for what could not be written.
void DecideGround::show_decided(const std::string& but) {
    const Decision decided = std::exchange(decided_, {});
    for (const Admit& admit : decided.admits) {
        if (admit.workload != but)
            apply(state_, WorkloadAdmitted{admit.workload, admit.assignment, {}});
    }
    for (const Evict& evict : decided.evicts) {
        if (evict.workload != but) apply(state_, WorkloadEvicted{evict.workload});
    }
}

ScenarioCycle DecideGround::cycle(Time now) {
    show_decided("");
    decided_ = decide(state_, now);
    const Decision& decision = decided_;
    ScenarioCycle came;
    for (const Evict& evict : decision.evicts) {
        std::string text = eviction_reason(evict);
        if (evict.reason == Evict::Reason::preempted)
            text += ": " + preemption_reason(evict.cause) + " for " + evict.preemptor;
        came.evicts.push_back({evict.workload, std::move(text)});
    }
    came.admits = decision.admits;
    came.moves = decision.moves;
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
