// agent/log_query.h - which part of a container's log is asked for, and how it is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/log_format.h"
#include "base/time.h"
#include "net/http.h"

namespace muster::agent {

/// The query of GET .../pods/NAME/log.
struct LogQuery {
    std::string container;  // Empty: the only one, or the default.
    bool follow = false;
    bool previous = false;
    bool timestamps = false;
    std::optional<std::int64_t> tail_lines;
    std::optional<Time> since;
    std::optional<std::int64_t> limit_bytes;
};

/// Reads the query. Throws Error (bad_request) that names the parameter.
LogQuery log_query_of(const net::Request& request, Time now);

/// Turns log entries into what the client gets, piece by piece.
class LogPrinter {
public:
    explicit LogPrinter(const LogQuery& query) : query_(query) {}

    /// Takes more of the file; `content` may end inside a line. Gives the text to send.
    std::string take(std::string_view content);

    /// True when the limit of bytes has been reached.
    bool full() const { return query_.limit_bytes && sent_ >= *query_.limit_bytes; }

private:
    LogQuery query_;
    std::string rest_;
    bool inside_line_ = false;  // The last entry was partial.
    std::int64_t sent_ = 0;
};

/// What comes before the last `lines` whole lines of a log file's content is cut off.
std::string_view tail_of(std::string_view content, std::int64_t lines);

}  // namespace muster::agent
