// agent/log_format.cpp - see log_format.h.
#include "agent/log_format.h"

#include <cstdio>

namespace muster::agent {

namespace {
constexpr std::size_t kPieceLimit = 16 << 10;
}

void append_log_line(std::string& out, Time at, std::string_view stream, bool partial,
                     std::string_view text) {
    std::string stamp = to_rfc3339(at);
    stamp.pop_back();
    char fraction[16];
    std::snprintf(fraction, sizeof(fraction), ".%09lldZ ",
                  static_cast<long long>(at.since_epoch % 1'000'000'000));
    out += stamp;
    out += fraction;
    out += stream;
    out += partial ? " P " : " F ";
    out += text;
    out += '\n';
}

std::optional<LogLine> parse_log_line(std::string_view line) {
    const std::size_t first = line.find(' ');
    if (first == std::string_view::npos) return std::nullopt;
    const std::size_t second = line.find(' ', first + 1);
    if (second == std::string_view::npos || second + 2 >= line.size()) return std::nullopt;
    LogLine parsed;
    parsed.stamp = line.substr(0, first);
    const auto at = parse_rfc3339(parsed.stamp);
    if (!at) return std::nullopt;
    parsed.at = *at;
    parsed.stream = line.substr(first + 1, second - first - 1);
    parsed.partial = line[second + 1] == 'P';
    parsed.text = second + 3 <= line.size() ? line.substr(second + 3) : std::string_view();
    return parsed;
}

void LineCutter::take(std::string_view bytes, Time at, std::string& out) {
    while (!bytes.empty()) {
        const std::size_t end = bytes.find('\n');
        const std::string_view piece = bytes.substr(0, end);
        rest_ += piece;
        while (rest_.size() > kPieceLimit) {
            append_log_line(out, at, stream_, true, std::string_view(rest_).substr(0, kPieceLimit));
            rest_.erase(0, kPieceLimit);
        }
        if (end == std::string_view::npos) return;
        append_log_line(out, at, stream_, false, rest_);
        rest_.clear();
        bytes.remove_prefix(end + 1);
    }
}

void LineCutter::finish(Time at, std::string& out) {
    if (rest_.empty()) return;
    append_log_line(out, at, stream_, false, rest_);
    rest_.clear();
}

}  // namespace muster::agent
