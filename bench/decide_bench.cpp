// bench/decide_bench.cpp - what a decision costs: with many waiting, many queues, many victims.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <malloc.h>
#include <time.h>

#include "base/random.h"
#include "base/verify.h"
#include "bench/figures.h"
#include "decide/cycle.h"

// Of jemalloc, where that is linked (release); null elsewhere.
extern "C" int mallctl(const char* name, void* old, std::size_t* old_size, void* now,
                       std::size_t now_size) __attribute__((weak));

namespace muster::bench {
namespace {

using decide::Admit;
using decide::apply;
using decide::ClusterQueue;
using decide::Decision;
using decide::Flavor;
using decide::FlavorSet;
using decide::LocalQueue;
using decide::LocalQueueSet;
using decide::NamespaceSet;
using decide::Options;
using decide::OptionsSet;
using decide::PodSet;
using decide::Preemption;
using decide::QueueSet;
using decide::Quota;
using decide::Selector;
using decide::State;
using decide::Workload;
using decide::WorkloadFinished;
using decide::WorkloadRemoved;
using decide::WorkloadSet;

/// Of this thread: on a busy machine the wall tells of the others. A decision waits for nothing.
double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

constexpr Time start{1'700'000'000'000'000'000};

/// A world to measure in: equal queues in equal cohorts, one flavor, cpu.
struct Shape {
    int queues = 1'000;
    int cohorts = 100;
    std::int64_t quota = 20'000;  // Thousandths of a cpu, for each queue.
    bool fair = false;
    bool preempts = false;
};

std::string numbered(const char* what, int number) {
    return what + std::to_string(number);
}

ClusterQueue queue_of(const Shape& shape, int number) {
    ClusterQueue queue;
    queue.name = numbered("queue-", number);
    if (shape.cohorts > 0) queue.cohort = numbered("cohort-", number % shape.cohorts);
    queue.namespaces = Selector{};
    Quota quota;
    quota.nominal = Amount{shape.quota};
    quota.borrowing_limit = Amount{shape.quota * 5};
    queue.groups = {{{"cpu"}, {{"default", {{"cpu", quota}}}}}};
    if (shape.preempts) {
        queue.preemption.within_queue = Preemption::WithinQueue::lower_priority;
        queue.preemption.reclaim_within_cohort = Preemption::Reclaim::any;
    }
    return queue;
}

State world_of(const Shape& shape) {
    State state;
    Options options;
    if (shape.fair) options.fair_sharing.emplace();
    apply(state, OptionsSet{options});
    apply(state, NamespaceSet{"team", {}});
    Flavor flavor;
    flavor.name = "default";
    apply(state, FlavorSet{flavor});
    for (int i = 0; i < shape.queues; ++i) {
        apply(state, QueueSet{queue_of(shape, i)});
        LocalQueue local;
        local.ns = "team";
        local.name = numbered("queue-", i);
        local.cluster_queue = local.name;
        apply(state, LocalQueueSet{local});
    }
    return state;
}

Workload job(int number, int queue, std::int64_t cpu, std::int64_t priority) {
    Workload workload;
    workload.id = numbered("team/job-", number);
    workload.ns = "team";
    workload.local_queue = numbered("queue-", queue);
    workload.priority = priority;
    workload.created = start + microseconds(number);
    PodSet pods;
    pods.pod.requests["cpu"] = Amount{cpu};
    workload.pod_sets = {pods};
    return workload;
}

/// Jobs of the three sizes of Kueue's own benchmark.
Workload usual_job(int number, int queue, Random& random) {
    const std::uint64_t kind = random.below(10);
    if (kind < 7) return job(number, queue, 1'000, 50);
    return kind < 9 ? job(number, queue, 5'000, 100) : job(number, queue, 20'000, 200);
}

std::size_t bytes_in_use() {
    if (mallctl != nullptr) {
        std::uint64_t epoch = 1;
        std::size_t size = sizeof(epoch);
        VERIFY(mallctl("epoch", nullptr, nullptr, &epoch, size) == 0);  // Brings figures up to now.
        std::size_t allocated = 0;
        size = sizeof(allocated);
        VERIFY(mallctl("stats.allocated", &allocated, &size, nullptr, 0) == 0);
        return allocated;
    }
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

struct Times {
    std::vector<double> seconds;
    double at(double part) {
        std::sort(seconds.begin(), seconds.end());
        return seconds[static_cast<std::size_t>(part * static_cast<double>(seconds.size() - 1))];
    }
};

/// A queue system at rest with so many waiting, and changes that keep it so.
class Busy {
public:
    Busy(const Shape& shape, int waiting) : shape_(shape), state_(world_of(shape)) {
        // First what runs, then what waits: enough to fill every queue.
        const int running = shape.queues * static_cast<int>(shape.quota / 1'000) * 2;
        for (int i = 0; i < running; ++i)
            submit(i % shape.queues);
        remember(decide::decide(state_, start + seconds(1)));
        malloc_trim(0);
        const std::size_t before = bytes_in_use();
        const int first = next_;
        while (next_ - first < waiting)
            submit(next_ % shape.queues);
        remember(decide::decide(state_, start + seconds(2)));
        bytes_ = static_cast<double>(bytes_in_use() - before) / waiting;
    }

    double bytes_per_waiting() const { return bytes_; }
    const State& state() const { return state_; }

    /// One ends and another comes: each is a change with its decision.
    void turn(Times& ends, Times& arrivals) {
        VERIFY(!running_.empty());
        const std::size_t which = random_.below(running_.size());
        const std::string id = running_[which];
        running_[which] = running_.back();
        running_.pop_back();
        ends.seconds.push_back(measured([&] {
            apply(state_, WorkloadFinished{id});
            return decide::decide(state_, start + seconds(3));
        }));
        apply(state_, WorkloadRemoved{id});
        arrivals.seconds.push_back(measured([&] {
            submit(next_ % shape_.queues);
            return decide::decide(state_, start + seconds(3));
        }));
    }

private:
    template <class Change>
    double measured(const Change& change) {
        const double begin = cpu_seconds();
        const Decision decision = change();
        const double took = cpu_seconds() - begin;
        remember(decision);
        return took;
    }
    void submit(int queue) { apply(state_, WorkloadSet{usual_job(next_++, queue, random_)}); }
    void remember(const Decision& decision) {
        for (const Admit& admit : decision.admits)
            running_.push_back(admit.workload);
    }

    Shape shape_;
    Random random_{1};
    State state_;
    int next_ = 0;
    std::vector<std::string> running_;
    double bytes_ = 0;
};

void report_changes(const Figures& figures, const std::string& name, Busy& busy, int turns) {
    Times ends;
    Times arrivals;
    for (int i = 0; i < turns; ++i)
        busy.turn(ends, arrivals);
    figures.report("decide: one ends, " + name + ", median", ends.at(0.5) * 1e6, "us");
    figures.report("decide: one ends, " + name + ", p99", ends.at(0.99) * 1e6, "us");
    figures.report("decide: one comes, " + name + ", median", arrivals.at(0.5) * 1e6, "us");
    figures.report("decide: one comes, " + name + ", p99", arrivals.at(0.99) * 1e6, "us");
}

/// Everything fits: how many starts a second from submission to rest.
void report_admissions(const Figures& figures) {
    Shape shape;
    shape.quota = 1'000'000'000;
    constexpr int count = 100'000;
    State state = world_of(shape);
    Random random(1);
    for (int i = 0; i < count; ++i)
        apply(state, WorkloadSet{usual_job(i, i % 1'000, random)});
    const double begin = cpu_seconds();
    const std::size_t admitted = decide::decide(state, start + seconds(1)).admits.size();
    const double took = cpu_seconds() - begin;
    VERIFY(admitted == count);
    figures.report("decide: admissions to rest", count / took, "/s");
}

void report_clone(const Figures& figures, const Busy& busy) {
    std::vector<double> milliseconds;
    const std::size_t before = bytes_in_use();
    std::vector<State> copies;
    for (int i = 0; i < 9; ++i) {
        const double begin = cpu_seconds();
        copies.push_back(busy.state());
        milliseconds.push_back((cpu_seconds() - begin) * 1e3);
    }
    std::sort(milliseconds.begin(), milliseconds.end());
    figures.report("decide: copy of the state, 100,000 waiting", milliseconds[4], "ms");
    figures.report("decide: memory of a copy",
                   static_cast<double>(bytes_in_use() - before) / 9 / 1e6, "MB");
}

/// 10,000 small jobs run and fill the quota, with several queues also that of the first; a job
/// there needs the room of a hundred of them.
void report_preemption(const Figures& figures, const std::string& name, int queues) {
    constexpr int victims = 10'000;
    Shape shape;
    shape.queues = queues;
    shape.cohorts = 1;
    shape.quota = victims / queues * 1'000;
    shape.preempts = true;
    State state = world_of(shape);
    for (int i = 0; i < victims; ++i)
        apply(state, WorkloadSet{job(i, queues == 1 ? 0 : 1 + i % (queues - 1), 1'000, 50)});
    VERIFY(decide::decide(state, start + seconds(1)).admits.size() == victims);
    std::vector<double> milliseconds;
    for (int i = 0; i < 9; ++i) {
        State copy = state;
        apply(copy, WorkloadSet{job(victims + i, 0, 100'000, 200)});
        const double begin = cpu_seconds();
        const std::size_t evicted = decide::decide(copy, start + seconds(2)).evicts.size();
        milliseconds.push_back((cpu_seconds() - begin) * 1e3);
        VERIFY(evicted == 100);
    }
    std::sort(milliseconds.begin(), milliseconds.end());
    figures.report("decide: preemption among 10,000, " + name, milliseconds[4], "ms");
}

}  // namespace

void bench_decide(const Figures& figures) {
    report_admissions(figures);
    {
        Busy busy(Shape{}, 100'000);
        figures.report("decide: memory of one that waits", busy.bytes_per_waiting(), "bytes");
        report_clone(figures, busy);
        report_changes(figures, "100,000 wait in 1,000 queues", busy, 4'000);
    }
    for (const int waiting : {1'000, 10'000, 1'000'000}) {
        Busy busy(Shape{}, waiting);
        report_changes(figures, std::to_string(waiting) + " wait in 1,000 queues", busy, 1'000);
    }
    for (const int queues : {10, 100, 10'000}) {
        Shape shape;
        shape.queues = queues;
        shape.cohorts = std::max(1, queues / 10);
        Busy busy(shape, 100'000);
        report_changes(figures, "100,000 wait in " + std::to_string(queues) + " queues", busy,
                       1'000);
    }
    for (const int queues : {10, 100, 1'000, 3'000}) {
        Shape shape;
        shape.queues = queues;
        shape.cohorts = 1;
        Busy busy(shape, 100'000);
        report_changes(figures,
                       "100,000 wait in " + std::to_string(queues) + " queues of one cohort", busy,
                       400);
    }
    {
        Shape shape;
        shape.fair = true;
        Busy busy(shape, 100'000);
        report_changes(figures, "fair sharing, 100,000 in 1,000 queues", busy, 1'000);
    }
    report_preemption(figures, "one queue", 1);
    report_preemption(figures, "100 queues", 100);
}

}  // namespace muster::bench
