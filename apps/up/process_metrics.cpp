// apps/up/process_metrics.cpp - reads /proc/self when somebody asks.
#include "apps/up/process_metrics.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

namespace muster::up {
namespace {

double seconds_of(const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double now_seconds() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

double open_files() {
    std::error_code failed;
    double count = 0;
    for (auto at = std::filesystem::directory_iterator("/proc/self/fd", failed);
         !failed && at != std::filesystem::directory_iterator(); at.increment(failed))
        ++count;
    return count;
}

}  // namespace

void add_process_metrics(const std::shared_ptr<Metrics>& metrics) {
    const auto gauge = [&](const char* name, const char* help) -> Gauge& {
        return metrics->gauges({name, help, {}}).with();
    };
    Counter& cpu = metrics
                       ->counters({"process_cpu_seconds_total",
                                   "Total user and system CPU time spent in seconds.",
                                   {}})
                       .with();
    Gauge& resident = gauge("process_resident_memory_bytes", "Resident memory size in bytes.");
    Gauge& mapped = gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.");
    Gauge& files = gauge("process_open_fds", "Number of open file descriptors.");
    Gauge& files_max = gauge("process_max_fds", "Maximum number of open file descriptors.");
    gauge("process_start_time_seconds", "Start time of the process since unix epoch in seconds.")
        .set(now_seconds());
    metrics->before_text([&cpu, &resident, &mapped, &files, &files_max] {
        rusage used{};
        getrusage(RUSAGE_SELF, &used);
        cpu.add(seconds_of(used.ru_utime) + seconds_of(used.ru_stime) - cpu.value());
        double pages = 0;
        double resident_pages = 0;
        std::ifstream("/proc/self/statm") >> pages >> resident_pages;
        const auto page = static_cast<double>(sysconf(_SC_PAGE_SIZE));
        mapped.set(pages * page);
        resident.set(resident_pages * page);
        files.set(open_files());
        rlimit limit{};
        getrlimit(RLIMIT_NOFILE, &limit);
        files_max.set(static_cast<double>(limit.rlim_cur));
    });
}

}  // namespace muster::up
