// test/fuzz/queues.cpp - Jobs come and go, quotas and cohorts change; after each decision the
// reference says what must hold, a copy plays on without leaving a trace, and a second state that
// heard everything in another order has become the same.
//
// The reference judges the quota tree (cohorts of three levels, re-parenting, circles, limits),
// who may start and who must go, flavors of several resource groups and selectors, partial
// admission, reclaimable pods, checks, and in topologies capacity and whole gangs. It does not
// judge which of several sufficient flavors, places or sets of victims is taken, the order between
// queues, shares and sharing by use, slices and groups of pod sets, seats on nodes, backoffs, and
// readiness; what of these are invariants, broken_invariants does.
#include "test/fuzz/queues.h"

#include <algorithm>
#include <set>
#include <utility>

#include "decide/state_text.h"
#include "test/fuzz/queue_life.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {

namespace {

constexpr std::size_t steps_max = 120;

std::string words_of(const decide::Decision& decision) {
    std::string text;
    for (const auto& admit : decision.admits)
        text += "admit " + admit.workload + decide::text_of(admit.assignment) + "\n";
    for (const auto& evict : decision.evicts)
        text += "evict " + evict.workload + " for " + evict.preemptor + "\n";
    for (const auto& wait : decision.waits)
        text += "wait " + wait.workload + " " +
                std::to_string(static_cast<int>(wait.reason->rule)) + "\n";
    return text;
}

void take(std::string_view input) {
    const auto failure = play_queues(input);
    demand(!failure, failure ? (failure->words + "\n" + failure->scenario).c_str() : "");
}

}  // namespace

void Life::decide_and_check() {
    check_copy();
    std::set<std::string> must_go;
    for (const auto& [id, job] : world.jobs) {
        if (world.must_go(job)) must_go.insert(id);
    }
    // Of a stopped local queue Kueue hears nothing when something ends.
    for (const std::string& name : gave_back) {
        if (world.locals.at(name).stop != decide::StopPolicy::none)
            quiet_until = now + seconds(100);
    }
    gave_back.clear();
    told.cycle(now);
    const decide::Decision decision = decide::decide(state, now);
    const decide::Decision same = decide::decide(other, now);
    const std::string here = decide::text_of(state);
    const std::string there = decide::text_of(other);
    demand_that(here == there, "another order of arrival gives another answer:\n" +
                                   words_of(decision) + "instead of\n" + words_of(same) +
                                   difference(here, there));
    check_admits(decision);
    if (wrong) return;
    check_evicts(decision, must_go);
    if (wrong) return;
    for (const auto& evict : decision.evicts)
        world.jobs.at(evict.workload).state = Job::State::evicting;
    check_victims(decision);
    const decide::Decision again = decide::decide(state, now);
    const std::string rested = decide::text_of(state);
    // Whose several pod sets pass flavors on to each other is found to do so one decision later.
    demand_that(again.admits.empty() && again.evicts.empty() && (has_patient() || rested == here),
                "a state at rest decides again: " + words_of(again) + difference(here, rested));
    decide::decide(other, now);
    check_rest();
    check_own_quota();
    check_sums();
    show(decision);
}

// Most of it is shown by the objects, some writes fail.
void Life::show(const decide::Decision& decision) {
    for (const auto& admit : decision.admits) {
        Job& job = world.jobs.at(admit.workload);
        if (choices.below(16) == 15) {
            let_go(admit.workload);
            tell(admit.workload, decide::WorkloadFailed{admit.workload});
            job.state = Job::State::waiting;
            job.spec.stage = decide::Workload::Stage::admitted;
        } else {
            touched.insert(admit.workload);
            changes.push_back(decide::WorkloadAdmitted{admit.workload, admit.assignment, now});
        }
    }
    for (const auto& evict : decision.evicts) {
        touched.insert(evict.workload);
        changes.push_back(decide::WorkloadEvicted{evict.workload});
    }
}

void Life::step() {
    const std::int64_t actions = 1 + choices.below(3);
    for (std::int64_t i = 0; i < actions; ++i)
        act();
    hear();
    decide_and_check();
    hear();
    if (!wrong && choices.one_in(3)) check_undo();
    now = now + seconds(1 + choices.below(2) * 40);
}

void Life::play() {
    choose_kind();
    make_ground();
    for (std::size_t i = 0; i < steps_max && choices.has() && !wrong; ++i)
        step();
}

std::optional<LifeFailure> play_queues(std::string_view bytes) {
    Life life{Choices(bytes)};
    life.play();
    if (!life.wrong) return std::nullopt;
    return LifeFailure{*life.wrong, life.told.text()};
}

std::string shortest_failure(const std::string& bytes) {
    const std::string shortest =
        shrunk(bytes, [](const std::string& fewer) { return play_queues(fewer).has_value(); });
    const auto failure = play_queues(shortest);
    return failure->words + "\nbytes: " + numbers_of(shortest) + "\n" + failure->scenario;
}

Target queues_target() {
    return {"queues",
            {random_bytes(1, 80, 80), random_bytes(2, 200, 200), random_bytes(3, 400, 400)},
            take};
}

}  // namespace muster::fuzz
