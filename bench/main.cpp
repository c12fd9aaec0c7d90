// bench/main.cpp - benchmarks of single parts: muster_bench [--json] [--folder DIR] [PART...].
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "api/json.h"
#include "base/error.h"
#include "base/text.h"
#include "bench/figures.h"

namespace muster::bench {

void Figures::heading(const std::string& text) const {
    if (form_ == Form::text) std::printf("%s\n", text.c_str());
}

void Figures::report(const std::string& name, double value, const std::string& unit) const {
    if (form_ == Form::json) {
        const api::Value line =
            api::Value::object({{"name", name}, {"value", value}, {"unit", unit}});
        std::printf("%s\n", api::to_json(line).c_str());
    } else {
        std::printf("  %-44s %12.1f %s\n", name.c_str(), value, unit.c_str());
    }
    std::fflush(stdout);
}

void Figures::report_cpu(const std::string& name, const std::function<void()>& call) const {
    call();
    long calls = 0;
    const std::clock_t start = std::clock();
    while (std::clock() - start < CLOCKS_PER_SEC / 3) {
        for (int i = 0; i < 20; ++i)
            call();
        calls += 20;
    }
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    report(name, seconds / static_cast<double>(calls) * 1e6, "us of CPU");
}

namespace {

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        if (line.starts_with("model name"))
            return std::string(trim(line.substr(line.find(':') + 1)));
    }
    return "unknown processor";
}

int run(const std::vector<std::string>& arguments) {
    Figures::Form form = Figures::Form::text;
    std::string folder = std::filesystem::temp_directory_path() / "muster-bench";
    std::vector<std::string> parts;
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        if (arguments[i] == "--json") {
            form = Figures::Form::json;
        } else if (arguments[i] == "--folder" && i + 1 < arguments.size()) {
            folder = arguments[++i];
        } else if (arguments[i] == "api" || arguments[i] == "store" || arguments[i] == "decide" ||
                   arguments[i] == "topology") {
            parts.push_back(arguments[i]);
        } else {
            std::fprintf(stderr,
                         "usage: muster_bench [--json] [--folder DIR] [api] [store] [decide] "
                         "[topology]\n");
            return 2;
        }
    }
    if (parts.empty()) parts = {"api", "store", "decide", "topology"};
    const Figures figures(form);
    figures.heading(join(arguments, " ") + "   (" +
                    std::to_string(std::thread::hardware_concurrency()) + " x " + processor() +
                    ")");
    for (const std::string& part : parts) {
        figures.heading(part);
        if (part == "api") bench_api(figures);
        if (part == "store") bench_store(figures, folder);
        if (part == "decide") bench_decide(figures);
        if (part == "topology") bench_topology(figures);
    }
    return 0;
}

}  // namespace
}  // namespace muster::bench

int main(int count, char** arguments) {
    try {
        return muster::bench::run({arguments, arguments + count});
    } catch (const muster::Error& error) {
        std::fprintf(stderr, "muster_bench: %s\n", error.what());
        return 1;
    }
}
