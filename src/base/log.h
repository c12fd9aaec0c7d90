// base/log.h - the program's log: one line an event on standard error, time first, level, area,
// text.
#pragma once

#include <string_view>

namespace muster {

enum class LogLevel { debug, info, warning, error };

/// Lines below this level are dropped. Default: info.
void set_log_level(LogLevel least);

/// Writes one line; thread-safe. `area` is the folder ("store", "agent").
void log_line(LogLevel level, std::string_view area, std::string_view text);

inline void log_debug(std::string_view area, std::string_view text) {
    log_line(LogLevel::debug, area, text);
}
inline void log_info(std::string_view area, std::string_view text) {
    log_line(LogLevel::info, area, text);
}
inline void log_warning(std::string_view area, std::string_view text) {
    log_line(LogLevel::warning, area, text);
}
inline void log_error(std::string_view area, std::string_view text) {
    log_line(LogLevel::error, area, text);
}

}  // namespace muster
