// apps/replay/replay.cpp - the event loop of a replay: submissions and ends go into decide/, starts
// and preemptions come out.
#include "apps/replay/replay.h"

#include <algorithm>
#include <charconv>
#include <queue>
#include <utility>

#include "base/verify.h"
#include "decide/cycle.h"

namespace muster::replay {
namespace {

using decide::State;

constexpr const char* flavor = "default";
constexpr const char* cohort = "cluster";
constexpr const char* name_space = "trace";
// Second 0 of the trace; 0 would mean "not set".
constexpr Time zero{1'000'000'000'000'000'000};

Time at(std::int64_t second) {
    return zero + seconds(second);
}

std::string id_of(std::size_t job) {
    std::string digits = std::to_string(job);
    return "trace/job-" + std::string(9 - std::min<std::size_t>(digits.size(), 9), '0') + digits;
}

std::size_t job_of(const std::string& id) {
    std::size_t job = 0;
    const std::string_view digits = std::string_view(id).substr(10);
    std::from_chars(digits.data(), digits.data() + digits.size(), job);
    return job;
}

struct End {
    std::int64_t second = 0;
    std::size_t job = 0;
    std::int64_t run = 0;  // Which of the job's runs: one that was preempted does not end.
    friend bool operator>(const End& a, const End& b) {
        return std::tie(a.second, a.job) > std::tie(b.second, b.job);
    }
};

class Player {
public:
    Player(const Trace& trace, const Policy& policy, std::int64_t capacity)
        : trace_(trace), policy_(policy) {
        outcome_.capacity = capacity;
        outcome_.jobs.resize(trace.jobs.size());
        set_up(quotas_by_work(trace, capacity));
    }

    Outcome play() {
        std::size_t next = 0;
        while (next < trace_.jobs.size() || !ends_.empty()) {
            const std::int64_t now =
                std::min(next < trace_.jobs.size() ? trace_.jobs[next].submitted : never,
                         ends_.empty() ? never : ends_.top().second);
            while (!ends_.empty() && ends_.top().second == now)
                end_one();
            while (next < trace_.jobs.size() && trace_.jobs[next].submitted == now)
                submit(next++);
            settle(now);
        }
        return std::move(outcome_);
    }

private:
    static constexpr std::int64_t never = INT64_MAX;

    void set_up(const std::map<std::string, std::int64_t>& quotas) {
        decide::Options options;
        options.reasons = decide::Options::Reasons::left_out;
        if (policy_.sharing == Policy::Sharing::fair) options.fair_sharing.emplace();
        apply(state_, decide::OptionsSet{options});
        apply(state_, decide::NamespaceSet{name_space, {}});
        decide::Flavor only;
        only.name = flavor;
        apply(state_, decide::FlavorSet{only});
        for (const auto& [name, amount] : quotas) {
            decide::Quota quota{{units(amount)}, {}, {}};
            if (policy_.borrowing == Policy::Borrowing::off) quota.borrowing_limit = Amount{0};
            decide::ClusterQueue queue;
            queue.name = name;
            queue.cohort = cohort;
            queue.namespaces = decide::Selector{};
            queue.strategy = policy_.order == Policy::Order::strict_fifo
                                 ? decide::ClusterQueue::Strategy::strict_fifo
                                 : decide::ClusterQueue::Strategy::best_effort_fifo;
            queue.groups = {{{trace_.resource}, {{flavor, {{trace_.resource, quota}}}}}};
            if (policy_.preempting == Policy::Preempting::reclaim)
                queue.preemption.reclaim_within_cohort = decide::Preemption::Reclaim::any;
            apply(state_, decide::QueueSet{queue});
            decide::LocalQueue local;
            local.ns = name_space;
            local.name = name;
            local.cluster_queue = name;
            apply(state_, decide::LocalQueueSet{local});
        }
    }

    // cpu counts in thousandths.
    std::int64_t units(std::int64_t amount) const {
        return trace_.resource == "cpu" ? amount * 1000 : amount;
    }

    void submit(std::size_t number) {
        const TraceJob& job = trace_.jobs[number];
        decide::Workload workload;
        workload.id = id_of(number);
        workload.ns = name_space;
        workload.local_queue = job.queue;
        workload.priority =
            policy_.order == Policy::Order::smallest_first ? -job.amount : job.priority;
        workload.created = at(job.submitted);
        decide::PodSet pods;
        pods.pod.requests[trace_.resource] = Amount{units(job.amount)};
        workload.pod_sets = {pods};
        apply(state_, decide::WorkloadSet{workload});
        outcome_.longest_queue = std::max(outcome_.longest_queue, ++waiting_);
    }

    void end_one() {
        const End end = ends_.top();
        ends_.pop();
        const TraceJob& job = trace_.jobs[end.job];
        if (outcome_.jobs[end.job].preempted != end.run) return;
        const std::string id = id_of(end.job);
        apply(state_, decide::WorkloadFinished{id});
        apply(state_, decide::WorkloadRemoved{id});
        outcome_.end = end.second;
        outcome_.work += job.amount * job.duration;
    }

    // Decides until nothing more comes of it at this moment: whoever is preempted ends at once.
    void settle(std::int64_t now) {
        while (true) {
            const decide::Decision decision = decide::decide(state_, at(now));
            ++outcome_.decisions;
            for (const decide::Admit& admit : decision.admits)
                start(job_of(admit.workload), now);
            for (const decide::Evict& evict : decision.evicts)
                stop(evict.workload, now);
            if (decision.evicts.empty()) return;
        }
    }

