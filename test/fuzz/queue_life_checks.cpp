// test/fuzz/queue_life_checks.cpp - what must hold after a decision, said in the reference's words.
#include <algorithm>

#include "test/fuzz/queue_life.h"

namespace muster::fuzz {

using decide::ClusterQueue;
using decide::Preemption;
using decide::Workload;
using Needs = QueueReference::Needs;

namespace {

/// What a job might take: one for each choice of flavors and of the number of pods.
std::vector<Needs> ways_of(const QueueReference& world, const QueueReference::Job& job) {
    std::vector<Needs> ways;
    const auto& sets = job.spec.pod_sets;
    const auto& groups = world.queues.at(world.queue_of(job)).groups;
    const std::int64_t full = sets.back().count - sets.back().reclaimable;
    const auto go_on = [&](const auto& self, std::size_t i, std::size_t g, std::int64_t last,
                           const Needs& taken) -> void {
        if (i == sets.size()) return ways.push_back(taken);
        if (g == groups.size()) return self(self, i + 1, 0, last, taken);
        const std::int64_t count =
            i + 1 == sets.size() ? last : sets[i].count - sets[i].reclaimable;
        const auto& covered = groups[g].resources;
        const auto& requests = sets[i].pod.requests;
        if (std::none_of(covered.begin(), covered.end(),
                         [&](const std::string& r) { return requests.contains(r); })) {
            return self(self, i, g + 1, last, taken);
        }
        for (const auto& flavor : groups[g].flavors) {
            if (!world.flavor_allows(job, sets[i], flavor.flavor)) continue;
            Needs more = taken;
            for (const auto& [resource, amount] : requests) {
                if (flavor.resources.contains(resource))
                    more[{flavor.flavor, resource}] += amount.value * count;
            }
            self(self, i, g + 1, last, more);
        }
    };
    for (std::int64_t last = std::min(full, sets.back().min_count.value_or(full)); last <= full;
         ++last) {
        go_on(go_on, 0, 0, last, {});
    }
    return ways;
}

QueueReference without(QueueReference world, const std::set<std::string>& gone) {
    for (const std::string& id : gone)
        world.jobs.at(id).held.reset();
    return world;
}

}  // namespace

void Life::check_admits(const decide::Decision& decision) {
    for (const auto& admit : decision.admits) {
        const auto found = world.jobs.find(admit.workload);
        demand_that(found != world.jobs.end(), admit.workload + " is admitted and unknown");
        if (wrong) return;
        Job& job = found->second;
        demand_that(world.may_start(job), admit.workload + " may not start");
        if (wrong) return;
        check_content(job, admit.assignment);
        if (wrong) return;
        const std::string queue = world.queue_of(job);
        const bool plain = world.is_plain(world.root_of(queue));
        demand_that(world.is_free(queue, world.needs_of(job, admit.assignment)),
                    admit.workload + " exceeds what is free");
        if (world.queues.at(queue).strategy == ClusterQueue::Strategy::strict_fifo) {
            demand_that(world.order(queue).front() == admit.workload,
                        admit.workload + " goes before the head of a strict queue");
        }
        const std::int64_t count = admit.assignment.pod_sets.back().count;
        if (count < job.pods_of_last() && plain && job.spec.pod_sets.size() == 1 &&
            world.nodes.empty()) {
            demand_that(!world.always_fits(job, count + 1),
                        admit.workload + " could have had one pod more");
        }
        job.state = Job::State::holding;
        job.held = admit.assignment;
        job.spec.pods_ready = Workload::PodsReady::no;
        job.spec.stage = world.has_checks(queue, admit.assignment) ? Workload::Stage::reserved
                                                                   : Workload::Stage::admitted;
        check_nodes(admit.workload);
    }
}

// All pods of each pod set, or as few as it takes; each resource from a flavor that it may have.
void Life::check_content(const Job& job, const decide::Assignment& assignment) {
    const std::string& id = job.spec.id;
    demand_that(assignment.cluster_queue == world.queue_of(job) &&
                    assignment.pod_sets.size() == job.spec.pod_sets.size(),
                id + " is admitted elsewhere or in part");
    for (std::size_t i = 0; !wrong && i < job.spec.pod_sets.size(); ++i) {
        const auto& spec = job.spec.pod_sets[i];
        const auto& set = assignment.pod_sets[i];
        const std::int64_t full = spec.count - spec.reclaimable;
        demand_that(set.count <= full && set.count >= std::min(full, spec.min_count.value_or(full)),
                    id + " is not admitted whole");
        for (const auto& [resource, amount] : spec.pod.requests) {
            if (full == 0) continue;
            demand_that(set.flavors.contains(resource) &&
                            set.usage.at(resource) == amount * set.count &&
                            world.flavor_allows(job, spec, set.flavors.at(resource)),
                        id + " has not what it asked for");
        }
        if (!set.topology) continue;
        std::int64_t placed = 0;
        std::set<std::string> domains;
        const bool required = spec.topology.mode == decide::TopologyRequest::Mode::required;
        for (const auto& domain : set.topology->domains) {
            placed += domain.count;
            const auto& labels = world.nodes.at(domain.values.back()).labels;
            if (required) domains.insert(labels.at(spec.topology.level));
        }
        demand_that(placed == set.count, id + " has not all its places");
        demand_that(domains.size() <= 1, id + " is spread over domains");
    }
}

// No node where it has places now has given more than it has, of what this one asks for.
void Life::check_nodes(const std::string& id) {
    const Job& job = world.jobs.at(id);
    for (std::size_t i = 0; i < job.held->pod_sets.size(); ++i) {
        const auto& set = job.held->pod_sets[i];
        if (!set.topology) continue;
        const auto& requests = job.spec.pod_sets[i].pod.requests;
        for (const auto& domain : set.topology->domains) {
            const auto& node = world.nodes.at(domain.values.back());
            for (const auto& [resource, amount] : node.allocatable) {
                if (resource != "pods" && !requests.contains(resource)) continue;
                demand_that(world.free_on(node, resource) >= 0, id + " makes a node overfull");
            }
        }
    }
}

void Life::check_evicts(const decide::Decision& decision, const std::set<std::string>& must_go) {
    std::set<std::string> gone;
    for (const auto& evict : decision.evicts) {
        const auto victim = world.jobs.find(evict.workload);
        demand_that(victim != world.jobs.end() && victim->second.state == Job::State::holding,
                    evict.workload + " is evicted and holds nothing");
        if (wrong) return;
        if (evict.reason != decide::Evict::Reason::preempted) {
            gone.insert(evict.workload);
            continue;
        }
        const auto preemptor = world.jobs.find(evict.preemptor);
        // Room on nodes is free at once where no pod has come yet: the preemptor may start.
        const auto may_have_started = [](const Job& job) {
            return job.state == Job::State::holding &&
                   job.spec.binds == Workload::Binds::quota_and_nodes;
        };
        demand_that(preemptor != world.jobs.end() &&
                        (world.may_start(preemptor->second) || may_have_started(preemptor->second)),
                    evict.workload + " is evicted for nobody");
        if (wrong) return;
        demand_that(world.may_preempt(preemptor->second, victim->second),
                    evict.preemptor + " may not preempt " + evict.workload);
    }
    demand_that(gone == must_go, "others are evicted than have to go");
}

// With all that leave it fits; whom others preempt, and room that is kept, are not looked at here.
void Life::check_victims(const decide::Decision& decision) {
    std::map<std::string, std::set<std::string>> victims;
    std::map<std::string, std::int64_t> preemptors;  // By root.
    for (const auto& evict : decision.evicts) {
        if (evict.reason == decide::Evict::Reason::preempted)
            victims[evict.preemptor].insert(evict.workload);
    }
    if (!decision.admits.empty() || has_topology || has_nodes) return;
    std::set<std::string> leaving;
    for (const auto& [id, job] : world.jobs) {
        if (job.held && (job.state == Job::State::evicting || job.removed)) leaving.insert(id);
    }
    for (const auto& [id, those] : victims) {
        const Job& job = world.jobs.at(id);
        ++preemptors[world.root_of(world.queue_of(job))];
        const QueueReference after = without(world, leaving);
        const auto ways = ways_of(world, job);
        demand_that(
            std::any_of(ways.begin(), ways.end(),
                        [&](const Needs& way) { return after.is_free(world.queue_of(job), way); }),
            id + " does not fit although all its victims have gone");
    }
    for (const auto& [id, those] : victims) {
        const std::string root = world.root_of(world.queue_of(world.jobs.at(id)));
        const bool alone = preemptors[root] == 1 &&
                           std::none_of(leaving.begin(), leaving.end(), [&](const auto& l) {
                               return !those.contains(l) &&
                                      world.root_of(world.jobs.at(l).held->cluster_queue) == root;
                           });
        if (alone) check_few(id, those);
    }
}

// There are flavors for which every single victim is needed: with it in place the preemptor does
// not fit or (where shares do not count) borrows, which it may not do at others' expense.
void Life::check_few(const std::string& preemptor, const std::set<std::string>& victims) {
    const Job& job = world.jobs.at(preemptor);
    const std::string queue = world.queue_of(job);
    const QueueReference all_gone = without(world, victims);
    const auto ways = ways_of(world, job);
    demand_that(std::any_of(ways.begin(), ways.end(),
                            [&](const Needs& way) {
                                if (!all_gone.is_free(queue, way)) return false;
                                return std::all_of(
                                    victims.begin(), victims.end(), [&](const std::string& victim) {
                                        std::set<std::string> others = victims;
                                        others.erase(victim);
                                        const QueueReference with = without(world, others);
                                        return !with.is_free(queue, way) ||
                                               (!options.fair_sharing && with.borrows(queue, way));
                                    });
                            }),
                preemptor + " preempts one that it need not");
}

bool Life::has_patient() const {
    return std::any_of(world.jobs.begin(), world.jobs.end(),
                       [](const auto& known) { return known.second.spec.pod_sets.size() > 1; });
}

// Where nobody preempts, is strict or leaves, whoever fits has started. While several pod sets pass
// flavors on to each other their queue waits for them, but not for ever.
void Life::check_rest() {
    if (now < quiet_until) return;
    const bool patient = has_patient();
    for (const auto& [id, job] : world.jobs) {
        if (!world.may_start(job) || job.spec.binds == Workload::Binds::quota_and_nodes) continue;
        const ClusterQueue& queue = world.queues.at(world.queue_of(job));
        const bool first = queue.strategy == ClusterQueue::Strategy::strict_fifo &&
                           queue.cohort.empty() && world.order(queue.name).front() == id &&
                           queue.preemption == Preemption{};
        if (!first && !world.is_plain(world.root_of(queue.name))) continue;
        const auto least = job.spec.pod_sets.back().min_count.value_or(job.pods_of_last());
        if (!world.always_fits(job, std::min(job.pods_of_last(), least))) continue;
        decide::State later = state;
        bool goes_on = false;
        for (const std::int64_t wait : {61, 122})
            goes_on |= patient && !decide::decide(later, now + seconds(wait)).admits.empty();
        demand_that(goes_on, id + " fits and waits");
    }
}

// What is its own by quota a queue that reclaims gets back, whoever has borrowed it: its first one
// does not just wait. (Sharing incentive; in a flat cohort, where sums say all.)
void Life::check_own_quota() {
    using Rule = decide::WaitReason::Rule;
    static const std::set<Rule> on_its_way = {Rule::preempting, Rule::deferred, Rule::overtaken,
                                              Rule::behind_preemptor, Rule::preemption_circle};
    for (const auto& [name, queue] : world.queues) {
        const auto order = world.order(name);
        if (order.empty() || queue.cohort.empty() || world.parent_of(queue.cohort) ||
            queue.preemption.reclaim_within_cohort != Preemption::Reclaim::any) {
            continue;
        }
        const auto members = world.children_of(queue.cohort);
        if (!std::all_of(members.begin(), members.end(), [&](const std::string& member) {
                return world.queues.contains(member) && world.is_active(member);
            })) {
            continue;
        }
        const Job& job = world.jobs.at(order.front());
        const auto& set = job.spec.pod_sets.front();
        if (job.spec.pod_sets.size() > 1 || has_topology || has_nodes ||
            set.pod.requests.contains("gpu") || !world.flavor_allows(job, set, "f0")) {
            continue;
        }
        const bool own =
            std::all_of(set.pod.requests.begin(), set.pod.requests.end(), [&](const auto& need) {
                const QueueReference::What what{"f0", need.first};
                return world.usage(name, what) +
                           need.second.value * (set.count - set.reclaimable) <=
                       world.quota(name, what).nominal.value;
            });
        if (!own) continue;
        const auto reason = decide::wait_reason(state, order.front());
        demand_that(reason && on_its_way.contains(reason->rule),
                    order.front() + " does not get what is its queue's own");
    }
}

void Life::check_sums() {
    for (const auto& [name, queue] : world.queues) {
        const auto report = decide::report_queue(state, name);
        for (const auto& group : queue.groups) {
            for (const auto& flavor : group.flavors) {
                for (const auto& [resource, quota] : flavor.resources) {
                    const auto& use = report->flavors.at(flavor.flavor).at(resource);
                    demand_that(use.used.value == world.usage(name, {flavor.flavor, resource}),
                                name + " uses another amount of " + flavor.flavor + "/" + resource);
                }
            }
        }
        std::int64_t reserved = 0;
        for (const auto& [id, job] : world.jobs) {
            if (job.held && job.held->cluster_queue == name &&
                job.spec.stage == Workload::Stage::reserved)
                ++reserved;
        }
        demand_that(report->reserved == reserved, name + " waits for other checks");
        if (!world.is_active(name)) continue;
        const auto expected = world.order(name);
        const auto waiting = decide::waiting_in(state, name, now);
        demand_that(std::set<std::string>(waiting.begin(), waiting.end()) ==
                            std::set<std::string>(expected.begin(), expected.end()) &&
                        waiting.size() == expected.size(),
                    name + " has others waiting than the objects say");
    }
    const auto broken = decide::broken_invariants(state);
    if (!broken.empty()) demand_that(false, broken.front());
}

}  // namespace muster::fuzz
