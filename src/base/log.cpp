// base/log.cpp - log lines on standard error.
#include "base/log.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <string>
#include <variant>

#include <unistd.h>

#include "base/log_format.h"
#include "base/text.h"
#include "base/time.h"

namespace muster {
namespace {

std::atomic<LogFormat> format_used = LogFormat::text;

constexpr std::string_view words[] = {"debug", "info", "warning", "error"};
constexpr std::size_t widest_word = 7;

std::string_view word_of(LogLevel level) {
    return words[static_cast<std::size_t>(level)];
}

/// In quotes, as JSON; what is no UTF-8 becomes a question mark.
void append_json(std::string& out, std::string_view text) {
    static constexpr char hex[] = "0123456789abcdef";
    out += '"';
    while (!text.empty()) {
        const char c = text.front();
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += "\\u00";
            out += hex[c >> 4];
            out += hex[c & 15];
        } else {
            const std::size_t length = utf8_length(text);
            out += length == 0 ? "?" : text.substr(0, length);
            text.remove_prefix(length == 0 ? 0 : length - 1);
        }
        text.remove_prefix(1);
    }
    out += '"';
}

bool is_empty(const LogField& field) {
    const auto* text = std::get_if<std::string_view>(&field.value);
    return text != nullptr && text->empty();
}

void append_json(std::string& out, const LogField& field) {
    if (const auto* text = std::get_if<std::string_view>(&field.value))
        append_json(out, *text);
    else
        out += std::to_string(std::get<std::int64_t>(field.value));
}

/// One that nobody takes for two words, another field, or the end of the line.
bool is_plain_word(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return c > ' ' && c < 0x7f && c != '"' && c != '\\' && c != '=';
    });
}

/// One event, one line; and what others have written moves no cursor.
void append_on_one_line(std::string& out, std::string_view text) {
    for (const char c : text) {
        if (c == '\n') {
            out += "\\n";
        } else if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
            out += '?';
        } else {
            out += c;
        }
    }
}

void append_plain(std::string& out, const LogField& field) {
    const auto* text = std::get_if<std::string_view>(&field.value);
    if (text != nullptr && is_plain_word(*text))
        out += *text;
    else
        append_json(out, field);
}

}  // namespace

std::optional<LogLevel> find_log_level(std::string_view word) {
    for (const LogLevel level :
         {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
        if (word == word_of(level)) return level;
    }
    return std::nullopt;
}

void set_log_level(LogLevel least) {
    least_log_level = least;
}

void set_log_format(LogFormat format) {
    format_used = format;
}

std::string log_text(LogFormat format, Time now, LogLevel level, std::string_view area,
                     std::string_view text, LogFields fields) {
    const std::string time = to_rfc3339_micro(now);
    std::string line;
    if (format == LogFormat::json) {
        line =
            R"({"level":")" + std::string(word_of(level)) + R"(","ts":")" + time + R"(","logger":)";
        append_json(line, area);
        line += R"(,"msg":)";
        append_json(line, text);
        for (const LogField& field : fields) {
            if (is_empty(field)) continue;
            line += ',';
            append_json(line, field.key);
            line += ':';
            append_json(line, field);
        }
        return line + "}\n";
    }
    line = time + ' ';
    line += word_of(level);
    line.append(widest_word - word_of(level).size() + 1, ' ');
    line += area;
    line += ": ";
    append_on_one_line(line, text);
    for (const LogField& field : fields) {
        if (is_empty(field)) continue;
        line += ' ';
        line += field.key;
        line += '=';
        append_plain(line, field);
    }
    return line + '\n';
}

void log_line(LogLevel level, std::string_view area, std::string_view text, LogFields fields) {
    if (!logs(level)) return;
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const std::string line = log_text(format_used.load(std::memory_order_relaxed),
                                      Time{std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec},
                                      level, area, text, fields);
    // One write, so that lines of several threads and processes do not mix. A log that cannot be
    // written is nobody's failure.
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace muster
