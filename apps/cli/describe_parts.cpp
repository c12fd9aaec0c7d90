// apps/cli/describe_parts.cpp - labels, annotations, events, times and the generic description.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "api/json.h"
#include "apps/cli/describe.h"
#include "apps/cli/tab_writer.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

constexpr std::size_t annotation_limit = 140;
constexpr std::string_view last_applied = "kubectl.kubernetes.io/last-applied-configuration";

enum class Letter { lower, upper, other };

Letter kind_of(char c) {
    if (c >= 'a' && c <= 'z') return Letter::lower;
    if (c >= 'A' && c <= 'Z') return Letter::upper;
    return Letter::other;
}

/// "lastUpdateMicroTime" in parts: a new one starts where the kind of letter changes, and the last
/// of several capitals belongs to the lower case that follows.
std::vector<std::string> camel_parts(const std::string& field) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < field.size(); ++i) {
        const bool same = i > 0 && kind_of(field[i]) == kind_of(field[i - 1]);
        if (same) {
            parts.back() += field[i];
        } else {
            parts.emplace_back(1, field[i]);
        }
    }
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        if (kind_of(parts[i][0]) != Letter::upper || kind_of(parts[i + 1][0]) != Letter::lower)
            continue;
        parts[i + 1].insert(0, 1, parts[i].back());
        parts[i].pop_back();
    }
    std::erase_if(parts, [](const std::string& part) { return part.empty(); });
    return parts;
}

std::string scalar_text(const Value& value) {
    if (value.is_string()) return value.text();
    return value.is_null() ? "<nil>" : api::to_json(value);
}

bool is_skipped(const std::string& path) {
    return path == ".metadata.managedFields" || path == ".metadata.name" ||
           path == ".metadata.namespace" || path == ".metadata.labels" ||
           path == ".metadata.annotations";
}

void add_content(std::string& out, int level, const Value& object, const std::string& prefix) {
    const std::string indent(static_cast<std::size_t>(level) * 2, ' ');
    for (const std::string& key : sorted_keys(object)) {
        const Value& value = object[key];
        const std::string path = prefix + "." + key;
        if (is_skipped(path)) continue;
        out += indent + spelled_out(key) + ":";
        if (value.is_object()) {
            out += "\n";
            add_content(out, level + 1, value, path);
        } else if (value.is_array()) {
            out += "\n";
            for (const Value& item : value.items()) {
                if (item.is_object()) {
                    add_content(out, level + 1, item, path);
                } else {
                    out += indent + "  " + scalar_text(item) + "\n";
                }
            }
        } else {
            out += "\t" + scalar_text(value) + "\n";
        }
    }
}

/// How long ago, how often, as the AGE of an event.
std::string event_age(const Value& event, Time now) {
    const Value& precise = event["eventTime"];
    const std::string first = age_of(precise.is_null() ? event["firstTimestamp"] : precise, now);
    if (const Value& series = event["series"]; series.is_object())
        return age_of(series["lastObservedTime"], now) + " (x" +
               std::to_string(series["count"].integer_or(0)) + " over " + first + ")";
    const std::int64_t count = event["count"].integer_or(0);
    if (count > 1)
        return age_of(event["lastTimestamp"], now) + " (x" + std::to_string(count) + " over " +
               first + ")";
    return first;
}

/// When an event was seen last, for their order.
std::string event_time(const Value& event) {
    for (const char* path : {"series.lastObservedTime", "lastTimestamp", "eventTime"}) {
        if (const Value& time = event.path(path); time.is_string()) return time.text();
    }
    return event["metadata"]["creationTimestamp"].text();
}

}  // namespace

std::vector<std::string> sorted_keys(const Value& object) {
    std::vector<std::string> keys;
    for (const auto& member : object.members())
        keys.push_back(member.key);
    std::sort(keys.begin(), keys.end());
    return keys;
}

