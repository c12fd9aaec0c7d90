// agent/log_format.h - the lines of a container's log file: time, stream, whole or partial, text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace muster::agent {

/// The pieces of one line of a log file in the form of the Container Runtime Interface.
struct LogLine {
    Time at;
    std::string_view stamp;   // "2026-11-21T12:00:00.123456789Z"
    std::string_view stream;  // "stdout", "stderr"
    bool partial = false;     // The line goes on in the next entry.
    std::string_view text;    // Without the line end.
};

/// "2026-11-21T12:00:00.123456789Z stdout F text\n"
void append_log_line(std::string& out, Time at, std::string_view stream, bool partial,
                     std::string_view text);

/// Absent when the line is none (a torn write). `line` is without its end.
std::optional<LogLine> parse_log_line(std::string_view line);

/// Cuts a stream of bytes into log lines; long ones into partial pieces of 16 KiB.
class LineCutter {
public:
    explicit LineCutter(std::string stream) : stream_(std::move(stream)) {}
    /// Appends the complete lines to `out` in file form.
    void take(std::string_view bytes, Time at, std::string& out);
    /// Appends what is left without a line end.
    void finish(Time at, std::string& out);

private:
    std::string stream_;
    std::string rest_;
};

}  // namespace muster::agent
