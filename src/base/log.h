// base/log.h - the program's log: one line an event on standard error, time first, level, area,
// text, fields.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <variant>

namespace muster {

enum class LogLevel { debug, info, warning, error };

/// What machines look for in an event, by names like those of Kubernetes' own programs: kind,
/// namespace, name, code. One without a text is left out (the namespace of what has none).
struct LogField {
    std::string_view key;  // Not one that every line has: level, ts, logger, msg.
    std::variant<std::string_view, std::int64_t> value;
};
using LogFields = std::initializer_list<LogField>;

/// Lines below this level are dropped. Default: info.
void set_log_level(LogLevel least);

inline std::atomic<LogLevel> least_log_level = LogLevel::info;

/// Whether lines of this level are written. To be asked first where it takes work to say what a
/// line has to say: one that is not written costs this one branch.
inline bool logs(LogLevel level) {
    return level >= least_log_level.load(std::memory_order_relaxed);
}

/// Writes one line; thread-safe. `area` is the folder ("store", "agent") or the controller.
void log_line(LogLevel level, std::string_view area, std::string_view text, LogFields fields = {});

inline void log_debug(std::string_view area, std::string_view text, LogFields fields = {}) {
    if (logs(LogLevel::debug)) log_line(LogLevel::debug, area, text, fields);
}
inline void log_info(std::string_view area, std::string_view text, LogFields fields = {}) {
    log_line(LogLevel::info, area, text, fields);
}
inline void log_warning(std::string_view area, std::string_view text, LogFields fields = {}) {
    log_line(LogLevel::warning, area, text, fields);
}
inline void log_error(std::string_view area, std::string_view text, LogFields fields = {}) {
    log_line(LogLevel::error, area, text, fields);
}

}  // namespace muster
