// test/fuzz/scenario.cpp - The scenario language, and what it says on decide.
#include "decide/scenario.h"

#include <variant>

#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const auto parsed = decide::parse_scenario(input);
    const auto* scenario = std::get_if<decide::Scenario>(&parsed);
    if (scenario == nullptr) return;
    decide::DecideGround ground;
    const auto came = decide::run_scenario(*scenario, ground);
    const auto* error = std::get_if<decide::ScenarioError>(&came);
    if (error == nullptr) return;
    demand(!error->text.empty() && error->line > 0, "an error says where and what");
    demand(!error->text.starts_with("invariant"), "the invariants hold");
}

}  // namespace

Target scenario_target() {
    return {
        "scenario",
        {"queue q cpu=4 cohort=c\nsubmit a q cpu=3 priority=2\nsubmit b q cpu=2 "
         "count=2\ncycle\nwhy b\nfinish a\ncycle\nshow q\n----\n",
         "node n1 cpu=2 label=a:b taint=k:v:NoSchedule\nsubmit a - cpu=2 tolerate=all\ncycle\npod "
         "d/a n1 cpu=2 of=a\ngone d/a\nrelease a\norder -\ncycle\n----\n",
         "flavor f label=a:b\nqueue q strict flavor=f cpu=1 group flavor=default pods=3\nlocal x/y "
         "q stop=hold\nsubmit a y ns=x cpu=1 set=w cpu=1 count=3\ndeactivate a\ncycle\nremove "
         "flavor f\nadvance 5s\nbackoff a 3s\n----\n"},
        take};
}

}  // namespace muster::fuzz
