// api/kueue/topology.cpp - compresses and expands topology assignments.
#include "api/kueue/topology.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace muster::api {
namespace {

/// How many characters all of them begin with.
std::size_t shared_start(const std::vector<std::string>& values) {
    std::size_t length = values.front().size();
    for (const std::string& value : values) {
        std::size_t same = 0;
        while (same < std::min(length, value.size()) && value[same] == values.front()[same])
            ++same;
        length = same;
    }
    return length;
}

/// How many characters behind `start` all of them end with.
std::size_t shared_end(const std::vector<std::string>& values, std::size_t start) {
    const std::string& first = values.front();
    std::size_t length = first.size() - start;
    for (const std::string& value : values) {
        std::size_t same = 0;
        while (same < std::min(length, value.size() - start) &&
               value[value.size() - 1 - same] == first[first.size() - 1 - same]) {
            ++same;
        }
        length = same;
    }
    return length;
}

Value values_of_level(const std::vector<std::string>& values) {
    if (std::all_of(values.begin(), values.end(),
                    [&](const std::string& value) { return value == values.front(); })) {
        return Value::object({{"universal", values.front()}});
    }
    const std::size_t start = shared_start(values);
    const std::size_t end = shared_end(values, start);
    Value roots = Value::array();
    for (const std::string& value : values)
        roots.push(value.substr(start, value.size() - start - end));
    Value individual = Value::object();
    if (start > 0) individual.set("prefix", values.front().substr(0, start));
    if (end > 0) individual.set("suffix", values.front().substr(values.front().size() - end));
    individual.set("roots", std::move(roots));
    return Value::object({{"individual", std::move(individual)}});
}

Value counts_of(const Value& domains) {
    const std::int64_t first = domains[0]["count"].integer_or(0);
    Value counts = Value::array();
    bool equal = true;
    for (const Value& domain : domains.items()) {
        const std::int64_t count = domain["count"].integer_or(0);
        equal = equal && count == first;
        counts.push(count);
    }
    return equal ? Value::object({{"universal", first}})
                 : Value::object({{"individual", std::move(counts)}});
}

Value value_at(const Value& level, std::size_t domain) {
    const Value& universal = level["universal"];
    if (!universal.is_null()) return universal.is_string() ? universal : Value("");
    const Value& individual = level["individual"];
    return individual["prefix"].text() + individual["roots"][domain].text() +
           individual["suffix"].text();
}

}  // namespace

Value compressed_topology(const Value& assignment) {
    const Value& levels = assignment["levels"];
    const Value& domains = assignment["domains"];
    Value slices = Value::array();
    if (!domains.empty()) {
        Value values = Value::array();
        const std::size_t count = std::min(levels.size(), topology_levels_max);
        for (std::size_t level = 0; level < count; ++level) {
            std::vector<std::string> of_level;
            for (const Value& domain : domains.items())
                of_level.push_back(domain["values"][level].text());
            values.push(values_of_level(of_level));
        }
        slices.push(Value::object({{"domainCount", static_cast<std::int64_t>(domains.size())},
                                   {"valuesPerLevel", std::move(values)},
                                   {"podCounts", counts_of(domains)}}));
    }
    return Value::object({{"levels", levels}, {"slices", std::move(slices)}});
}

Value expanded_topology(const Value& assignment, std::size_t most) {
    Value domains = Value::array();
    for (const Value& slice : assignment["slices"].items()) {
        const std::size_t room = most - domains.size();
        const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(
            slice["domainCount"].integer_or(0), 0, static_cast<std::int64_t>(room)));
        const Value& pods = slice["podCounts"];
        const Value& levels = slice["valuesPerLevel"];
        const std::size_t level_count = std::min(levels.size(), topology_levels_max);
        for (std::size_t i = 0; i < count; ++i) {
            Value values = Value::array();
            for (std::size_t level = 0; level < level_count; ++level)
                values.push(value_at(levels[level], i));
            const Value& own =
                pods["universal"].is_null() ? pods["individual"][i] : pods["universal"];
            domains.push(
                Value::object({{"values", std::move(values)}, {"count", own.integer_or(0)}}));
        }
    }
    return Value::object({{"levels", assignment["levels"]}, {"domains", std::move(domains)}});
}

}  // namespace muster::api
