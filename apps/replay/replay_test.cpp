// apps/replay/replay_test.cpp - traces are read or refused by line, and replays count what
// happened.
#include "apps/replay/replay.h"

#include <string>

#include <doctest/doctest.h>

#include "apps/replay/report.h"
#include "base/error.h"

namespace muster::replay {
namespace {

std::string refusal(const std::string& text) {
    try {
        parse_trace(text);
    } catch (const Error& error) {
        return error.what();
    }
    return "accepted";
}

Policy policy_named(const std::string& name) {
    for (const Policy& policy : known_policies()) {
        if (policy.name == name) return policy;
    }
    FAIL("no policy ", name);
    return {};
}

TEST_CASE("a table is read by its header, in order of submission, and blank lines are nothing") {
    const Trace trace = parse_trace(
        "timestamp,duration,num_gpus,gpu_time,cluster\n"
        "2017-10-09 07:01:55,66.4,1,66.4,b\r\n"
        "2017-10-09 07:00:55,10,4,40,a\n"
        "2017-10-09 07:02:55,0,4,0,a\n"
        "\n");
    CHECK(trace.resource == "nvidia.com/gpu");
    CHECK(trace.left_out == 1);
    REQUIRE(trace.jobs.size() == 2);
    CHECK(trace.jobs[0] == TraceJob{0, 10, 4, 0, "a"});
    CHECK(trace.jobs[1] == TraceJob{60, 66, 1, 0, "b"});
}

TEST_CASE("the Standard Workload Format is read; what was asked for counts, else what was used") {
    const Trace trace = parse_trace(
        "; a comment\n"
        "1 100 5 60 8 1 -1 16 -1 -1 1 1 1 1 3 1 -1 -1\n"
        "2 160 5 60 8 1 -1 -1 -1 -1 1 1 1 1 -1 1 -1 -1\n"
        "3 160 5 -1 8 1 -1 -1 -1 -1 1 1 1 1 -1 1 -1 -1\n");
    CHECK(trace.resource == "cpu");
    REQUIRE(trace.jobs.size() == 2);
    CHECK(trace.jobs[0] == TraceJob{0, 60, 16, 0, "queue-3"});
    CHECK(trace.jobs[1] == TraceJob{60, 60, 8, 0, "queue-0"});
    CHECK(trace.left_out == 1);
}

TEST_CASE("a wrong trace is refused with its line") {
    CHECK(refusal("").find("has no job") != std::string::npos);
    CHECK(refusal("a,b\n1,2\n").find("a header with the columns") != std::string::npos);
    const std::string header = "timestamp,duration,num_gpus\n";
    CHECK(refusal(header + "0,1,1\n0,1\n").find("line 3 of the trace: it has 2 cells") == 0);
    CHECK(refusal(header + "yesterday,1,1\n").find("line 2 of the trace: the time") == 0);
    CHECK(refusal(header + "0,1e30,1\n").find("line 2 of the trace: the duration") == 0);
    CHECK(refusal(header + "0,nan,1\n").find("line 2 of the trace: the duration") == 0);
    CHECK(refusal(header + "0,1,-1\n").find("has no job") != std::string::npos);
    CHECK(refusal("1 2 3\n").find("line 1 of the trace: it has 3 fields") == 0);
}

TEST_CASE("capacity is divided by work, in whole units, at least one for each queue") {
    Trace trace;
    trace.jobs = {{0, 100, 3, 0, "a"}, {0, 100, 1, 0, "b"}, {0, 1, 1, 0, "c"}};
    const auto quotas = quotas_by_work(trace, 11);
    CHECK(quotas == std::map<std::string, std::int64_t>{{"a", 7}, {"b", 3}, {"c", 1}});
}

TEST_CASE("without borrowing a queue waits for its own, with it for nobody") {
    Trace trace;
    trace.resource = "nvidia.com/gpu";
    // Each queue has 2 of 4: the second job of `a` must wait unless it may use what `b` leaves.
    trace.jobs = {{0, 100, 2, 0, "a"}, {0, 100, 2, 0, "a"}, {150, 200, 2, 0, "b"}};
    const Outcome own = replay(trace, policy_named("FIFO, no borrowing"), 4);
    CHECK(own.jobs[0].started == 0);
    CHECK(own.jobs[1].started == 100);
    CHECK(own.jobs[2].started == 150);
    CHECK(own.longest_queue == 2);
    const Outcome borrowing = replay(trace, policy_named("FIFO, borrowing"), 4);
    CHECK(borrowing.jobs[1].started == 0);
    CHECK(borrowing.end == 350);
    const Summary summary = summarize(trace, own);
    CHECK(summary.mean_wait == doctest::Approx(100.0 / 3));
    CHECK(summary.p95_wait == 100);
    CHECK(summary.mean_slowdown == doctest::Approx(4.0 / 3));
    CHECK(summary.utilisation == doctest::Approx(800.0 / (4 * 350)));
}

TEST_CASE("what is lent out comes back when its owner reclaims it, and the lost work is counted") {
    Trace trace;
    trace.resource = "nvidia.com/gpu";
    trace.jobs = {{0, 100, 2, 0, "a"}, {1, 100, 2, 0, "a"}, {50, 100, 2, 0, "b"}};
    const Outcome outcome = replay(trace, policy_named("best effort, reclaim"), 4);
    CHECK(outcome.jobs[2].started == 50);
    CHECK(outcome.jobs[1].preempted == 1);
    CHECK(outcome.jobs[1].started == 100);
    CHECK(outcome.lost_work == 2 * 49);
    CHECK(outcome.work == 600);
    CHECK(summarize(trace, outcome).preemptions == 1);
    const Outcome fair = replay(trace, policy_named("fair sharing, reclaim"), 4);
    CHECK(fair.jobs[2].started == 50);
}

TEST_CASE("what can never start is counted, and the plot has a curve for each policy") {
    Trace trace;
    trace.resource = "nvidia.com/gpu";
    trace.jobs = {{0, 100, 4, 0, "a"}, {0, 100, 1, 0, "b"}};
    const Outcome outcome = replay(trace, policy_named("best effort, no borrowing"), 4);
    const Summary summary = summarize(trace, outcome);
    CHECK(summary.never_started == 1);
    CHECK(summary.completed == 1);
    const std::vector<Compared> all = {{"a < b", summary, sorted_waits(trace, outcome)}};
    CHECK(table(all).find("a < b") != std::string::npos);
    CHECK(json_lines(all).find("\"neverStarted\":1") != std::string::npos);
    CHECK(plot("two & two", all).find("a &lt; b") != std::string::npos);
}

}  // namespace
}  // namespace muster::replay
