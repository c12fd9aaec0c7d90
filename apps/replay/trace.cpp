// apps/replay/trace.cpp - reads cluster traces: CSV tables with a header, and the Standard Workload
// Format.
#include "apps/replay/trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <memory>
#include <optional>

#include <zlib.h>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"

namespace muster::replay {
namespace {

// A trace is read whole; a longer one than this is a mistake.
constexpr std::size_t largest_trace = 2'000'000'000;
// Ten thousand years in seconds: what is beyond is no time and no duration.
constexpr double longest = 3.2e11;

[[noreturn]] void refuse(std::size_t line, const std::string& what) {
    throw Error(Reason::invalid, "line " + std::to_string(line) + " of the trace: " + what);
}

std::string_view trimmed(std::string_view text) {
    const auto from = text.find_first_not_of(" \t\r");
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

std::vector<std::string_view> cells_of(std::string_view line, char separator) {
    std::vector<std::string_view> cells;
    while (true) {
        const auto end = line.find(separator);
        cells.push_back(trimmed(line.substr(0, end)));
        if (end == std::string_view::npos) return cells;
        line.remove_prefix(end + 1);
    }
}

std::vector<std::string_view> words_of(std::string_view line) {
    std::vector<std::string_view> words = cells_of(line, ' ');
    std::erase_if(words, [](std::string_view word) { return word.empty(); });
    return words;
}

// A number of seconds or things; fractions are rounded.
std::int64_t number(std::string_view text, std::size_t line, std::string_view what) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !(std::abs(value) < longest))
        refuse(line, std::string(what) + " is not a number: \"" + std::string(text) + "\"");
    return std::llround(value);
}

// "2017-10-09 07:01:55", RFC 3339, or seconds.
std::int64_t moment(std::string_view text, std::size_t line) {
    if (text.size() == 19 && (text[10] == ' ' || text[10] == 'T')) {
        std::string full(text);
        full[10] = 'T';
        if (const auto time = parse_rfc3339(full + "Z")) return time->since_epoch / 1'000'000'000;
    }
    if (const auto time = parse_rfc3339(text)) return time->since_epoch / 1'000'000'000;
    return number(text, line, "the time of submission");
}

/// Takes a text apart by lines and counts them.
class Lines {
public:
    explicit Lines(std::string_view text) : rest_(text) {}
    std::optional<std::string_view> next() {
        if (rest_.empty()) return std::nullopt;
        const auto end = rest_.find('\n');
        const std::string_view line = rest_.substr(0, end);
        rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
        ++count_;
        return trimmed(line);
    }
    std::size_t count() const { return count_; }

private:
    std::string_view rest_;
    std::size_t count_ = 0;
};

using Columns = std::vector<std::string_view>;

std::optional<std::size_t> column(const Columns& header,
                                  std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        const auto found = std::find(header.begin(), header.end(), name);
        if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
    }
    return std::nullopt;
}

void add(Trace& trace, TraceJob job) {
    if (job.duration <= 0 || job.amount <= 0) {
        ++trace.left_out;
        return;
    }
    trace.jobs.push_back(std::move(job));
}

Trace parse_table(Lines lines) {
    const Columns header = cells_of(lines.next().value_or(""), ',');
    const auto submitted = column(header, {"timestamp", "submit_time", "submitted"});
    const auto duration = column(header, {"duration"});
    const auto gpus = column(header, {"num_gpus", "gpu_num", "gpus"});
    const auto cpus = column(header, {"num_cpus", "cpu_num", "cpus"});
    const auto queue = column(header, {"cluster", "vc", "queue", "user"});
    const auto priority = column(header, {"priority"});
    if (!submitted || !duration || (!gpus && !cpus))
        refuse(1, "a header with the columns timestamp, duration and num_gpus was expected");
    Trace trace;
    trace.resource = gpus ? "nvidia.com/gpu" : "cpu";
    while (const auto line = lines.next()) {
        if (line->empty()) continue;
        const Columns cells = cells_of(*line, ',');
        if (cells.size() != header.size())
            refuse(lines.count(), "it has " + std::to_string(cells.size()) + " cells, the header " +
                                      std::to_string(header.size()));
        TraceJob job;
        job.submitted = moment(cells[*submitted], lines.count());
        job.duration = number(cells[*duration], lines.count(), "the duration");
        job.amount = number(cells[gpus ? *gpus : *cpus], lines.count(), "the amount");
        job.queue = queue ? std::string(cells[*queue]) : "queue";
        if (priority) job.priority = number(cells[*priority], lines.count(), "the priority");
        add(trace, std::move(job));
    }
    return trace;
}

// Fields by number as in the format's definition: 2 submit time, 4 run time, 5 allocated and 8
// requested processors, 15 queue; -1 is unknown.
Trace parse_swf(Lines lines) {
    Trace trace;
    trace.resource = "cpu";
    while (const auto line = lines.next()) {
        if (line->empty() || line->front() == ';') continue;
        const Columns words = words_of(*line);
        if (words.size() < 18)
            refuse(lines.count(), "it has " + std::to_string(words.size()) +
                                      " fields, the Standard Workload Format has 18");
        TraceJob job;
        job.submitted = number(words[1], lines.count(), "the time of submission");
        job.duration = number(words[3], lines.count(), "the run time");
        job.amount = number(words[7], lines.count(), "the number of processors");
        if (job.amount <= 0) job.amount = number(words[4], lines.count(), "the processors");
        job.queue = "queue-" + std::string(words[14] == "-1" ? "0" : words[14]);
        add(trace, std::move(job));
    }
    return trace;
}

}  // namespace

Trace parse_trace(std::string_view text) {
    if (text.size() > largest_trace)
        throw Error(Reason::request_entity_too_large, "the trace is above 2 GB");
    const std::string_view first = text.substr(0, text.find('\n'));
    Trace trace = first.find(',') == std::string_view::npos ? parse_swf(Lines(text))
                                                            : parse_table(Lines(text));
    if (trace.jobs.empty()) throw Error(Reason::invalid, "the trace has no job that ran");
    std::stable_sort(
        trace.jobs.begin(), trace.jobs.end(),
        [](const TraceJob& a, const TraceJob& b) { return a.submitted < b.submitted; });
    const std::int64_t first_submission = trace.jobs.front().submitted;
    for (TraceJob& job : trace.jobs)
        job.submitted -= first_submission;
    return trace;
}

Trace read_trace(const std::filesystem::path& file) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> in(gzopen(file.c_str(), "rb"), gzclose);
    if (in == nullptr) throw Error(Reason::not_found, "cannot open " + file.string());
    std::string text;
    std::array<char, 65536> block{};
    while (true) {
        const int got = gzread(in.get(), block.data(), block.size());
        if (got < 0) throw Error(Reason::invalid, file.string() + ": damaged gzip data");
        if (got == 0) break;
        text.append(block.data(), static_cast<std::size_t>(got));
        if (text.size() > largest_trace)
            throw Error(Reason::request_entity_too_large, "the trace is above 2 GB");
    }
    // A file that ends too early reads as its beginning: zlib tells only here.
    int problem = Z_OK;
    gzerror(in.get(), &problem);
    if (problem != Z_OK && problem != Z_STREAM_END)
        throw Error(Reason::invalid, file.string() + ": the gzip data end too early");
    return parse_trace(text);
}

}  // namespace muster::replay
