// base/log.cpp - log lines on standard error.
#include "base/log.h"

#include <atomic>
#include <ctime>
#include <string>

#include <unistd.h>

#include "base/time.h"

namespace muster {
namespace {

std::atomic<LogLevel> least_level = LogLevel::info;

const char* word_of(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return "debug  ";
        case LogLevel::info:
            return "info   ";
        case LogLevel::warning:
            return "warning";
        case LogLevel::error:
            return "error  ";
    }
    return "?";
}

}  // namespace

void set_log_level(LogLevel least) {
    least_level = least;
}

void log_line(LogLevel level, std::string_view area, std::string_view text) {
    if (level < least_level.load(std::memory_order_relaxed)) return;
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    std::string line =
        to_rfc3339_micro(Time{std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec});
    line += ' ';
    line += word_of(level);
    line += ' ';
    line += area;
    line += ": ";
    // One event, one line.
    for (const char c : text) {
        if (c == '\n') {
            line += "\\n";
        } else {
            line += c;
        }
    }
    line += '\n';
    // One write, so that lines of several threads and processes do not mix. A log that cannot be
    // written is nobody's failure.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace muster
