// test/fuzz/queue_life.h - one random life of queues: what happens in it, and what must hold after
// each decision.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/choices.h"
#include "decide/scenario_write.h"
#include "test/fuzz/queue_reference.h"

namespace muster::fuzz {

/// Jobs come and go, quotas, cohorts, checks and nodes change. Each step is a few of these and a
/// decision; what was decided is then shown by the objects, but for some writes that fail.
struct Life {
    using Job = QueueReference::Job;

    Choices choices;
    QueueReference world{};
    decide::Options options{};
    decide::State state{};
    decide::State other{};  // Hears the same between two decisions from last to first.
    decide::ScenarioWriter told{};
    std::vector<decide::Change> changes{};
    std::set<std::string> touched{};  // Objects with a change already: their order counts.
    bool ordered = false;             // Then so does that of all.
    Time now = decide::scenario_start;
    Time quiet_until{};                 // Quota that came back unheard is given out by then.
    std::set<std::string> gave_back{};  // Local queues whose jobs did, since the last decision.
    bool has_topology = false;
    bool has_nodes = false;  // Of some jobs the pods must have room there, all together.
    std::int64_t jobs_made = 0;
    std::optional<std::string> wrong{};

    void demand_that(bool holds, const std::string& words) {
        if (!holds && !wrong) wrong = words;
    }

    void play();

    // queue_life_ground.cpp
    void choose_kind();
    void make_ground();
    void set_queue(const std::string& name);
    void set_cohort(const std::string& name);
    void set_node(const std::string& name);
    decide::ClusterQueue some_queue(const std::string& name);
    decide::Cohort some_cohort(const std::string& name);
    decide::Node some_node(const std::string& name);
    decide::Workload some_workload();
    /// Something happens, and is heard with the next decision.
    void tell(const std::string& object, decide::Change change);
    void act();
    void act_on_structure();
    void act_on(const std::string& id);
    void add_job();
    void let_go(const std::string& id);
    void hear();

    // queue_life_checks.cpp
    void check_admits(const decide::Decision& decision);
    void check_content(const Job& job, const decide::Assignment& assignment);
    void check_nodes(const std::string& id);
    void check_evicts(const decide::Decision& decision, const std::set<std::string>& must_go);
    void check_victims(const decide::Decision& decision);
    void check_few(const std::string& preemptor, const std::set<std::string>& victims);
    /// Someone whose pod sets may pass flavors on to each other, for which its queue waits a while.
    bool has_patient() const;
    void check_rest();
    void check_own_quota();
    void check_sums();

    // queue_life_undo.cpp
    void check_copy();
    void check_undo();
    using Pair = std::pair<decide::Change, decide::Change>;
    std::vector<Pair> some_pairs();

    void step();
    void decide_and_check();
    void show(const decide::Decision& decision);
};

/// The first line in which two texts differ.
std::string difference(const std::string& a, const std::string& b);

}  // namespace muster::fuzz
