// decide/scenario.h - behaviour as text: the scenario language, read into steps and run on decide.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace muster::decide {

// A scenario is a list of steps, one a line: a verb, names, and options `key=value` or plain words.
// `#` starts a comment. Below a line `----` stands what must come out.
//
//   flavor     NAME [label=K:V]... [taint=K:V:EFFECT]... [tolerate=K:V:EFFECT]...
//   node       NAME RESOURCE=AMOUNT... [label=..]... [taint=..]... [cordoned]
//   namespace  NAME [label=K:V]...
//   cohort     NAME [parent=NAME] [QUOTAS]
//   queue      NAME [strict] [stop=hold|hold_and_drain] [cohort=NAME] [namespaces=none|K:V] QUOTAS
//              QUOTAS: RESOURCE=AMOUNT[,borrow=AMOUNT][,lend=AMOUNT]..., each for the flavor named
//              by the last `flavor=NAME` (else `default`); `group` starts another resource group.
//              The flavor `default` and a local queue default/NAME come with it.
//   local      NS/NAME QUEUE [stop=hold|hold_and_drain]
//   submit     NAME QUEUE [RESOURCE=AMOUNT]... [count=N] [priority=N] [slope=N.N] [gang]
//              [ns=NS] [select=K:V]... [affinity=K:V]... [tolerate=K:V:EFFECT | tolerate=all]
//              [set=NAME ...]...   QUEUE `-` is none, which means `gang`: the nodes must have room.
//              Each submit moves the clock on by a second.
//   pod        NAME NODE RESOURCE=AMOUNT... [of=WORKLOAD] [set=NAME]
//   gone       POD
//   finish | delete | release | activate | deactivate | fail | evicted   NAME
//   priority   NAME N          reclaim  NAME SET N       backoff  NAME DURATION
//   admitted   NAME QUEUE SET COUNT RESOURCE=AMOUNT@FLAVOR...
//   remove     queue|local|flavor|node|cohort NAME
//   options    [capacity=per_node|aggregate] [order=priority|fifo]
//   advance    DURATION
//   cycle                      decides, and prints what changes
//   why        NAME            prints the explanation
//   show       QUEUE           prints counts and usage of a cluster queue
//   order      QUEUE           prints who waits in it, first first

/// One line of a scenario.
struct Step {
    struct Option {
        std::string key;
        std::string value;  // Empty for a plain word.
    };
    std::int64_t line = 0;
    std::string verb;
    std::vector<std::string> names;
    std::vector<Option> options;
};

struct Scenario {
    std::vector<Step> steps;
    std::string expected;
};

/// What is wrong with a scenario, and where.
struct ScenarioError {
    std::int64_t line = 0;
    std::string text;
};

std::variant<Scenario, ScenarioError> parse_scenario(std::string_view text);

/// Runs the steps on a fresh state, checks the invariants after each, and returns all that was
/// printed, or the first error.
std::variant<std::string, ScenarioError> run_scenario(const Scenario& scenario);

}  // namespace muster::decide