    void start(std::size_t number, std::int64_t now) {
        outcome_.jobs[number].started = now;
        ends_.push({now + trace_.jobs[number].duration, number, outcome_.jobs[number].preempted});
        --waiting_;
    }

    void stop(const std::string& id, std::int64_t now) {
        const std::size_t number = job_of(id);
        Played& played = outcome_.jobs[number];
        outcome_.lost_work += trace_.jobs[number].amount * (now - played.started.value_or(now));
        played.started.reset();
        ++played.preempted;
        apply(state_, decide::WorkloadEvicted{id});
        apply(state_, decide::WorkloadReleased{id});
        outcome_.longest_queue = std::max(outcome_.longest_queue, ++waiting_);
    }

    const Trace& trace_;
    const Policy& policy_;
    State state_;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
    std::int64_t waiting_ = 0;
    Outcome outcome_;
};

double percentile_95(std::vector<double>& values) {
    if (values.empty()) return 0;
    // Nearest rank.
    const auto rank = static_cast<std::ptrdiff_t>((values.size() * 95 + 99) / 100) - 1;
    std::nth_element(values.begin(), values.begin() + rank, values.end());
    return values[static_cast<std::size_t>(rank)];
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values)
        sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace

std::vector<Policy> known_policies() {
    using Order = Policy::Order;
    using Borrowing = Policy::Borrowing;
    using Sharing = Policy::Sharing;
    constexpr auto reclaim = Policy::Preempting::reclaim;
    return {
        {"FIFO, no borrowing", Order::strict_fifo, Borrowing::off, {}, {}},
        {"FIFO, borrowing", Order::strict_fifo, Borrowing::on, {}, {}},
        {"best effort, no borrowing", Order::best_effort_fifo, Borrowing::off, {}, {}},
        {"best effort, borrowing", Order::best_effort_fifo, Borrowing::on, {}, {}},
        {"best effort, reclaim", Order::best_effort_fifo, Borrowing::on, {}, reclaim},
        {"priority, no borrowing", Order::smallest_first, Borrowing::off, {}, {}},
        {"priority, borrowing", Order::smallest_first, Borrowing::on, {}, {}},
        {"fair sharing, borrowing", Order::best_effort_fifo, Borrowing::on, Sharing::fair, {}},
        {"fair sharing, reclaim", Order::best_effort_fifo, Borrowing::on, Sharing::fair, reclaim},
    };
}

std::vector<Policy> usual_policies() {
    std::vector<Policy> usual = known_policies();
    std::erase_if(
        usual, [](const Policy& policy) { return policy.preempting != Policy::Preempting::never; });
    return usual;
}

std::map<std::string, std::int64_t> quotas_by_work(const Trace& trace, std::int64_t capacity) {
    std::map<std::string, long double> work;
    long double all = 0;
    for (const TraceJob& job : trace.jobs) {
        const auto amount =
            static_cast<long double>(job.amount) * static_cast<long double>(job.duration);
        work[job.queue] += amount;
        all += amount;
    }
    const auto queues = static_cast<std::int64_t>(work.size());
    VERIFY(capacity >= queues);
    // One for each first; the rest by share, what is left over to the largest fractions.
    std::map<std::string, std::int64_t> quotas;
    std::vector<std::pair<long double, std::string>> fractions;
    std::int64_t left = capacity - queues;
    for (const auto& [queue, amount] : work) {
        const long double share = static_cast<long double>(capacity - queues) * amount / all;
        const auto whole = static_cast<std::int64_t>(share);
        quotas[queue] = 1 + whole;
        left -= whole;
        fractions.emplace_back(static_cast<long double>(whole) - share, queue);
    }
    std::sort(fractions.begin(), fractions.end());
    for (std::size_t i = 0; left > 0; --left, i = (i + 1) % fractions.size())
        ++quotas[fractions[i].second];
    return quotas;
}

Outcome replay(const Trace& trace, const Policy& policy, std::int64_t capacity) {
    return Player(trace, policy, capacity).play();
}

Summary summarize(const Trace& trace, const Outcome& outcome) {
    Summary summary;
    std::vector<double> waits;
    std::vector<double> slowdowns;
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
        summary.preemptions += outcome.jobs[i].preempted;
        if (!outcome.jobs[i].started) {
            ++summary.never_started;
            continue;
        }
        ++summary.completed;
        const auto wait = static_cast<double>(*outcome.jobs[i].started - trace.jobs[i].submitted);
        const auto run = static_cast<double>(trace.jobs[i].duration);
        waits.push_back(wait);
        slowdowns.push_back(std::max(1.0, (wait + run) / std::max(run, 10.0)));
    }
    summary.mean_wait = mean(waits);
    summary.p95_wait = percentile_95(waits);
    summary.mean_slowdown = mean(slowdowns);
    summary.p95_slowdown = percentile_95(slowdowns);
    if (outcome.end > 0) {
        summary.utilisation =
            static_cast<double>(outcome.work) /
            (static_cast<double>(outcome.capacity) * static_cast<double>(outcome.end));
    }
    return summary;
}

std::vector<std::int64_t> sorted_waits(const Trace& trace, const Outcome& outcome) {
    std::vector<std::int64_t> waits;
    for (std::size_t i = 0; i < trace.jobs.size(); ++i) {
        if (outcome.jobs[i].started)
            waits.push_back(*outcome.jobs[i].started - trace.jobs[i].submitted);
    }
    std::sort(waits.begin(), waits.end());
    return waits;
}

}  // namespace muster::replay
