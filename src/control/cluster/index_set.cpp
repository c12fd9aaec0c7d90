// control/cluster/index_set.cpp - runs of indexes: joining, reading, writing.
#include "control/cluster/index_set.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

namespace muster::control::cluster {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size() || value < 0) return {};
    return value;
}

}  // namespace

IndexSet IndexSet::parse(std::string_view text, std::int64_t end) {
    IndexSet set;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view run = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t dash = run.find('-');
        const auto first = number(run.substr(0, dash));
        const auto last = dash == std::string_view::npos ? first : number(run.substr(dash + 1));
        if (!first || !last || *first >= end || *last < *first) continue;
        set.add_run(*first, std::min(*last, end - 1));
    }
    return set;
}

void IndexSet::add(std::int64_t index) {
    add_run(index, index);
}

void IndexSet::add_run(std::int64_t first, std::int64_t last) {
    auto next = runs_.upper_bound(first);
    if (next != runs_.begin()) {
        const auto before = std::prev(next);
        if (before->second + 1 >= first) {
            first = before->first;
            last = std::max(last, before->second);
            next = runs_.erase(before);
        }
    }
    while (next != runs_.end() && next->first <= last + 1) {
        last = std::max(last, next->second);
        next = runs_.erase(next);
    }
    runs_[first] = last;
}

bool IndexSet::contains(std::int64_t index) const {
    const auto next = runs_.upper_bound(index);
    return next != runs_.begin() && std::prev(next)->second >= index;
}

std::int64_t IndexSet::size() const {
    std::int64_t sum = 0;
    for (const auto& [first, last] : runs_)
        sum += last - first + 1;
    return sum;
}

std::int64_t IndexSet::shared_with(const IndexSet& other) const {
    std::int64_t sum = 0;
    auto mine = runs_.begin();
    auto theirs = other.runs_.begin();
    while (mine != runs_.end() && theirs != other.runs_.end()) {
        const std::int64_t first = std::max(mine->first, theirs->first);
        const std::int64_t last = std::min(mine->second, theirs->second);
        if (first <= last) sum += last - first + 1;
        if (mine->second < theirs->second)
            ++mine;
        else
            ++theirs;
    }
    return sum;
}

std::string IndexSet::text() const {
    std::string text;
    for (const auto& [first, last] : runs_) {
        if (!text.empty()) text += ",";
        text += std::to_string(first);
        if (last == first + 1) text += "," + std::to_string(last);
        if (last > first + 1) text += "-" + std::to_string(last);
    }
    return text;
}

}  // namespace muster::control::cluster
