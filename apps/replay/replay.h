// apps/replay/replay.h - plays a trace through decide/ under one policy; pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/replay/trace.h"

namespace muster::replay {

/// How the trace's queues share the cluster: each is a ClusterQueue, all are in one cohort.
struct Policy {
    enum class Order { strict_fifo, best_effort_fifo, smallest_first };
    enum class Borrowing { off, on };
    /// `fair`: whose queue borrows least goes first.
    enum class Sharing { classical, fair };
    /// `reclaim`: what is lent out is taken back by preempting borrowers.
    enum class Preempting { never, reclaim };
    std::string name;
    Order order = Order::best_effort_fifo;
    Borrowing borrowing = Borrowing::on;
    Sharing sharing = Sharing::classical;
    Preempting preempting = Preempting::never;
};

/// All policies that can be asked for by name.
std::vector<Policy> known_policies();
/// Those that are compared unless others are asked for: the ones that preempt nobody.
std::vector<Policy> usual_policies();

/// What became of one job. Seconds after the first submission.
struct Played {
    std::optional<std::int64_t> started;  // For the last time; absent: never.
    std::int64_t preempted = 0;           // How often; each time its work was lost.
};

struct Outcome {
    std::vector<Played> jobs;  // As in the trace.
    std::int64_t capacity = 0;
    std::int64_t end = 0;            // When the last job ended.
    std::int64_t work = 0;           // Amount times seconds of the runs that completed.
    std::int64_t lost_work = 0;      // And of those that were cut short.
    std::int64_t decisions = 0;      // How often something was decided.
    std::int64_t longest_queue = 0;  // Most jobs that waited at once.
};

/// `capacity` divided among the queues by the work that each submits: in whole units by largest
/// remainder, at least 1 each. Requires: capacity >= number of queues.
std::map<std::string, std::int64_t> quotas_by_work(const Trace& trace, std::int64_t capacity);

/// Plays the whole trace. A job that is preempted starts again from the beginning.
Outcome replay(const Trace& trace, const Policy& policy, std::int64_t capacity);

/// The figures by which policies are compared. Times in seconds; a slowdown is bounded: the time
/// from submission to end over the run time, runs below 10 s counted as 10 s.
struct Summary {
    double mean_wait = 0;
    double p95_wait = 0;
    double mean_slowdown = 0;
    double p95_slowdown = 0;
    double utilisation = 0;  // Completed work over capacity, from first submission to last end.
    std::int64_t completed = 0;
    std::int64_t never_started = 0;
    std::int64_t preemptions = 0;
};
Summary summarize(const Trace& trace, const Outcome& outcome);

/// The waits of all jobs that started, in rising order.
std::vector<std::int64_t> sorted_waits(const Trace& trace, const Outcome& outcome);

}  // namespace muster::replay
