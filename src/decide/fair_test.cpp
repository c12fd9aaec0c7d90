// decide/fair_test.cpp - fair sharing in all small worlds: what the theory of dominant resource
// fairness (DRF) promises, as far as it holds for jobs that cannot be divided.
//
// Held here, at rest, for queues without quota of their own in one cohort:
// - Pareto efficiency: nobody waits who fits.
// - No envy up to one job: with what another queue of its weight holds, no queue that waits could
//   run more than one job more than it does.
// - Sharing incentive up to one job: of n queues of one weight, one that waits would have more than
//   an n-th of something with its next job. (Getting back one's own nominal quota: preempt_test and
//   the lives of test/fuzz.)
// - With preemption max-min fairness up to one job: no queue waits that, with its next job, would
//   still have a smaller share than one of whose jobs a single one would make the room.
//
// What does not hold has a case below:
// - Max-min without preemption: a round takes one job of each queue, whatever its size, as a cycle
//   of Kueue does, and nobody gives back what he has.
// - Strategy-proofness: DRF has it for what can be divided. With whole jobs, to ask for more than
// one
//   needs can win a job by rounding; with one resource it cannot.
// Not looked at: population monotonicity (whole jobs again), resource monotonicity (DRF has none).
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "decide/cycle.h"

namespace muster::decide {

namespace {

using Demand = std::array<std::int64_t, 2>;  // cpu, memory of one job.

struct Sharer {
    Demand demand{};
    std::int64_t weight = 1;
};

enum class Mode { order_only, preempting };

/// A cohort whose quota is shared by queues with more jobs than will ever fit.
struct Shared {
    Demand quota{};
    std::vector<Sharer> sharers;
    Mode mode = Mode::order_only;

