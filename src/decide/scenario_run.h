// decide/scenario_run.h - one scenario while its steps run; only the scenario_*.cpp files include
// this.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/scenario.h"
#include "decide/scenario_read.h"

namespace muster::decide {

/// Words about preemption, the search for flavors and sharing; false when the word is none.
bool read_policy(ClusterQueue& queue, const Step::Option& option, Reading& read);
bool read_sharing(Options& options, const Step::Option& option, Reading& read);
FairWeight read_weight(std::string_view text, Reading& read);

/// One scenario while its steps run. It knows what was said, and nothing of what it runs on.
/// The label that a scenario means: `host` is short for the hostname.
std::string level_label(const std::string& word);

struct Run {
    ScenarioGround& ground;
    Time now = scenario_start;
    std::map<std::string, Workload> workloads = {};
    std::map<std::string, ClusterQueue> queues = {};
    std::string out = {};
    bool printed = false;
    std::optional<std::string> refused = {};

    void step(const Step& step, Reading& read);

    void flavor(const Step& step, Reading& read);
    void topology(const Step& step, Reading& read);
    void node(const Step& step, Reading& read);
    void name_space(const Step& step, Reading& read);
    void check(const Step& step, Reading& read);
    void queue(const Step& step, Reading& read);
    void cohort(const Step& step, Reading& read);
    void local(const Step& step, Reading& read);
    void submit(const Step& step, Reading& read);
    void pod(const Step& step, Reading& read);
    void admitted(const Step& step, Reading& read);
    void remove(const Step& step, Reading& read);
    void options(const Step& step, Reading& read);
    void gone(const Step& step, Reading& read);
    void of_workload(const Step& step, Reading& read);
    void advance(const Step& step, Reading& read);
    void cycle(const Step& step, Reading& read);
    void why(const Step& step, Reading& read);
    void show(const Step& step, Reading& read);
    void order(const Step& step, Reading& read);
    std::vector<ResourceGroup> quotas(const std::vector<Step::Option>& options, Reading& read);

    void print(const std::string& line) { out += line + "\n"; }
    void take(const Change& change) {
        if (!refused) refused = ground.take(change, now);
    }
    void set(const Workload& workload) { take(WorkloadSet{workload}); }
};

}  // namespace muster::decide