std::string spelled_out(const std::string& field) {
    for (const char c : field) {
        if (kind_of(c) == Letter::other && c != '-') return field;
    }
    std::string out;
    for (std::string part : camel_parts(field)) {
        std::string upper = part;
        for (char& c : upper)
            c = kind_of(c) == Letter::lower ? static_cast<char>(c - 'a' + 'A') : c;
        static constexpr std::string_view acronyms[] = {"API", "URL", "UID", "OSB", "GUID"};
        const bool acronym =
            std::find(std::begin(acronyms), std::end(acronyms), upper) != std::end(acronyms);
        part[0] = upper[0];
        out += (out.empty() ? "" : " ") + (acronym ? upper : part);
    }
    return out;
}

std::string label_lines(const std::string& title, const Value& labels) {
    std::string out = title + ":";
    if (labels.empty()) return out + "\t<none>\n";
    for (const std::string& key : sorted_keys(labels))
        out += "\t" + key + "=" + labels[key].text() + "\n";
    return out;
}

std::string annotation_lines(const Value& annotations) {
    std::string out = "Annotations:";
    bool any = false;
    for (const std::string& key : sorted_keys(annotations)) {
        if (key == last_applied) continue;
        any = true;
        std::string value = annotations[key].text();
        if (value.ends_with('\n')) value.pop_back();
        const bool long_one = value.size() + key.size() + 2 > annotation_limit ||
                              value.find('\n') != std::string::npos;
        if (!long_one) {
            out += "\t" + key + ": " + value + "\n";
            continue;
        }
        out += "\t" + key + ":\n";
        for (const std::string_view line : split(value, '\n')) {
            const bool cut = line.size() > annotation_limit - 2;
            out +=
                "\t  " + std::string(line.substr(0, annotation_limit - 2)) + (cut ? "...\n" : "\n");
        }
    }
    return any ? out : out + "\t<none>\n";
}

std::string event_lines(const std::vector<Value>& events, Time now) {
    if (events.empty()) return "Events:\t<none>\n";
    std::vector<Value> sorted = events;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Value& a, const Value& b) { return event_time(a) < event_time(b); });
    std::string out =
        "\fEvents:\n  Type\tReason\tAge\tFrom\tMessage\n"
        "  ----\t------\t----\t----\t-------\n";
    for (const Value& event : sorted) {
        std::string from = event["source"]["component"].text();
        if (from.empty()) from = event["reportingComponent"].text();
        out += "  " + event["type"].text() + "\t" + event["reason"].text() + "\t" +
               event_age(event, now) + "\t" + from + "\t" +
               std::string(trim(event["message"].text_or(""))) + "\n";
    }
    return out;
}

std::string age_of(const Value& time, Time now) {
    const auto then = parse_rfc3339(time.text_or(""));
    return then ? human_duration(now - *then) : "<unknown>";
}

std::string long_time(const Value& time) {
    const auto then = parse_rfc3339(time.text_or(""));
    if (!then) return "<unset>";
    const auto count = static_cast<std::time_t>(then->since_epoch / 1'000'000'000);
    std::tm parts{};
    localtime_r(&count, &parts);
    char text[64] = "";
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S %z", &parts);
    return text;
}

std::string align_blocks(const std::string& text) {
    std::string out;
    for (const std::string_view block : split(text, '\f')) {
        if (!block.empty()) out += align(block, describe_style);
    }
    return out;
}

std::string describe_generic(const Value& object, const std::vector<Value>& events, Time now) {
    const Value& metadata = object["metadata"];
    std::string out = "Name:\t" + metadata["name"].text() + "\n";
    out += "Namespace:\t" + metadata["namespace"].text() + "\n";
    out += label_lines("Labels", metadata["labels"]) + annotation_lines(metadata["annotations"]);
    add_content(out, 0, object, "");
    return align_blocks(out + event_lines(events, now));
}

}  // namespace muster::cli
