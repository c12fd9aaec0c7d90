// apps_sim/main.cpp - the simulator's command line: one seed, some seeds, or fresh ones for a
// while.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "sim/broken.h"
#include "sim/faults.h"
#include "sim/leaders.h"
#include "sim/scenario_files.h"
#include "sim/scenario_play.h"
#include "sim/story.h"

namespace {

struct Totals {
    std::vector<muster::sim::ScenarioFile> files = muster::sim::scenario_files();
    int runs = 0;
    int scenarios = 0;
    int failed = 0;
    muster::Duration simulated{0};
    std::int64_t faults = 0;
    std::int64_t changes = 0;
    std::map<std::string, muster::sim::FaultyTransport::Writes> writes;
};

/// Plays a seed; a seed alone and every tenth twice over, so that a difference between two runs of
/// one seed shows.
void play(std::uint64_t seed, bool alone, Totals& totals) {
    const bool twice = alone || seed % 10 == 0;
    muster::Random random(seed ^ 0x5eed);
    const muster::sim::Faults faults =
        seed == 0 ? muster::sim::Faults::none() : muster::sim::Faults::draw(random);
    muster::sim::Outcome outcome = muster::sim::play_story(seed, faults);
    if (twice && outcome.broken.empty()) {
        const muster::sim::Outcome again = muster::sim::play_story(seed, faults);
        if (again.trace != outcome.trace) outcome.broken = "two runs of this seed differ";
    }
    // And a scenario on a bad day of the same seed.
    if (outcome.broken.empty() && seed != 0 && !totals.files.empty()) {
        outcome.broken = muster::sim::play_faulty(totals.files[seed % totals.files.size()], seed);
        ++totals.scenarios;
    }
    // And two operators, of which one leads.
    if (outcome.broken.empty() && seed != 0)
        outcome.broken = muster::sim::play_leaders(seed, muster::minutes(5));
    ++totals.runs;
    totals.simulated = totals.simulated + outcome.simulated;
    totals.faults += outcome.faults;
    totals.changes += outcome.changes;
    for (const auto& [writer, writes] : outcome.writes) {
        totals.writes[writer].sent += writes.sent;
        totals.writes[writer].cut += writes.cut;
    }
    if (outcome.broken.empty()) return;
    ++totals.failed;
    std::printf("seed %llu: %s\n  faults: %s\n  replay: ./dev sim --seed %llu\n",
                static_cast<unsigned long long>(seed), outcome.broken.c_str(),
                faults.text().c_str(), static_cast<unsigned long long>(seed));
    if (alone) std::fputs(outcome.left.c_str(), stdout);
    std::fflush(stdout);
}

/// How often each controller wrote, and how often a crash cut its writing.
void print_writes(const Totals& totals) {
    for (const auto& [writer, writes] : totals.writes) {
        std::printf("%-48s %10lld writes, cut by %lld crashes\n", writer.c_str(),
                    static_cast<long long>(writes.sent), static_cast<long long>(writes.cut));
    }
}

void usage() {
    std::puts(
        "muster_sim --seed N          plays one seed, with its log (seed 0: without faults)\n"
        "muster_sim --seeds N [--from M]   plays seeds M to M+N-1 (M: 0)\n"
        "muster_sim --seconds N       plays fresh seeds for that long\n"
        "muster_sim --record          writes what the scenarios tell a server and what it is to "
        "say");
}

int print_records() {
    try {
        for (const muster::sim::ScenarioFile& file : muster::sim::scenario_files()) {
            for (const std::string& line : muster::sim::record(file))
                std::puts(line.c_str());
        }
        return 0;
    } catch (const muster::sim::Broken& broken) {
        std::fprintf(stderr, "muster_sim: %s\n", broken.what.c_str());
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::uint64_t seed = 0, from = 0;
    long seeds = -1, seconds = -1;
    bool one = false;
    if (argc == 2 && std::string(argv[1]) == "--record") {
        muster::set_log_level(muster::LogLevel::error);
        return print_records();
    }
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string flag = argv[i];
        const std::uint64_t value = std::strtoull(argv[i + 1], nullptr, 10);
        if (flag == "--seed") {
            one = true;
            seed = value;
        } else if (flag == "--seeds") {
            seeds = static_cast<long>(value);
        } else if (flag == "--from") {
            from = value;
        } else if (flag == "--seconds") {
            seconds = static_cast<long>(value);
        } else {
            usage();
            return 2;
        }
    }
    if (!one && seeds < 0 && seconds < 0) seconds = 30;
    muster::set_log_level(one ? muster::LogLevel::debug : muster::LogLevel::error);
    const auto begun = std::chrono::steady_clock::now();
    const auto spent = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    };
    Totals totals;
    if (one) {
        play(seed, true, totals);
    } else if (seeds >= 0) {
        for (long i = 0; i < seeds; ++i)
            play(from + static_cast<std::uint64_t>(i), false, totals);
    } else {
        for (std::uint64_t fresh = std::random_device()(); spent() < static_cast<double>(seconds);
             ++fresh) {
            play(fresh, false, totals);
        }
    }
    if (!one) print_writes(totals);
    std::printf(
        "%d runs and %d scenarios, %.1f simulated hours, %lld faults, %lld changes checked, %.1f "
        "s\n"
        "%d passed, %d failed\n",
        totals.runs, totals.scenarios, static_cast<double>(totals.simulated.nanoseconds) / 3.6e12,
        static_cast<long long>(totals.faults), static_cast<long long>(totals.changes), spent(),
        totals.runs - totals.failed, totals.failed);
    return totals.failed == 0 ? 0 : 1;
}
