// bench_load/main.cpp - muster_load --kubeconfig FILE [--load 1|2] [--percent N] [--json]
// [--process NAME=PID]...: plays a load of Workloads against any API server, and says how it went.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "api/json.h"
#include "base/error.h"
#include "base/text.h"
#include "bench_load/bound.h"
#include "bench_load/player.h"
#include "control/queue/planner.h"
#include "kube/http_transport.h"
#include "kube/kubeconfig.h"
#include "net/asio_loop.h"

namespace muster::load {
namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw Error(Reason::bad_request, "cannot read " + path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A process whose use is told: seconds of cpu since it was first looked at, most memory ever.
class Watched {
public:
    /// `named`: NAME=PID.
    explicit Watched(const std::string& named) {
        const auto halves = split_first(named, '=');
        if (!halves || halves->before.empty() || halves->after.empty())
            throw Error(Reason::bad_request, "--process takes NAME=PID, not '" + named + "'");
        name_ = std::string(halves->before);
        pid_ = std::string(halves->after);
        before_ = cpu_seconds();
    }
    const std::string& name() const { return name_; }
    double seconds() const { return cpu_seconds() - before_; }

    double megabytes() const {
        std::ifstream file("/proc/" + pid_ + "/status");
        std::string line;
        while (std::getline(file, line)) {
            if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
        }
        return 0;
    }

private:
    // The fields behind the name, which may hold anything; user and system time are 14 and 15.
    double cpu_seconds() const {
        const std::string text = read_file("/proc/" + pid_ + "/stat");
        std::vector<std::string> fields;
        for (const auto part : split(text.substr(text.rfind(')') + 2), ' '))
            fields.emplace_back(part);
        if (fields.size() < 13)
            throw Error(Reason::bad_request, "cannot read the times of process " + pid_);
        return (std::stod(fields[11]) + std::stod(fields[12])) /
               static_cast<double>(sysconf(_SC_CLK_TCK));
    }

    std::string name_;
    std::string pid_;
    double before_ = 0;
};

struct Flags {
    std::string kubeconfig;
    int load = 1;
    std::int64_t percent = 100;
    bool json = false;
    std::vector<std::string> processes;
};

void report(const Flags& flags, const std::string& name, double value, const std::string& unit) {
    if (flags.json) {
        const api::Value line =
            api::Value::object({{"name", name}, {"value", value}, {"unit", unit}});
        std::printf("%s\n", api::to_json(line).c_str());
    } else {
        std::printf("  %-44s %12.2f %s\n", name.c_str(), value, unit.c_str());
    }
    std::fflush(stdout);
}

double in_seconds(Duration duration) {
    return static_cast<double>(duration.nanoseconds) / 1e9;
}

struct Bounds {
    Bound at_once;
    Bound together;  // With the planner's wait for more to come back.
};

void report_all(const Flags& flags, const LoadPlan& plan, const Bounds& bounds,
                const LoadFigures& figures, const std::vector<Watched>& processes) {
    const auto workloads = static_cast<double>(plan.workloads());
    report(flags, "wall", in_seconds(figures.wall), "s");
    report(flags, "least that the load allows", in_seconds(plan.shortest()), "s");
    report(flags, "the same decisions without any delay", in_seconds(bounds.at_once.wall), "s");
    report(flags, "and given out together, as muster does", in_seconds(bounds.together.wall), "s");
    report(flags, "admissions", workloads / in_seconds(figures.wall), "1/s");
    report(flags, "quota in use",
           100.0 * static_cast<double>(figures.held) /
               (static_cast<double>(plan.cpus()) * static_cast<double>(figures.wall.nanoseconds)),
           "%");
    for (std::size_t i = 0; i < plan.classes.size(); ++i) {
        const ClassFigures& each = figures.classes[i];
        report(flags, "mean time to admission, " + plan.classes[i].name,
               in_seconds(each.to_admission) /
                   static_cast<double>(std::max<std::int64_t>(1, each.workloads)),
               "s");
    }
    report(flags, "evictions", static_cast<double>(figures.evictions), "");
    report(flags, "writes per workload, all but ours",
           static_cast<double>(figures.other_writes) / workloads, "");
    report(flags, "conflicts of our writes", static_cast<double>(figures.conflicts), "");
    for (const Watched& each : processes) {
        report(flags, each.name() + ", cpu", each.seconds(), "s");
        report(flags, each.name() + ", most memory", each.megabytes(), "MB");
    }
}

int play(const Flags& flags) {
    const kube::Connection connection =
        kube::connection_of({{flags.kubeconfig, read_file(flags.kubeconfig)}}, {}, read_file);
    const LoadPlan plan = numbered_plan(flags.load, flags.percent);
    const Bounds bounds{bound_of(plan),
                        bound_of(plan, {{}, {}, {}, control::queue::quota_back_pause})};
    std::vector<Watched> processes;
    for (const std::string& named : flags.processes)
        processes.emplace_back(named);
    processes.emplace_back("this program=" + std::to_string(getpid()));
    net::AsioLoop loop;
    net::ClientOptions options;
    options.response_timeout = minutes(5);
    kube::HttpTransport transport(loop, loop, connection, options,
                                  kube::HttpTransport::Sends::in_order);
    LoadPlayer player(transport, loop, plan);
    int code = 0;
    player.start(
        [&](const LoadFigures& figures) {
            if (isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\n");
            report_all(flags, plan, bounds, figures, processes);
            loop.stop();
        },
        [&](const std::string& text) {
            std::fprintf(stderr, "muster_load: %s\n", text.c_str());
            code = 1;
            loop.stop();
        },
        [&](std::int64_t created, std::int64_t ended) {
            if (isatty(STDERR_FILENO) == 0) return;
            std::fprintf(stderr, "\rcreated %lld, ended %lld of %lld",
                         static_cast<long long>(created), static_cast<long long>(ended),
                         static_cast<long long>(plan.workloads()));
        });
    loop.run();
    return code;
}

}  // namespace
}  // namespace muster::load

int main(int count, char** arguments) {
    muster::load::Flags flags;
    CLI::App app("Plays a load of Workloads against an API server that has none.", "muster_load");
    app.add_option("--kubeconfig", flags.kubeconfig, "of an administrator")->required();
    app.add_option("--load", flags.load, "1: 15,000 workloads in 30 queues; 2: 50,000 in 1,000")
        ->check(CLI::Range(1, 2));
    app.add_option("--percent", flags.percent, "of the workloads of each class")
        ->check(CLI::Range(1, 100));
    app.add_option("--process", flags.processes, "NAME=PID, whose cpu and memory are told");
    app.add_flag("--json", flags.json, "each figure as a line of JSON");
    CLI11_PARSE(app, count, arguments);
    try {
        return muster::load::play(flags);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "muster_load: %s\n", error.what());
        return 1;
    }
}
