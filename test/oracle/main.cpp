// test/oracle/main.cpp - plays every recorded case against Muster, tells where it agrees with Kueue
// and fails when it agrees less than before.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "api/json.h"
#include "api/value.h"
#include "test/oracle/planner_cluster.h"
#include "test/oracle/report.h"
#include "test/oracle/server_cluster.h"

namespace muster::oracle {
namespace {

struct Flags {
    std::string cases = ORACLE_CASES;
    std::string floors = ORACLE_FLOORS;
    std::vector<std::string> only;
    std::string show;
    std::string out;
    bool list = false;
    bool raise = false;
    bool server = false;
    bool remedies = false;
    bool apart = false;
    std::size_t every = 1;
};

bool is_wanted(const Case& recorded, const Flags& flags) {
    if (!flags.show.empty()) return recorded.id == flags.show;
    if (flags.only.empty()) return true;
    for (const std::string& part : flags.only) {
        if (recorded.id.find(part) != std::string::npos) return true;
    }
    return false;
}

std::vector<Played> play_all(const std::vector<Case>& cases, const Flags& flags) {
    std::vector<Played> played;
    std::size_t number = 0;
    for (const Case& recorded : cases) {
        if (!is_wanted(recorded, flags) || number++ % flags.every != 0) continue;
        const std::unique_ptr<Cluster> cluster = flags.server
                                                     ? make_server_cluster(recorded.variant)
                                                     : make_planner_cluster(recorded.variant);
        Played one;
        one.recorded = &recorded;
        one.outcome = play(recorded, *cluster, flags.remedies ? Trying::remedies : Trying::nothing,
                           flags.apart ? Several::apart : Several::together);
        one.differences = differences(recorded.outcome, one.outcome.steps, recorded.noisy);
        played.push_back(std::move(one));
    }
    return played;
}

/// Writes what came out as a file of results, one per line: of scenarios that nobody has recorded
/// it is what two runs are compared by.
void write_results(const std::vector<Played>& played, const std::string& path) {
    std::ofstream file(path);
    file << "{\"results\":[";
    const char* separator = "\n";
    for (const Played& one : played) {
        api::Value steps = api::Value::array();
        for (const api::Value& step : one.outcome.steps)
            steps.push(step);
        api::Value result =
            api::Value::object({{"id", one.recorded->id}, {"steps", std::move(steps)}});
        if (!one.outcome.unsettled.empty()) result.set("unsettled", one.outcome.unsettled);
        file << std::exchange(separator, ",\n") << api::to_json(result);
    }
    file << "\n]}\n";
}

/// Tells of the suggestions that were tried; 0 when all were right.
int tell_remedies(const std::vector<Played>& played) {
    Cluster::Remedies all;
    for (const Played& one : played) {
        all.waiting += one.outcome.remedies.waiting;
        all.suggested += one.outcome.remedies.suggested;
        for (const auto& [reason, counts] : one.outcome.remedies.by_reason) {
            all.by_reason[reason].first += counts.first;
            all.by_reason[reason].second += counts.second;
        }
        all.wrong.insert(all.wrong.end(), one.outcome.remedies.wrong.begin(),
                         one.outcome.remedies.wrong.end());
    }
    for (const std::string& wrong : all.wrong)
        std::printf("FAILED %s\n", wrong.c_str());
    for (const auto& [reason, counts] : all.by_reason) {
        std::printf("%7lld of %7lld %s\n", static_cast<long long>(counts.second),
                    static_cast<long long>(counts.first), reason.c_str());
    }
    std::printf("%lld waited, %lld had a change suggested that starts them, %zu were wrong\n",
                static_cast<long long>(all.waiting), static_cast<long long>(all.suggested),
                all.wrong.size());
    return all.wrong.empty() && all.suggested > 0 ? 0 : 1;
}

int run(const Flags& flags) {
    const auto begin = std::chrono::steady_clock::now();
    const std::vector<Case> cases = load_cases(flags.cases);
    const std::vector<Played> played = play_all(cases, flags);
    if (played.empty()) {
        std::puts("no case has that name");
        return 2;
    }
    if (!flags.out.empty()) {
        write_results(played, flags.out);
        for (const Played& one : played) {
            if (!one.outcome.unsettled.empty()) std::puts(summary(one).c_str());
        }
        std::printf("%zu played\n", played.size());
        return 0;
    }
    if (flags.remedies) return tell_remedies(played);
    if (!flags.show.empty()) {
        std::fputs(whole(played.front()).c_str(), stdout);
        return 0;
    }
    for (const Played& one : played) {
        if (flags.list && !one.is_equal()) std::puts(summary(one).c_str());
    }
    const auto families = agreement_of(played);
    if (flags.list) std::fputs(field_table(played).c_str(), stdout);
    std::fputs(table(families).c_str(), stdout);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%zu cases in %.1f s\n", played.size(), took.count());
    if (!flags.only.empty() || flags.every != 1 || flags.apart) return 0;
    Floor floor(flags.floors + (flags.server ? "/floor_server.txt" : "/floor.txt"));
    if (flags.raise) floor.raise(families);
    const std::vector<std::string> missed = floor.missed(families);
    for (const std::string& line : missed)
        std::printf("FAILED %s\n", line.c_str());
    return missed.empty() ? 0 : 1;
}

}  // namespace
}  // namespace muster::oracle

int main(int argc, char** argv) {
    muster::oracle::Flags flags;
    CLI::App app("Plays the recorded cases of Kueue against Muster's queues.");
    app.add_option("--cases", flags.cases, "a recorded file, or a folder of them");
    app.add_option("--floors", flags.floors, "the folder with the least agreement that passes");
    app.add_option("--only", flags.only, "cases whose id contains one of these")->delimiter(',');
    app.add_option("--show", flags.show, "one case in full, expected (-) against got (+)");
    app.add_flag("--list", flags.list, "a line for each case that differs");
    app.add_flag("--server", flags.server,
                 "through the API server and the whole control plane, not the planner alone");
    app.add_flag("--remedies", flags.remedies,
                 "try what `muster why` suggests to each that waits, on the planner alone");
    app.add_flag("--apart", flags.apart, "what ends together is heard one after the other");
    app.add_option("--out", flags.out, "write what came out as results and compare nothing");
    app.add_option("--every", flags.every, "only every n-th case")->check(CLI::PositiveNumber);
    app.add_flag("--raise", flags.raise, "raise the floor to the agreement of this run");
    CLI11_PARSE(app, argc, argv);
    return muster::oracle::run(flags);
}
