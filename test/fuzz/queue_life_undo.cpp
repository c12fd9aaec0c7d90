// test/fuzz/queue_life_undo.cpp - what a copy does, and what is taken back, leaves no trace: whole
// states are compared as text, byte for byte.
#include <utility>

#include "decide/state_text.h"
#include "decide/why.h"
#include "test/fuzz/queue_life.h"

namespace muster::fuzz {

using decide::Change;

namespace {

// What was said of those behind the one in front is said anew when their queue has changed.
std::string without_told(const std::string& text) {
    std::string kept;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at) + 1;
        if (text.compare(at, 7, "  told ") != 0) kept.append(text, at, end - at);
        at = end;
    }
    return kept;
}

}  // namespace

std::string difference(const std::string& a, const std::string& b) {
    std::size_t at = 0;
    while (at < a.size() && at < b.size() && a[at] == b[at])
        ++at;
    const std::size_t line = at == 0 ? 0 : a.rfind('\n', at - 1) + 1;
    return "\n- " + a.substr(line, a.find('\n', at) - line) + "\n+ " +
           b.substr(line, b.find('\n', at) - line);
}

// Its own decisions, and all that is asked of it to explain why somebody waits.
void Life::check_copy() {
    const std::string before = decide::text_of(state);
    decide::State copy = state;
    demand_that(decide::text_of(copy) == before, "a copy is another state");
    if (!world.jobs.empty()) {
        apply(copy, decide::WorkloadFinished{world.jobs.begin()->first});
        decide::decide(copy, now + seconds(70));
        decide::why(state, world.jobs.rbegin()->first, now);
    }
    apply(copy, decide::QueueRemoved{"q0"});
    decide::decide(copy, now + seconds(80));
    const std::string after = decide::text_of(state);
    demand_that(after == before,
                "a copy that went its own way has left a trace:" + difference(before, after));
}

// Something that happens, and what takes it back.
std::vector<Life::Pair> Life::some_pairs() {
    std::vector<Pair> pairs;
    const auto add = [&](Change change, Change back) {
        pairs.emplace_back(std::move(change), std::move(back));
    };
    const auto local = choices.one_of(world.locals)->second;
    switch (choices.below(10)) {
        case 0: {
            decide::Workload made = some_workload();
            made.id = "trial";
            add(decide::WorkloadSet{made}, decide::WorkloadRemoved{"trial"});
            break;
        }
        case 1:
            if (world.queues.contains(local.name)) {
                const auto& queue = world.queues.at(local.name);
                // Whom it preempts and its cohort stay: that decides who is equal to whom, and what
                // was last said of equal ones is forgotten with it.
                decide::ClusterQueue made = some_queue(local.name);
                made.preemption = queue.preemption;
                made.cohort = queue.cohort;
                add(decide::QueueSet{made}, decide::QueueSet{queue});
                add(decide::QueueRemoved{local.name}, decide::QueueSet{queue});
            }
            break;
        case 2:
            add(decide::QueueSet{some_queue("trial")}, decide::QueueRemoved{"trial"});
            break;
        case 3:
            if (!world.cohorts.empty()) {
                const auto& cohort = choices.one_of(world.cohorts)->second;
                add(decide::CohortSet{some_cohort(cohort.name)}, decide::CohortSet{cohort});
                add(decide::CohortRemoved{cohort.name}, decide::CohortSet{cohort});
            }
            break;
        case 4: {
            auto stopped = local;
            stopped.stop = decide::StopPolicy::hold_and_drain;
            add(decide::LocalQueueSet{stopped}, decide::LocalQueueSet{local});
            add(decide::LocalQueueRemoved{local.ns, local.name}, decide::LocalQueueSet{local});
            break;
        }
        case 5:
            add(decide::FlavorRemoved{"f1"}, decide::FlavorSet{world.flavors.at("f1")});
            break;
        case 6:
            add(decide::AdmissionCheckRemoved{"k"}, decide::AdmissionCheckSet{world.checks["k"]});
            break;
        case 7:
            add(decide::PodBound{"default/trial", "n1", {}, {}, {}},
                decide::PodGone{"default/trial"});
            add(decide::NodeSet{some_node("trial")}, decide::NodeRemoved{"trial"});
            break;
        case 8:
            if (has_topology)
                add(decide::NodeSet{some_node("n1")}, decide::NodeSet{world.nodes.at("n1")});
            break;
        default:
            if (!world.jobs.empty() && !choices.one_of(world.jobs)->second.removed) {
                decide::Workload spec = choices.one_of(world.jobs)->second.spec;
                const decide::Workload before = spec;
                if (world.jobs.at(spec.id).removed) break;
                spec.activity = decide::Workload::Activity::deactivated;
                spec.priority += 1;
                add(decide::WorkloadSet{spec}, decide::WorkloadSet{before});
            }
    }
    return pairs;
}

// Before anybody decides: the next decision finds all as if nothing had been. Where several pod
// sets pass flavors on to each other, when that is found out depends on who was tried how often.
void Life::check_undo() {
    if (has_patient()) return;
    for (const auto& [change, back] : some_pairs()) {
        decide::State plain = state;
        decide::State moved = state;
        // Whoever is tried again learns the numbers of now: let that be everybody in both.
        for (decide::State* each : {&plain, &moved}) {
            for (const auto& [name, flavor] : world.flavors) {
                apply(*each, decide::FlavorRemoved{name});
                apply(*each, decide::FlavorSet{flavor});
            }
        }
        apply(moved, change);
        apply(moved, back);
        decide::decide(plain, now);
        decide::decide(moved, now);
        const std::string expected = without_told(decide::text_of(plain));
        const std::string got = without_told(decide::text_of(moved));
        if (expected == got || wrong) continue;
        decide::ScenarioWriter words;
        words.write(change, decide::scenario_start);
        words.write(back, decide::scenario_start);
        demand_that(false, "what was taken back has left a trace: " + words.text() +
                               difference(expected, got));
    }
}

}  // namespace muster::fuzz
