// apps/replay/replay_command.cpp - reads the trace, plays it under each policy on threads of their
// own, prints and draws.
#include "apps/replay/replay_command.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <thread>

#include "apps/replay/report.h"
#include "base/error.h"

namespace muster::replay {
namespace {

std::vector<Policy> chosen_policies(const std::vector<std::string>& names) {
    if (names.empty()) return usual_policies();
    std::vector<Policy> known = known_policies();
    std::vector<Policy> chosen;
    for (const std::string& name : names) {
        const auto found = std::find_if(known.begin(), known.end(),
                                        [&](const Policy& policy) { return policy.name == name; });
        if (found == known.end()) {
            std::string all;
            for (const Policy& policy : known)
                all += "\n  " + policy.name;
            throw Error(Reason::invalid, "there is no policy \"" + name + "\"; there are:" + all);
        }
        chosen.push_back(*found);
    }
    return chosen;
}

void check_capacity(const Trace& trace, std::int64_t capacity) {
    std::set<std::string> queues;
    for (const TraceJob& job : trace.jobs)
        queues.insert(job.queue);
    if (capacity < static_cast<std::int64_t>(queues.size())) {
        throw Error(Reason::invalid, "--capacity " + std::to_string(capacity) + " is below the " +
                                         std::to_string(queues.size()) +
                                         " queues of the trace: each gets at least 1");
    }
}

// Each replay is pure: they run side by side and give what they would give alone.
std::vector<Compared> play_all(const Trace& trace, const std::vector<Policy>& policies,
                               std::int64_t capacity) {
    std::vector<Compared> all(policies.size());
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < policies.size(); i = next++) {
            const Outcome outcome = replay(trace, policies[i], capacity);
            all[i] = {policies[i].name, summarize(trace, outcome), sorted_waits(trace, outcome)};
            std::fprintf(stderr, "%s: done\n", policies[i].name.c_str());
        }
    };
    std::vector<std::jthread> threads;
    const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
    for (std::size_t i = 0; i < std::min(most, policies.size()); ++i)
        threads.emplace_back(work);
    threads.clear();  // Joins.
    return all;
}

}  // namespace

int run_replay(const ReplayOptions& options) {
    if (options.output != "table" && options.output != "json")
        throw Error(Reason::invalid, "--output must be table or json");
    const std::vector<Policy> policies = chosen_policies(options.policies);
    const auto begin = std::chrono::steady_clock::now();
    const Trace trace = read_trace(options.trace);
    check_capacity(trace, options.capacity);
    const std::string title = std::to_string(trace.jobs.size()) + " jobs on " +
                              std::to_string(options.capacity) + " " + trace.resource;
    std::fprintf(stderr, "%s; %zu policies\n", title.c_str(), policies.size());
    const std::vector<Compared> all = play_all(trace, policies, options.capacity);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::fprintf(stderr, "%.1f s\n", took.count());
    std::fputs((options.output == "json" ? json_lines(all) : table(all)).c_str(), stdout);
    if (options.plot.empty()) return 0;
    std::ofstream file(options.plot);
    file << plot(title, all);
    file.close();
    if (!file) throw Error(Reason::internal_error, "cannot write " + options.plot);
    return 0;
}

}  // namespace muster::replay
