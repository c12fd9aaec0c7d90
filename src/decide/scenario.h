// decide/scenario.h - behaviour as text: the scenario language, read into steps and run on decide,
// on the simulated world, on anything that takes what a scenario says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "decide/cycle.h"

namespace muster::decide {

// A scenario is a list of steps, one a line: a verb, names, and options `key=value` or plain words.
// `#` starts a comment. Below a line `----` stands what must come out. A scenario runs on every
// ground (decide, sim) unless its first step is `on GROUND...`; a ground refuses by name what has
// no meaning there.
//
//   flavor     NAME [label=K:V]... [taint=K:V:EFFECT]... [tolerate=K:V:EFFECT]... [topology=NAME]
//   topology   NAME level=LABEL...   The label `host` is kubernetes.io/hostname.
//   node       NAME RESOURCE=AMOUNT... [label=..]... [taint=..]... [cordoned] [notready]
//              Its name is its hostname label.
//   namespace  NAME [label=K:V]...
//   check      NAME [inactive]   An admission check, and whether anybody answers it.
//   cohort     NAME [parent=NAME] [weight=N.N] [QUOTAS]
//   queue      NAME [strict] [stop=hold|hold_and_drain] [cohort=NAME] [namespaces=none|K:V]
//              [within=lower|lower_or_newer] [reclaim=lower|any] [while_borrowing=lower[:PRIORITY]]
//              [when_can_borrow=next] [when_can_preempt=stop] [prefer=borrowing|preemption]
//              [weight=N.N] [by_use] [check=NAME[:FLAVOR,...]]... QUOTAS
//              QUOTAS: RESOURCE=AMOUNT[,borrow=AMOUNT][,lend=AMOUNT]..., each for the flavor named
//              by the last `flavor=NAME` (else `default`); `group` starts another resource group.
//              The flavor `default` and a local queue default/NAME come with it.
//   local      NS/NAME QUEUE [stop=hold|hold_and_drain] [weight=N.N]
//   submit     NAME QUEUE [RESOURCE=AMOUNT]... [count=N] [priority=N] [slope=N.N] [gang]
//              [ns=NS] [select=K:V]... [affinity=K:V]... [tolerate=K:V:EFFECT | tolerate=all]
//              [min=N] [gated] [gates=WHO]
//              [required=LABEL | preferred=LABEL | unconstrained] [slice=LABEL:SIZE]...
//              [group=NAME] [set=NAME ...]...   QUEUE `-` is none, which means `gang`: the nodes
//              must have room. Each submit moves the clock on by a second.
//   pod        NAME NODE RESOURCE=AMOUNT... [of=WORKLOAD] [set=NAME]
//   gone       POD
//   finish | delete | release | activate | deactivate | fail | evicted   NAME
//   checks     NAME pending|passed|failed      pods_ready|pods_not_ready   NAME
//   gate       NAME WHO        leaves these admission gates closed; `-` opens all
//   priority   NAME N          reclaim  NAME SET N       backoff  NAME DURATION
//   admitted   NAME QUEUE SET COUNT RESOURCE=AMOUNT@FLAVOR...
//   remove     queue|local|flavor|node|cohort|topology|check NAME
//   options    [capacity=per_node|aggregate] [order=priority|fifo] [undeclared=ignore]
//              [fair_sharing[=final|initial|final,initial]] [blocking=until_pods_ready]
//              [share_use=HALFLIFE[,SAMPLING]] [use_weight=RESOURCE:N.N]...
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
    /// The grounds that it runs on: decide, sim (also with faults), calm (sim without); empty: all.
    std::vector<std::string> on;
    std::vector<Step> steps;
    std::string expected;
};

/// What is wrong with a scenario, and where.
struct ScenarioError {
    std::int64_t line = 0;
    std::string text;
};

std::variant<Scenario, ScenarioError> parse_scenario(std::string_view text);

/// How many names a verb takes before its options; absent when there is no such verb.
std::optional<std::size_t> names_of_verb(std::string_view verb);

/// When a scenario begins: 2020-01-01T00:00:00Z.
constexpr Time scenario_start{1'577'836'800'000'000'000};

/// What one cycle changed.
struct ScenarioCycle {
    struct Said {
        std::string workload;
        std::string text;
    };
    std::vector<Said> evicts;
    std::vector<Admit> admits;
    std::vector<Move> moves;
    std::vector<Said> waits;
    std::optional<Time> look_again;
};

/// "  head*1 cpu=1@default  worker*2 cpu=2@default"
std::string text_of(const Assignment& assignment);

/// What a scenario runs on. Each thing that is said arrives as a change, with the scenario's clock.
class ScenarioGround {
public:
    virtual ~ScenarioGround() = default;

    /// The word by which files name it.
    virtual std::string_view name() const = 0;
    /// Why this step has no meaning here; absent when it has. Asked before each step.
    virtual std::optional<std::string> refuses(const Step& step) = 0;
    /// Something has happened. A sentence when that cannot happen here.
    virtual std::optional<std::string> take(const Change& change, Time now) = 0;
    /// Decides until nothing moves any more.
    virtual ScenarioCycle cycle(Time now) = 0;
    virtual std::vector<std::string> why(const std::string& workload, Time now) = 0;
    /// The empty name is what has no queue. Absent when there is no such queue.
    virtual std::optional<QueueReport> show(const std::string& queue) = 0;
    /// Who waits in a cluster queue, first first.
    virtual std::vector<std::string> order(const std::string& queue, Time now) = 0;
    /// An invariant that does not hold. Asked after each step.
    virtual std::optional<std::string> broken() = 0;
};

/// Runs the steps on a fresh ground and returns all that was printed, or the first error.
std::variant<std::string, ScenarioError> run_scenario(const Scenario& scenario,
                                                      ScenarioGround& ground);

/// The ground that is decide alone: changes go into a state, a cycle is `decide`.
class DecideGround : public ScenarioGround {
public:
    std::string_view name() const override { return "decide"; }
    std::optional<std::string> refuses(const Step& step) override;
    std::optional<std::string> take(const Change& change, Time now) override;
    ScenarioCycle cycle(Time now) override;
    std::vector<std::string> why(const std::string& workload, Time now) override;
    std::optional<QueueReport> show(const std::string& queue) override;
    std::vector<std::string> order(const std::string& queue, Time now) override;
    std::optional<std::string> broken() override;

private:
    void show_decided(const std::string& but);

    State state_;
    Decision decided_;  // What the objects do not show yet.
};

}  // namespace muster::decide
