// decide/scenario_run.cpp - the table of verbs, and what came of a scenario as text.
#include "decide/scenario_run.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "decide/why_text.h"

namespace muster::decide {

namespace {

std::string padded(std::string_view word) {
    std::string text(word);
    text.resize(std::max<std::size_t>(text.size() + 1, 8), ' ');
    return text;
}

/// A verb: how many names it takes before its options, and what it does.
struct Verb {
    std::size_t names = 0;
    void (Run::*run)(const Step& step, Reading& read) = nullptr;
};

/// All verbs. What is new gets a line here, a line in scenario.h, and a function below.
const std::map<std::string_view, Verb>& verbs() {
    static const std::map<std::string_view, Verb> all = {
        {"flavor", {1, &Run::flavor}},
        {"node", {1, &Run::node}},
        {"topology", {1, &Run::topology}},
        {"namespace", {1, &Run::name_space}},
        {"check", {1, &Run::check}},
        {"cohort", {1, &Run::cohort}},
        {"queue", {1, &Run::queue}},
        {"local", {2, &Run::local}},
        {"submit", {2, &Run::submit}},
        {"pod", {2, &Run::pod}},
        {"gone", {1, &Run::gone}},
        {"admitted", {4, &Run::admitted}},
        {"remove", {2, &Run::remove}},
        {"options", {0, &Run::options}},
        {"finish", {1, &Run::of_workload}},
        {"delete", {1, &Run::of_workload}},
        {"release", {1, &Run::of_workload}},
        {"activate", {1, &Run::of_workload}},
        {"deactivate", {1, &Run::of_workload}},
        {"fail", {1, &Run::of_workload}},
        {"evicted", {1, &Run::of_workload}},
        {"priority", {2, &Run::of_workload}},
        {"reclaim", {3, &Run::of_workload}},
        {"backoff", {2, &Run::of_workload}},
        {"checks", {2, &Run::of_workload}},
        {"gate", {2, &Run::of_workload}},
        {"pods_ready", {1, &Run::of_workload}},
        {"pods_not_ready", {1, &Run::of_workload}},
        {"advance", {1, &Run::advance}},
        {"cycle", {0, &Run::cycle}},
        {"why", {1, &Run::why}},
        {"show", {1, &Run::show}},
        {"order", {1, &Run::order}},
    };
    return all;
}

}  // namespace

void Run::step(const Step& step, Reading& read) {
    refused = ground.refuses(step);
    if (!refused) (this->*verbs().at(step.verb).run)(step, read);
    if (!refused) return;
    read.wrong("'" + step.verb + "' cannot be run on " + std::string(ground.name()) + ": " +
               *refused);
}

void Run::advance(const Step& step, Reading& read) {
    now = now + read.duration(step.names[0]);
}

void Run::why(const Step& step, Reading&) {
    for (const std::string& line : ground.why(step.names[0], now))
        print(line);
}

void Run::order(const Step& step, Reading&) {
    const auto names = ground.order(step.names[0] == "-" ? "" : step.names[0], now);
    print(padded("order") + join(names, " "));
}

void Run::cycle(const Step&, Reading&) {
    if (std::exchange(printed, true)) print("");
    const ScenarioCycle came = ground.cycle(now);
    for (const ScenarioCycle::Said& evict : came.evicts)
        print(padded("evict") + evict.workload + "  " + evict.text);
    for (const Admit& admit : came.admits)
        print(padded("admit") + admit.workload + text_of(admit.assignment));
    for (const Move& move : came.moves)
        print(padded("move") + move.workload + text_of(move.assignment));
    for (const ScenarioCycle::Said& wait : came.waits)
        print(padded("wait") + wait.workload + "  " + wait.text);
    if (came.look_again) print(padded("look") + "at " + to_rfc3339(*came.look_again));
    if (came.admits.empty() && came.moves.empty() && came.evicts.empty() && came.waits.empty() &&
        !came.look_again)
        print("rest");
}

void Run::show(const Step& step, Reading&) {
    const std::string& queue = step.names[0];
    const auto report = ground.show(queue == "-" ? "" : queue);
    if (!report) return print(padded("show") + queue + "  does not exist");
    std::string line = padded("show") + queue + "  pending=" + std::to_string(report->pending) +
                       " admitted=" + std::to_string(report->admitted);
    if (report->reserved > 0) line += " reserved=" + std::to_string(report->reserved);
    for (const auto& [flavor, resources] : report->flavors) {
        for (const auto& [resource, use] : resources) {
            line += "  " + resource + "@" + flavor + "=" + amount_text(resource, use.used) + "/" +
                    amount_text(resource, use.nominal);
            if (use.borrowed.value > 0) line += " borrowed " + amount_text(resource, use.borrowed);
        }
    }
    print(line);
}

std::string text_of(const Assignment& assignment) {
    std::string text;
    for (const PodSetAssignment& set : assignment.pod_sets) {
        text += "  " + set.name + "*" + std::to_string(set.count);
        if (set.topology) {
            text += " on";
            for (const auto& domain : set.topology->domains)
                text += " " + join(domain.values, "/") + ":" + std::to_string(domain.count);
        }
        for (const auto& [resource, flavor] : set.flavors) {
            text +=
                " " + resource + "=" + amount_text(resource, set.usage.at(resource)) + "@" + flavor;
        }
    }
    return text;
}

std::optional<std::size_t> names_of_verb(std::string_view verb) {
    const auto found = verbs().find(verb);
    if (found == verbs().end()) return std::nullopt;
    return found->second.names;
}

std::variant<std::string, ScenarioError> run_scenario(const Scenario& scenario,
                                                      ScenarioGround& ground) {
    Run run{ground};
    for (const Step& step : scenario.steps) {
        Reading read(step);
        run.step(step, read);
        if (read.error()) return *read.error();
        if (const auto broken = ground.broken())
            return ScenarioError{step.line, "invariant: " + *broken};
    }
    return std::move(run.out);
}

}  // namespace muster::decide
