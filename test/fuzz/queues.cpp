// test/fuzz/queues.cpp - Jobs come and go, quotas and cohorts change; after each decision the
// reference says what must hold, a copy plays on without leaving a trace, and a second state that
// heard everything in another order has decided the same.
#include "test/fuzz/queues.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "test/fuzz/queue_reference.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

using decide::Change;
using decide::ClusterQueue;
using decide::Preemption;
using Job = QueueReference::Job;

constexpr std::size_t steps_max = 120;
constexpr std::size_t jobs_max = 14;

/// The bytes as choices.
struct Choices {
    std::string_view bytes;
    std::size_t at = 0;

    bool has() const { return at < bytes.size(); }
    std::int64_t below(std::int64_t bound) {
        if (!has()) return 0;
        return static_cast<unsigned char>(bytes[at++]) % bound;
    }
    template <class Map>
    typename Map::const_iterator one_of(const Map& map) {
        return std::next(map.begin(), below(static_cast<std::int64_t>(map.size())));
    }
};

std::string text_of(const decide::Assignment& assignment) {
    std::string text = assignment.cluster_queue;
    for (const auto& set : assignment.pod_sets) {
        text += " " + std::to_string(set.count);
        for (const auto& [resource, flavor] : set.flavors)
            text += " " + resource + "=" + flavor;
        for (const auto& [resource, amount] : set.usage)
            text += " " + resource + ":" + std::to_string(amount.value);
    }
    return text;
}

std::string text_of(const decide::WaitReason& reason) {
    std::string text = std::to_string(static_cast<int>(reason.rule)) + " " + reason.head;
    for (const auto& o : reason.obstacles) {
        text += " " + o.flavor + "/" + o.resource + " " + std::to_string(static_cast<int>(o.rule)) +
                " " + std::to_string(o.short_by.value);
    }
    for (const std::string& victim : reason.victims)
        text += " " + victim;
    return text;
}

std::string text_of(const decide::Decision& decision) {
    std::string text;
    for (const auto& admit : decision.admits)
        text += "admit " + admit.workload + " " + text_of(admit.assignment) + "\n";
    for (const auto& evict : decision.evicts) {
        text += "evict " + evict.workload + " " + std::to_string(static_cast<int>(evict.cause)) +
                " for " + evict.preemptor + "\n";
    }
    for (const auto& wait : decision.waits)
        text += "wait " + wait.workload + " " + text_of(*wait.reason) + "\n";
    return text;
}

