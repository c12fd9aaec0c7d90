// test/fuzz/queue_life_ground.cpp - the things of a random life, and what happens to them.
#include <algorithm>
#include <utility>

#include "test/fuzz/queue_life.h"

namespace muster::fuzz {

using decide::ClusterQueue;
using decide::Preemption;
using decide::Workload;

namespace {

constexpr std::size_t jobs_max = 14;
constexpr std::int64_t one = 1'000'000'000;

decide::Quota some_quota(Choices& choices, bool in_cohort, bool is_queue) {
    decide::Quota quota;
    quota.nominal = {choices.below(6)};
    if (in_cohort && choices.one_in(3)) quota.borrowing_limit = Amount{choices.below(4)};
    if (in_cohort && choices.one_in(3)) {
        const std::int64_t most = is_queue ? quota.nominal.value + 1 : 4;
        quota.lending_limit = Amount{choices.below(most)};
    }
    return quota;
}

decide::ResourceGroup some_group(Choices& choices, std::vector<std::string> resources,
                                 std::vector<std::string> flavors, bool in_cohort, bool is_queue) {
    decide::ResourceGroup group;
    group.resources = std::move(resources);
    for (const std::string& flavor : flavors) {
        decide::FlavorQuotas quotas{flavor, {}};
        for (const std::string& resource : group.resources)
            quotas.resources[resource] = some_quota(choices, in_cohort, is_queue);
        group.flavors.push_back(std::move(quotas));
    }
    return group;
}

std::vector<decide::ResourceGroup> some_groups(Choices& choices, bool in_cohort, bool is_queue) {
    std::vector<std::string> flavors = {"f0", "f1"};
    const std::int64_t shape = choices.below(6);
    if (shape == 4) std::swap(flavors[0], flavors[1]);
    if (shape == 5) flavors.pop_back();
    std::vector<decide::ResourceGroup> groups;
    groups.push_back(some_group(choices, {"cpu", "memory"}, flavors, in_cohort, is_queue));
    if (choices.one_in(3))
        groups.push_back(some_group(choices, {"gpu"}, {"g0", "g1"}, in_cohort, is_queue));
    return groups;
}

decide::FairWeight some_weight(Choices& choices) {
    if (!choices.one_in(4)) return {};
    return {choices.below(3) * one / 2 * 2 + (choices.one_in(2) ? one / 2 : 0)};
}

Preemption some_preemption(Choices& choices) {
    Preemption made;
    made.within_queue = static_cast<Preemption::WithinQueue>(choices.below(2) * choices.below(3));
    made.reclaim_within_cohort =
        static_cast<Preemption::Reclaim>(choices.below(2) * choices.below(3));
    if (made.reclaim_within_cohort == Preemption::Reclaim::never) return made;
    made.borrow_within_cohort = static_cast<Preemption::WhileBorrowing>(choices.below(2));
    if (made.borrow_within_cohort != Preemption::WhileBorrowing::never && choices.one_in(3))
        made.max_priority_threshold = choices.below(3);
    return made;
}

}  // namespace

void Life::tell(const std::string& object, decide::Change change) {
    ordered |= !touched.insert(object).second;
    told.write(change, now);
    changes.push_back(std::move(change));
}

void Life::choose_kind() {
    const std::int64_t sharing = choices.below(6);
    if (sharing == 1 || sharing == 2) options.fair_sharing.emplace();
    if (sharing == 3)
        options.fair_sharing.emplace({decide::Options::Strategy::less_than_initial_share});
    has_topology = choices.below(4) == 3;
    has_nodes = choices.below(4) > 1;
}

void Life::make_ground() {
    tell("options", decide::OptionsSet{options});
    for (const char* name : {"f0", "f1", "g0", "g1"}) {
        decide::Flavor flavor;
        flavor.name = name;
        flavor.node_labels = {{"disk", name == std::string("f1") ? "ssd" : "hdd"}};
        if (has_topology && name == std::string("f1")) flavor.topology = "tree";
        world.flavors[name] = flavor;
        tell(name, decide::FlavorSet{flavor});
    }
    if (has_topology)
        tell("tree", decide::TopologySet{{"tree", {"block", std::string(decide::hostname_level)}}});
    if (has_topology || has_nodes) {
        for (const char* name : {"n0", "n1", "n2"})
            set_node(name);
    }
    world.checks["k"] = {"k", decide::AdmissionCheck::State::active};
    tell("check", decide::AdmissionCheckSet{world.checks["k"]});
    for (std::int64_t i = choices.below(3); i >= 0; --i)
        set_cohort("c" + std::to_string(i));
    const std::int64_t queues = 1 + choices.below(4);
    for (std::int64_t i = 0; i < queues; ++i) {
        const std::string name = "q" + std::to_string(i);
        set_queue(name);
        world.locals[name] = {"default", name, name, decide::StopPolicy::none};
        tell("local " + name, decide::LocalQueueSet{world.locals[name]});
    }
}

decide::Node Life::some_node(const std::string& name) {
    decide::Node node;
    node.name = name;
    node.labels = {{"block", name == "n0" ? "a" : "b"},
                   {"disk", "ssd"},
                   {std::string(decide::hostname_level), name}};
    node.allocatable = {
        {"cpu", {2 + choices.below(5)}}, {"memory", {2 + choices.below(5)}}, {"pods", {10}}};
    return node;
}

void Life::set_node(const std::string& name) {
    world.nodes[name] = some_node(name);
    tell(name, decide::NodeSet{world.nodes[name]});
}

// Any of the others may be the parent: circles come and go.
decide::Cohort Life::some_cohort(const std::string& name) {
    decide::Cohort cohort;
    cohort.name = name;
    const std::int64_t parent = choices.below(5);
    if (parent >= 2 && name != "c0") cohort.parent = parent == 2 && name == "c2" ? "c1" : "c0";
    if (parent == 4 && name == "c0" && choices.one_in(3)) cohort.parent = "c2";
    if (choices.one_in(2)) cohort.groups = some_groups(choices, !cohort.parent.empty(), false);
    cohort.weight = some_weight(choices);
    return cohort;
}

void Life::set_cohort(const std::string& name) {
    world.cohorts[name] = some_cohort(name);
    tell(name, decide::CohortSet{world.cohorts[name]});
}

ClusterQueue Life::some_queue(const std::string& name) {
    using Search = decide::FlavorFungibility::Search;
    ClusterQueue queue;
    queue.name = name;
    queue.namespaces = decide::Selector{};
    const std::int64_t where = choices.below(6);
    if (where > 0) queue.cohort = "c" + std::to_string(where < 3 ? 0 : where - 3);
    if (choices.one_in(3)) queue.strategy = ClusterQueue::Strategy::strict_fifo;
    const std::int64_t stop = choices.below(12);
    if (stop == 11) queue.stop = decide::StopPolicy::hold;
    if (stop == 10) queue.stop = decide::StopPolicy::hold_and_drain;
    queue.preemption = some_preemption(choices);
    if (choices.one_in(4)) queue.fungibility.when_can_borrow = Search::try_next_flavor;
    if (choices.one_in(4)) queue.fungibility.when_can_preempt = Search::may_stop;
    if (choices.one_in(4))
        queue.fungibility.preference =
            static_cast<decide::FlavorFungibility::Preference>(choices.below(3));
    queue.weight = some_weight(choices);
    if (choices.one_in(5)) queue.checks.push_back({"k", {}});
    if (choices.one_in(9)) queue.checks.push_back({"k", {"f1"}});
    if (queue.checks.size() > 1) queue.checks.pop_back();
    queue.groups = some_groups(choices, !queue.cohort.empty(), true);
    return queue;
}

void Life::set_queue(const std::string& name) {
    world.queues[name] = some_queue(name);
    tell(name, decide::QueueSet{world.queues[name]});
}

Workload Life::some_workload() {
    Workload made;
    made.id = "w" + std::to_string(100 + jobs_made++);
    made.ns = "default";
    made.local_queue = choices.one_of(world.locals)->first;
    made.priority = choices.below(4);
    made.created = now;
    const std::int64_t sets = choices.one_in(4) ? 2 : 1;
    for (std::int64_t i = 0; i < sets; ++i) {
        auto& set = made.pod_sets.emplace_back();
        if (sets > 1) set.name = "s" + std::to_string(i);
        set.count = 1 + choices.below(3);
        set.pod.requests["cpu"] = {1 + choices.below(3)};
        if (choices.one_in(2)) set.pod.requests["memory"] = {1 + choices.below(3)};
        if (choices.one_in(4)) set.pod.requests["gpu"] = {1};
        if (choices.one_in(6)) set.pod.node_selector = {{"disk", "ssd"}};
        if (i + 1 == sets && set.count > 1 && choices.one_in(3)) set.min_count = 1;
        const std::int64_t mode = has_topology ? choices.below(6) : 0;
        if (has_nodes && mode == 0 && choices.one_in(3))
            made.binds = Workload::Binds::quota_and_nodes;
        if (mode > 3 || (mode == 3 && sets > 1)) continue;
        set.topology.mode = static_cast<decide::TopologyRequest::Mode>(mode);
        if (mode == 1 || mode == 2)
            set.topology.level = choices.one_in(2) ? std::string(decide::hostname_level) : "block";
    }
    return made;
}

void Life::add_job() {
    if (world.jobs.size() >= jobs_max) return;
    Job job;
    job.spec = some_workload();
    const std::string id = job.spec.id;
    tell(id, decide::WorkloadSet{job.spec});
    world.jobs[id] = std::move(job);
    now = now + seconds(1);
}

void Life::act() {
    const std::int64_t what = choices.below(14);
    if (what < 5 || world.jobs.empty()) return add_job();
    if (what < 8) return act_on_structure();
    act_on(choices.one_of(world.jobs)->first);
}

void Life::act_on_structure() {
    const std::int64_t what = choices.below(12);
    if (what < 4) return set_queue(choices.one_of(world.locals)->first);
    if (what < 7) return set_cohort("c" + std::to_string(choices.below(3)));
    if (what == 7) {
        const std::string name = choices.one_of(world.locals)->first;
        if (world.queues.erase(name) > 0) tell(name, decide::QueueRemoved{name});
    } else if (what == 8) {
        const std::string name = "c" + std::to_string(choices.below(3));
        if (world.cohorts.erase(name) > 0) tell(name, decide::CohortRemoved{name});
    } else if (what == 9) {
        auto& check = world.checks["k"];
        const bool active = check.state == decide::AdmissionCheck::State::active;
        check.state = active ? decide::AdmissionCheck::State::inactive
                             : decide::AdmissionCheck::State::active;
        tell("check", decide::AdmissionCheckSet{check});
    } else if (what == 10 && !world.nodes.empty()) {
        set_node("n" + std::to_string(choices.below(3)));
    } else {
        auto& local = world.locals.at(choices.one_of(world.locals)->first);
        local.stop = static_cast<decide::StopPolicy>(choices.below(2) * choices.below(3));
        tell("local " + local.name, decide::LocalQueueSet{local});
    }
}

void Life::let_go(const std::string& id) {
    gave_back.insert(world.jobs.at(id).spec.local_queue);
    world.jobs.at(id).held.reset();
}

void Life::act_on(const std::string& id) {
    Job& job = world.jobs.at(id);
    const bool waits = job.state == Job::State::waiting;
    const std::int64_t what = choices.below(8);
    if (what == 0) {
        if (job.removed) return;
        tell(id, decide::WorkloadRemoved{id});
        job.removed = true;
        if (waits) world.jobs.erase(id);
    } else if (what <= 3 && !job.removed) {
        if (what == 1) {
            const bool active = job.spec.activity == Workload::Activity::active;
            job.spec.activity =
                active ? Workload::Activity::deactivated : Workload::Activity::active;
        } else if (what == 2 && !waits) {
            job.spec.stage = Workload::Stage::admitted;
        } else if (what == 3 && !waits) {
            auto& set = job.spec.pod_sets.front();
            set.reclaimable = std::min(set.count, set.reclaimable + 1);
            let_go(id);
            job.held = decide::assignment_of(state, id);
        } else {
            job.spec.priority = choices.below(4);
        }
        tell(id, decide::WorkloadSet{job.spec});
    } else if (job.state == Job::State::holding && !job.removed) {
        let_go(id);
        tell(id, decide::WorkloadFinished{id});
        world.jobs.erase(id);
    } else if (!waits) {
        let_go(id);
        tell(id, decide::WorkloadReleased{id});
        job.state = Job::State::waiting;
        if (job.removed) world.jobs.erase(id);
    }
}

void Life::hear() {
    for (const decide::Change& change : changes)
        apply(state, change);
    if (!ordered) std::reverse(changes.begin(), changes.end());
    for (const decide::Change& change : changes)
        apply(other, change);
    changes.clear();
    touched.clear();
    ordered = false;
}

}  // namespace muster::fuzz