    State state{};
    Time now{1'000'000'000};
    std::vector<std::int64_t> running{};  // By sharer.

    static std::string name(std::size_t i) { return "q" + std::to_string(i); }
    void make();
    void add_jobs(std::size_t sharer);
    void rest();
    bool fits(const Demand& more, const Demand& less) const;
    /// With so many jobs; compared without rounding.
    std::pair<std::int64_t, std::int64_t> share(std::size_t sharer, std::int64_t jobs) const;
    /// How many of its jobs it could run with all that the other one holds.
    std::int64_t jobs_with_bundle_of(std::size_t sharer, std::size_t other) const;
    void check() const;
};

constexpr std::int64_t jobs_each = 5;

ResourceGroup group_of(const Demand& nominal) {
    ResourceGroup group{{"cpu", "memory"}, {{"f", {}}}};
    group.flavors.front().resources["cpu"].nominal = {nominal[0]};
    group.flavors.front().resources["memory"].nominal = {nominal[1]};
    return group;
}

void Shared::make() {
    Options options;
    options.fair_sharing.emplace();
    apply(state, OptionsSet{options});
    apply(state, FlavorSet{{"f", {}, {}, {}}});
    apply(state, CohortSet{{"c", "", {group_of(quota)}, {}}});
    for (std::size_t i = 0; i < sharers.size(); ++i) {
        ClusterQueue queue;
        queue.name = name(i);
        queue.cohort = "c";
        queue.namespaces = Selector{};
        queue.weight.nanos = sharers[i].weight * 1'000'000'000;
        queue.groups.push_back(group_of({0, 0}));
        if (mode == Mode::preempting)
            queue.preemption.reclaim_within_cohort = Preemption::Reclaim::any;
        apply(state, QueueSet{queue});
        apply(state, LocalQueueSet{{"default", name(i), name(i), StopPolicy::none}});
    }
}

void Shared::add_jobs(std::size_t sharer) {
    for (std::int64_t job = 0; job < jobs_each; ++job) {
        Workload made;
        made.id = name(sharer) + "-" + std::to_string(job);
        made.ns = "default";
        made.local_queue = name(sharer);
        made.created = now;
        auto& requests = made.pod_sets.emplace_back().pod.requests;
        if (sharers[sharer].demand[0] > 0) requests["cpu"] = {sharers[sharer].demand[0]};
        if (sharers[sharer].demand[1] > 0) requests["memory"] = {sharers[sharer].demand[1]};
        apply(state, WorkloadSet{made});
        now = now + seconds(1);
    }
}

// Whatever is evicted ends at once.
void Shared::rest() {
    for (int round = 0; round < 60; ++round) {
        const Decision decision = decide(state, now);
        for (const Admit& admit : decision.admits)
            apply(state, WorkloadAdmitted{admit.workload, admit.assignment, now});
        for (const Evict& evict : decision.evicts) {
            apply(state, WorkloadEvicted{evict.workload});
            apply(state, WorkloadReleased{evict.workload});
        }
        now = now + seconds(1);
        if (!decision.admits.empty() || !decision.evicts.empty()) continue;
        running.assign(sharers.size(), 0);
        for (std::size_t i = 0; i < sharers.size(); ++i)
            running[i] = report_queue(state, name(i))->admitted;
        return;
    }
    FAIL("sharing goes on without end");
}

bool Shared::fits(const Demand& more, const Demand& less) const {
    for (std::size_t r = 0; r < 2; ++r) {
        std::int64_t used = more[r] - less[r];
        for (std::size_t i = 0; i < sharers.size(); ++i)
            used += running[i] * sharers[i].demand[r];
        if (used > quota[r]) return false;
    }
    return true;
}

std::pair<std::int64_t, std::int64_t> Shared::share(std::size_t sharer, std::int64_t jobs) const {
    std::pair<std::int64_t, std::int64_t> best{0, 1};
    for (std::size_t r = 0; r < 2; ++r) {
        const std::int64_t over = jobs * sharers[sharer].demand[r];
        const std::int64_t under = quota[r] * sharers[sharer].weight;
        if (over * best.second > best.first * under) best = {over, under};
    }
    return best;
}

std::int64_t Shared::jobs_with_bundle_of(std::size_t sharer, std::size_t other) const {
    std::int64_t jobs = jobs_each;
    for (std::size_t r = 0; r < 2; ++r) {
        const std::int64_t needs = sharers[sharer].demand[r];
        if (needs > 0) jobs = std::min(jobs, running[other] * sharers[other].demand[r] / needs);
    }
    return jobs;
}

void Shared::check() const {
    const auto less = [](const auto& a, const auto& b) {
        return a.first * b.second < b.first * a.second;
    };
    for (std::size_t i = 0; i < sharers.size(); ++i) {
        if (running[i] == jobs_each) continue;
        REQUIRE(!fits(sharers[i].demand, {0, 0}));
        const auto next = share(i, running[i] + 1);
        if (sharers.front().weight == 1)
            REQUIRE(next.first * static_cast<std::int64_t>(sharers.size()) > next.second);
        for (std::size_t k = 0; k < sharers.size(); ++k) {
            if (k == i || running[k] == 0) continue;
            if (sharers[i].weight == sharers[k].weight)
                REQUIRE(jobs_with_bundle_of(i, k) <= running[i] + 1);
            if (mode == Mode::preempting && fits(sharers[i].demand, sharers[k].demand))
                REQUIRE(!less(share(i, running[i] + 1), share(k, running[k])));
        }
    }
}

constexpr std::array<Demand, 4> demands = {{{1, 0}, {1, 1}, {2, 1}, {1, 2}}};

/// Calls `play` for each small world of two or three queues; how many there were.
template <class Play>
std::int64_t each_world(std::size_t queues, const Play& play) {
    std::int64_t worlds = 0;
    const std::size_t kinds = queues == 2 ? 16 : 64;
    for (std::int64_t cpu = 2; cpu <= 4; ++cpu) {
        for (const std::int64_t memory : {2, 4}) {
            for (std::size_t code = 0; code < kinds * 4; ++code) {
                Shared shared{{cpu, memory}, {}};
                for (std::size_t i = 0; i < queues; ++i)
                    shared.sharers.push_back({demands[(code >> (2 * i)) % 4]});
                shared.sharers[0].weight = 1 + static_cast<std::int64_t>(code / kinds % 2);
                shared.mode = code / kinds / 2 == 0 ? Mode::order_only : Mode::preempting;
                play(shared);
                ++worlds;
            }
        }
    }
    return worlds;
}

}  // namespace

TEST_CASE("all small worlds of sharing, all at once: 2 queues, cpu 2 to 4, memory 2 or 4") {
    CHECK(each_world(2, [](Shared& shared) {
              shared.make();
              shared.add_jobs(0);
              shared.add_jobs(1);
              shared.rest();
              shared.check();
          }) == 384);
}

TEST_CASE("all small worlds of sharing, one queue after the other: 3 queues, with preemption") {
    std::int64_t preempting = 0;
    CHECK(each_world(3, [&](Shared& shared) {
              if (shared.mode == Mode::order_only) return;
              shared.make();
              for (std::size_t i = 0; i < 3; ++i) {
                  shared.add_jobs(i);
                  shared.rest();
              }
              shared.check();
              ++preempting;
          }) == 1536);
    CHECK(preempting == 768);
}

TEST_CASE("equal answers, whichever of two equal queues is named first") {
    for (const Demand& demand : demands) {
        Shared one{{4, 4}, {{demand}, {demand}}, Mode::preempting};
        one.make();
        one.add_jobs(0);
        one.add_jobs(1);
        one.rest();
        Shared other{{4, 4}, {{demand}, {demand}}, Mode::preempting};
        other.make();
        other.add_jobs(1);
        other.add_jobs(0);
        other.rest();
        CHECK(one.running[0] + one.running[1] == other.running[0] + other.running[1]);
        CHECK(std::max(one.running[0], one.running[1]) ==
              std::max(other.running[0], other.running[1]));
    }
}

TEST_CASE("to ask for more than one needs never wins a job where demands are of one resource") {
    for (std::int64_t quota = 2; quota <= 6; ++quota) {
        for (std::int64_t theirs = 1; theirs <= 3; ++theirs) {
            std::array<std::int64_t, 2> won{};
            for (std::int64_t asked = 1; asked <= 2; ++asked) {
                Shared shared{{quota, 1}, {{{asked, 0}}, {{theirs, 0}}}, Mode::preempting};
                shared.make();
                shared.add_jobs(0);
                shared.add_jobs(1);
                shared.rest();
                won[static_cast<std::size_t>(asked - 1)] = shared.running[0];
            }
            CAPTURE(quota);
            CAPTURE(theirs);
            CHECK(won[1] <= won[0]);
        }
    }
}

TEST_CASE("with whole jobs of two resources, to ask for more than one needs can win one") {
    const auto jobs = [](const Demand& asked) {
        Shared shared{{2, 2}, {{asked}, {{1, 2}}}, Mode::preempting};
        shared.make();
        shared.add_jobs(0);
        shared.add_jobs(1);
        shared.rest();
        return shared.running;
    };
    CHECK(jobs({1, 0}) == std::vector<std::int64_t>{1, 1});
    CHECK(jobs({1, 1}) == std::vector<std::int64_t>{2, 0});
}

TEST_CASE("without preemption shares may stay uneven by more than a job") {
    const auto jobs = [](Mode mode) {
        Shared shared{{4, 2}, {{{1, 1}}, {{1, 0}}}, mode};
        shared.make();
        shared.add_jobs(0);
        shared.add_jobs(1);
        shared.rest();
        return shared.running;
    };
    CHECK(jobs(Mode::order_only) == std::vector<std::int64_t>{2, 2});
    CHECK(jobs(Mode::preempting) == std::vector<std::int64_t>{1, 3});
}

}  // namespace muster::decide