/// One life.
struct Life {
    Choices choices;
    QueueReference world{};
    decide::State state{};
    decide::State other{};  // Hears the same between two decisions from last to first.
    std::vector<Change> changes{};
    std::set<std::string> touched{};  // Objects with a change already: their order counts.
    bool ordered = false;             // Then so does that of all.
    Time now{1'000'000'000};
    std::int64_t jobs_made = 0;
    std::optional<std::string> wrong{};

    void demand_that(bool holds, const std::string& words) {
        if (!holds && !wrong) wrong = words;
    }

    void tell(const std::string& object, Change change) {
        ordered |= !touched.insert(object).second;
        changes.push_back(std::move(change));
    }

    void play();
    void make_ground();
    void step();
    void act();
    void set_queue(const std::string& name);
    void set_cohort(const std::string& name);
    void add_job();
    void hear();
    void decide_and_check();
    void check_admits(const decide::Decision& decision);
    void check_evicts(const decide::Decision& decision) const;
    void check_preemptor(const std::string& id, const std::set<std::string>& gone);
    void check_rest();
    void check_own_quota();
    void check_sums();
    std::string told(const decide::State& of) const;
};

decide::Quota some_quota(Choices& choices, bool in_cohort, bool is_queue) {
    decide::Quota quota;
    quota.nominal = {choices.below(6)};
    if (in_cohort && choices.below(3) == 0) quota.borrowing_limit = Amount{choices.below(4)};
    if (in_cohort && choices.below(3) == 0) {
        const std::int64_t most = is_queue ? quota.nominal.value + 1 : 4;
        quota.lending_limit = Amount{choices.below(most)};
    }
    return quota;
}

void fill(decide::ResourceGroup& group, Choices& choices, bool in_cohort, bool is_queue) {
    group.resources = {"cpu", "memory"};
    for (const char* flavor : {"f0", "f1"}) {
        decide::FlavorQuotas quotas{flavor, {}};
        for (const char* resource : {"cpu", "memory"})
            quotas.resources[resource] = some_quota(choices, in_cohort, is_queue);
        group.flavors.push_back(std::move(quotas));
    }
}

void Life::make_ground() {
    decide::Options options;
    if (choices.below(3) == 1) options.fair_sharing.emplace();
    tell("options", decide::OptionsSet{options});
    for (const char* flavor : {"f0", "f1"})
        tell(flavor, decide::FlavorSet{{flavor, {}, {}, {}}});
    set_cohort("c0");
    if (choices.below(2) == 1) set_cohort("c1");
    const std::int64_t queues = 1 + choices.below(4);
    for (std::int64_t i = 0; i < queues; ++i) {
        const std::string name = "q" + std::to_string(i);
        set_queue(name);
        tell("local " + name,
             decide::LocalQueueSet{{"default", name, name, decide::StopPolicy::none}});
    }
}

void Life::set_cohort(const std::string& name) {
    decide::Cohort cohort;
    cohort.name = name;
    if (name != "c0" && choices.below(3) > 0) cohort.parent = "c0";
    if (choices.below(2) == 1)
        fill(cohort.groups.emplace_back(), choices, !cohort.parent.empty(), false);
    world.cohorts[name] = cohort;
    tell(name, decide::CohortSet{cohort});
}

void Life::set_queue(const std::string& name) {
    ClusterQueue queue;
    queue.name = name;
    queue.namespaces = decide::Selector{};
    const std::int64_t where = choices.below(4);
    if (where > 0) queue.cohort = where == 3 && world.cohorts.contains("c1") ? "c1" : "c0";
    if (choices.below(3) == 0) queue.strategy = ClusterQueue::Strategy::strict_fifo;
    if (choices.below(8) == 0) queue.stop = decide::StopPolicy::hold;
    queue.preemption.within_queue =
        static_cast<Preemption::WithinQueue>(choices.below(2) * choices.below(3));
    queue.preemption.reclaim_within_cohort =
        static_cast<Preemption::Reclaim>(choices.below(2) * choices.below(3));
    if (queue.preemption.reclaim_within_cohort != Preemption::Reclaim::never) {
        queue.preemption.borrow_within_cohort =
            static_cast<Preemption::WhileBorrowing>(choices.below(2));
    }
    fill(queue.groups.emplace_back(), choices, !queue.cohort.empty(), true);
    world.queues[name] = queue;
    tell(name, decide::QueueSet{queue});
}

void Life::add_job() {
    if (world.jobs.size() >= jobs_max) return;
    Job job;
    job.spec.id = "w" + std::to_string(100 + jobs_made++);
    job.spec.ns = "default";
    job.spec.local_queue = choices.one_of(world.queues)->first;
    job.spec.priority = choices.below(4);
    job.spec.created = now;
    auto& pods = job.spec.pod_sets.emplace_back();
    pods.count = 1 + choices.below(2);
    pods.pod.requests["cpu"] = {1 + choices.below(3)};
    if (choices.below(2) == 1) pods.pod.requests["memory"] = {1 + choices.below(3)};
    tell(job.spec.id, decide::WorkloadSet{job.spec});
    world.jobs[job.spec.id] = std::move(job);
}

void Life::act() {
    const std::int64_t what = choices.below(12);
    if (what < 4 || world.jobs.empty()) return add_job();
    if (what == 4) return set_queue(choices.one_of(world.queues)->first);
    if (what == 5) return set_cohort(choices.one_of(world.cohorts)->first);
    const auto chosen = choices.one_of(world.jobs);
    const std::string id = chosen->first;
    Job& job = world.jobs.at(id);
    if (what == 6) {
        tell(id, decide::WorkloadRemoved{id});
        job.removed = true;
        if (job.state == Job::State::waiting) world.jobs.erase(id);
    } else if (what == 7) {
        if (job.removed) return;
        job.spec.activity = job.spec.activity == decide::Workload::Activity::active
                                ? decide::Workload::Activity::deactivated
                                : decide::Workload::Activity::active;
        tell(id, decide::WorkloadSet{job.spec});
    } else if (job.state == Job::State::holding && !job.removed) {
        tell(id, decide::WorkloadFinished{id});
        world.jobs.erase(id);
    } else if (job.state != Job::State::waiting) {
        tell(id, decide::WorkloadReleased{id});
        job.state = Job::State::waiting;
        job.flavor.reset();
        if (job.removed) world.jobs.erase(id);
    }
}

std::string Life::told(const decide::State& of) const {
    std::string text;
    for (const auto& [name, queue] : world.queues) {
        const auto report = decide::report_queue(of, name);
        text += name + " " + std::to_string(report ? report->pending : -1);
        for (const std::string& id : decide::waiting_in(of, name, now))
            text += " " + id;
        for (const auto& [flavor, resources] : report->flavors) {
            for (const auto& [resource, use] : resources) {
                text += " " + flavor + "/" + resource + ":" + std::to_string(use.used.value) + "," +
                        std::to_string(use.borrowed.value);
            }
        }
        text += "\n";
    }
    for (const auto& [id, job] : world.jobs) {
        const auto reason = decide::wait_reason(of, id);
        const auto assignment = decide::assignment_of(of, id);
        text += id + " " + (reason ? text_of(*reason) : "-") + " " +
                (assignment ? text_of(*assignment) : "-") + "\n";
    }
    return text;
}

void Life::hear() {
    for (const Change& change : changes)
        apply(state, change);
    if (!ordered) std::reverse(changes.begin(), changes.end());
    for (const Change& change : changes)
        apply(other, change);
    changes.clear();
    touched.clear();
    ordered = false;
}

void Life::check_admits(const decide::Decision& decision) {
    for (const auto& admit : decision.admits) {
        const auto found = world.jobs.find(admit.workload);
        demand_that(found != world.jobs.end(), admit.workload + " is admitted and unknown");
        if (wrong) return;
        Job& job = found->second;
        demand_that(world.may_start(job), admit.workload + " may not start");
        const auto& set = admit.assignment.pod_sets.front();
        const auto& pods = job.spec.pod_sets.front();
        demand_that(set.count == pods.count, admit.workload + " is not admitted whole");
        const std::string flavor = set.flavors.begin()->second;
        for (const auto& [resource, amount] : pods.pod.requests) {
            demand_that(set.flavors.contains(resource) && set.flavors.at(resource) == flavor &&
                            set.usage.at(resource) == amount * pods.count,
                        admit.workload + " has not what it asked for");
        }
        demand_that(world.fits_flavor(job, flavor), admit.workload + " does not fit " + flavor);
        const std::string& queue = job.spec.local_queue;
        if (world.queues.at(queue).strategy == ClusterQueue::Strategy::strict_fifo) {
            demand_that(world.order(queue).front() == admit.workload,
                        admit.workload + " goes before the head of a strict queue");
        }
        job.state = Job::State::holding;
        job.flavor = flavor;
    }
}

void Life::check_evicts(const decide::Decision& decision) const {
    auto& self = const_cast<Life&>(*this);
    for (const auto& evict : decision.evicts) {
        if (evict.reason != decide::Evict::Reason::preempted) continue;
        const auto preemptor = world.jobs.find(evict.preemptor);
        const auto victim = world.jobs.find(evict.workload);
        self.demand_that(preemptor != world.jobs.end() && victim != world.jobs.end(),
                         evict.workload + " is evicted for nobody");
        if (wrong) return;
        self.demand_that(victim->second.state == Job::State::holding,
                         evict.workload + " is evicted and holds nothing");
        self.demand_that(world.may_preempt(preemptor->second, victim->second),
                         evict.preemptor + " may not preempt " + evict.workload);
    }
}

// With all that leave it fits; the room of others who wait in front is not looked at here.
void Life::check_preemptor(const std::string& id, const std::set<std::string>& gone) {
    QueueReference without = world;
    for (const std::string& victim : gone)
        without.jobs.at(victim).flavor.reset();
    demand_that(without.fits(without.jobs.at(id)).has_value(),
                id + " does not fit although all its victims have gone");
}

// Where nobody preempts, is strict or leaves, whoever fits has started.
void Life::check_rest() {
    for (const auto& [id, job] : world.jobs) {
        if (!world.may_start(job) || !world.is_plain(world.root_of(job.spec.local_queue))) continue;
        demand_that(!world.fits(job), id + " fits and waits");
    }
    for (const auto& [name, queue] : world.queues) {
        const auto order = world.order(name);
        if (order.empty() || queue.strategy != ClusterQueue::Strategy::strict_fifo) continue;
        const bool alone = queue.cohort.empty();
        if (alone) demand_that(!world.fits(world.jobs.at(order.front())), "a strict head waits");
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
        if (std::any_of(members.begin(), members.end(), [&](const std::string& m) {
                return !world.queues.contains(m) ||
                       world.queues.at(m).stop != decide::StopPolicy::none;
            })) {
            continue;
        }
        const auto& pods = world.jobs.at(order.front()).spec.pod_sets.front();
        const bool own =
            std::all_of(pods.pod.requests.begin(), pods.pod.requests.end(), [&](const auto& need) {
                return world.usage(name, "f0", need.first) + need.second.value * pods.count <=
                       world.quota(name, "f0", need.first).nominal.value;
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
        for (const auto& flavor : queue.groups.front().flavors) {
            for (const auto& [resource, quota] : flavor.resources) {
                const auto& use = report->flavors.at(flavor.flavor).at(resource);
                demand_that(use.used.value == world.usage(name, flavor.flavor, resource),
                            name + " uses another amount of " + flavor.flavor + "/" + resource);
            }
        }
        if (queue.stop != decide::StopPolicy::none) continue;
        std::set<std::string> expected;
        for (const std::string& id : world.order(name))
            expected.insert(id);
        const auto waiting = decide::waiting_in(state, name, now);
        demand_that(std::set<std::string>(waiting.begin(), waiting.end()) == expected &&
                        waiting.size() == expected.size(),
                    name + " has others waiting than the objects say");
    }
    const auto broken = decide::broken_invariants(state);
    if (!broken.empty()) demand_that(false, broken.front());
}

void Life::decide_and_check() {
    const std::string before = told(state);
    {
        decide::State copy = state;
        if (!world.jobs.empty()) {
            apply(copy, decide::WorkloadFinished{world.jobs.begin()->first});
            decide::decide(copy, now + seconds(70));
        }
        apply(copy, decide::QueueRemoved{"q0"});
        decide::decide(copy, now + seconds(80));
    }
    demand_that(told(state) == before, "a copy that went its own way has left a trace");
    const decide::Decision decision = decide::decide(state, now);
    const decide::Decision same = decide::decide(other, now);
    demand_that(text_of(decision) == text_of(same),
                "another order of arrival gives another answer:\n" + text_of(decision) +
                    "instead of\n" + text_of(same));
    check_admits(decision);
    if (wrong) return;
    check_evicts(decision);
    if (wrong) return;
    std::map<std::string, std::set<std::string>> victims;
    for (const auto& evict : decision.evicts) {
        world.jobs.at(evict.workload).state = Job::State::evicting;
        if (evict.reason == decide::Evict::Reason::preempted)
            victims[evict.preemptor].insert(evict.workload);
    }
    std::set<std::string> leaving;
    for (const auto& [id, job] : world.jobs) {
        if (job.state == Job::State::evicting || job.removed) leaving.insert(id);
    }
    // Whoever is admitted in the same decision may have gone before a preemptor.
    for (const auto& [preemptor, those] : victims) {
        if (decision.admits.empty()) check_preemptor(preemptor, leaving);
    }
    const decide::Decision again = decide::decide(state, now);
    demand_that(again.admits.empty() && again.evicts.empty(), "a state at rest decides again");
    decide::decide(other, now);
    check_rest();
    check_own_quota();
    check_sums();
    // Most of it is shown by the objects, some writes fail.
    for (const auto& admit : decision.admits) {
        if (choices.below(16) == 15) {
            tell(admit.workload, decide::WorkloadFailed{admit.workload});
            Job& job = world.jobs.at(admit.workload);
            job.state = Job::State::waiting;
            job.flavor.reset();
        } else {
            tell(admit.workload, decide::WorkloadAdmitted{admit.workload, admit.assignment, now});
        }
    }
    for (const auto& evict : decision.evicts)
        tell(evict.workload, decide::WorkloadEvicted{evict.workload});
}

void Life::step() {
    const std::int64_t actions = 1 + choices.below(3);
    for (std::int64_t i = 0; i < actions; ++i)
        act();
    hear();
    decide_and_check();
    hear();
    now = now + seconds(1 + choices.below(2) * 40);
}

void Life::play() {
    make_ground();
    for (std::size_t i = 0; i < steps_max && choices.has() && !wrong; ++i)
        step();
}

void take(std::string_view input) {
    const auto wrong = play_queues(input);
    demand(!wrong, wrong ? wrong->c_str() : "");
}

}  // namespace

std::optional<std::string> play_queues(std::string_view bytes) {
    Life life{{bytes}};
    life.play();
    return life.wrong;
}

std::string shrunk_queues(std::string bytes) {
    for (std::size_t piece = bytes.size() / 2; piece > 0; piece /= 2) {
        for (std::size_t at = 0; at + piece <= bytes.size();) {
            std::string shorter = bytes;
            shorter.erase(at, piece);
            if (play_queues(shorter)) {
                bytes = std::move(shorter);
            } else {
                at += piece;
            }
        }
    }
    return bytes;
}

Target queues_target() {
    return {
        "queues",
        {std::string("\1\1\2\5\5\0\0\3\3\2\1\1\4\4\0\2\1\0\2\1\1\3\0\2\1\2\2\0\1\1\1\0\3", 33),
         std::string("\0\3\1\0\2\5\4\3\1\0\2\2\0\1\6\1\0\2\1\0\1\1\2\1\0\0\2\1\1\1\2\3\2", 33),
         std::string("\1\0\0\1\4\2\2\1\1\1\3\2\2\2\1\1\0\0\1\7\7\1\2\3\4\5\6\7\x8\x9\xa\xb", 32)},
        take};
}

}  // namespace muster::fuzz
