// agent/log_query.cpp - see log_query.h.
#include "agent/log_query.h"

#include "agent/log_reader.h"
#include "base/error.h"
#include "base/text.h"
#include "net/query_flag.h"

namespace muster::agent {

namespace {

std::optional<std::int64_t> number(const net::Request& request, std::string_view name) {
    if (!request.has_query(name)) return std::nullopt;
    const auto value = parse_integer(request.query_value(name));
    if (!value || *value < 0)
        throw Error(Reason::bad_request, std::string(name) + " must be a whole number, 0 or more");
    return value;
}

}  // namespace

LogQuery log_query_of(const net::Request& request, Time now) {
    LogQuery query;
    query.container = request.query_value("container");
    query.follow = net::query_flag(request, "follow");
    query.previous = net::query_flag(request, "previous");
    query.timestamps = net::query_flag(request, "timestamps");
    query.tail_lines = number(request, "tailLines");
    query.limit_bytes = number(request, "limitBytes");
    if (const auto span = number(request, "sinceSeconds")) query.since = now - seconds(*span);
    if (request.has_query("sinceTime")) {
        query.since = parse_rfc3339(request.query_value("sinceTime"));
        if (!query.since) throw Error(Reason::bad_request, "sinceTime must be an RFC 3339 time");
    }
    return query;
}

std::string LogPrinter::take(std::string_view content) {
    std::string out;
    rest_ += content;
    std::size_t at = 0;
    for (std::size_t end = 0; !full() && (end = rest_.find('\n', at)) != std::string::npos;
         at = end + 1) {
        const auto line = parse_log_line(std::string_view(rest_).substr(at, end - at));
        if (!line || (query_.since && line->at < *query_.since)) continue;
        std::string text;
        if (query_.timestamps && !inside_line_) text = std::string(line->stamp) + " ";
        text += line->text;
        if (!line->partial) text += '\n';
        inside_line_ = line->partial;
        if (query_.limit_bytes) {
            const auto left = static_cast<std::size_t>(*query_.limit_bytes - sent_);
            if (text.size() > left) text.resize(left);
        }
        sent_ += static_cast<std::int64_t>(text.size());
        out += text;
    }
    rest_.erase(0, at);
    return out;
}

std::string_view tail_of(std::string_view content, std::int64_t lines) {
    if (lines == 0) return content.substr(content.size());
    const auto start = start_of_tail(content, lines);
    return start ? content.substr(*start) : content;
}

}  // namespace muster::agent
