// base/log_format.h - how lines of the log look: text for people, JSON for machines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/time.h"

namespace muster {

/// JSON has the members that Kubernetes' own programs write (level, ts, logger, msg), and each
/// field as one more. Text has fields behind the message as key=value, in quotes as JSON where a
/// value is not one plain word.
enum class LogFormat { text, json };

/// "debug", "info", "warning" or "error".
std::optional<LogLevel> find_log_level(std::string_view word);

/// Default: text.
void set_log_format(LogFormat format);

/// One line with its end, as it is written.
std::string log_text(LogFormat format, Time now, LogLevel level, std::string_view area,
                     std::string_view text, LogFields fields = {});

}  // namespace muster
