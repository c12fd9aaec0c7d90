// bench_load/bound.cpp - arrivals, ends and evictions as changes of a decide::State.
#include "bench_load/bound.h"

#include <map>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "decide/cycle.h"

namespace muster::load {
namespace {

constexpr const char* flavor = "load";
constexpr const char* resource = "cpu";
// 0 would mean "not set".
constexpr Time zero{1'000'000'000'000'000'000};

decide::ClusterQueue cluster_queue(const LoadPlan& plan, std::int64_t cohort, std::int64_t queue) {
    decide::Quota quota{{plan.nominal_cpus * 1000}, {}, {}};
    quota.borrowing_limit = Amount{plan.borrowing_limit * 1000};
    decide::ClusterQueue made;
    made.name = queue_name(cohort, queue);
    made.cohort = cohort_name(cohort);
    made.namespaces = decide::Selector{};
    made.strategy = decide::ClusterQueue::Strategy::best_effort_fifo;
    made.groups = {{{resource}, {{flavor, {{resource, quota}}}}}};
    made.preemption.reclaim_within_cohort = decide::Preemption::Reclaim::any;
    made.preemption.within_queue = decide::Preemption::WithinQueue::lower_priority;
    return made;
}

decide::LocalQueue local_queue(std::int64_t cohort, std::int64_t queue) {
    decide::LocalQueue made;
    made.ns = cohort_name(cohort);
    made.name = made.cluster_queue = queue_name(cohort, queue);
    return made;
}

/// Something that was decided takes effect.
struct Effect {
    enum class What { ends, is_gone, is_due };
    Time at;
    What what = What::ends;
    std::string id;
    std::int64_t run = 0;  // Which of its runs: an end of an earlier one means nothing.
    friend bool operator>(const Effect& a, const Effect& b) {
        return std::tie(a.at, a.id) > std::tie(b.at, b.id);
    }
};

class Play {
public:
    Play(const LoadPlan& plan, const Delays& delays) : plan_(plan), delays_(delays) {
        decide::Options options;
        options.reasons = decide::Options::Reasons::left_out;
        apply(state_, decide::OptionsSet{options});
        decide::Flavor only;
        only.name = flavor;
        apply(state_, decide::FlavorSet{only});
        for (std::int64_t cohort = 0; cohort < plan.cohorts; ++cohort) {
            apply(state_, decide::NamespaceSet{cohort_name(cohort), {}});
            for (std::int64_t queue = 0; queue < plan.queues; ++queue) {
                apply(state_, decide::QueueSet{cluster_queue(plan, cohort, queue)});
                apply(state_, decide::LocalQueueSet{local_queue(cohort, queue)});
            }
        }
        decide::decide(state_, zero);  // The queues were there long before.
    }

    Bound all() {
        const std::vector<Arrival> coming = arrivals(plan_);
        std::size_t next = 0;
        Time now = zero;
        while (ended_ < plan_.workloads()) {
            const bool arrives = next < coming.size() &&
                                 (effects_.empty() || zero + coming[next].at <= effects_.top().at);
            now = arrives ? zero + coming[next].at : effects_.top().at;
            for (; !effects_.empty() && effects_.top().at == now; effects_.pop())
                take(effects_.top());
            for (; next < coming.size() && zero + coming[next].at == now; ++next)
                arrive(coming[next], now);
            settle(now);
        }
        return {now - zero, evictions_};
    }

private:
    struct Playing {
        std::size_t kind = 0;
        std::int64_t run = 0;
    };

    void arrive(const Arrival& arrival, Time now) {
        decide::Workload workload;
        workload.ns = cohort_name(arrival.cohort);
        workload.id = workload.ns + "/" + workload_name(plan_, arrival);
        workload.local_queue = queue_name(arrival.cohort, arrival.queue);
        workload.priority = plan_.classes[arrival.kind].priority;
        workload.created = now;
        decide::PodSet pods;
        pods.pod.requests[resource] = Amount{plan_.classes[arrival.kind].cpus * 1000};
        workload.pod_sets = {pods};
        playing_[workload.id].kind = arrival.kind;
        apply(state_, decide::WorkloadSet{std::move(workload)});
    }

    void take(const Effect& effect) {
        if (effect.what == Effect::What::is_due) return;
        if (effect.what == Effect::What::is_gone) {
            apply(state_, decide::WorkloadReleased{effect.id});
        } else if (playing_.at(effect.id).run == effect.run) {
            apply(state_, decide::WorkloadFinished{effect.id});
            apply(state_, decide::WorkloadRemoved{effect.id});
            ++ended_;
        }
    }

    decide::Decision decide_now(Time now) {
        decide::Decision decision = decide::decide(state_, now, delays_.gathering);
        if (decision.look_again) effects_.push({*decision.look_again, Effect::What::is_due, "", 0});
        return decision;
    }

    void settle(Time now) {
        bool changed = true;
        while (changed) {
            const decide::Decision decision = decide_now(now);
            for (const decide::Admit& admit : decision.admits) {
                const Playing& playing = playing_.at(admit.workload);
                const Duration runs = plan_.classes[playing.kind].runs;
                effects_.push({now + delays_.start + runs + delays_.end, Effect::What::ends,
                               admit.workload, playing.run});
            }
            for (const decide::Evict& evict : decision.evicts) {
                ++evictions_;
                ++playing_.at(evict.workload).run;
                apply(state_, decide::WorkloadEvicted{evict.workload});
                const Effect gone{now + delays_.eviction, Effect::What::is_gone, evict.workload, 0};
                if (delays_.eviction == Duration{}) {
                    take(gone);
                } else {
                    effects_.push(gone);
                }
            }
            changed = !decision.evicts.empty() && delays_.eviction == Duration{};
        }
    }

    const LoadPlan& plan_;
    const Delays delays_;
    decide::State state_;
    std::map<std::string, Playing> playing_;
    std::priority_queue<Effect, std::vector<Effect>, std::greater<>> effects_;
    std::int64_t evictions_ = 0;
    std::int64_t ended_ = 0;
};

}  // namespace

Bound bound_of(const LoadPlan& plan, const Delays& delays) {
    return Play(plan, delays).all();
}

}  // namespace muster::load
