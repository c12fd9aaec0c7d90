// decide/fit/no_fit.cpp - the most hopeful flavor speaks for a pod set.
#include "decide/fit/no_fit.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace muster::decide {

namespace {

WaitReason::Rule severity(const Obstacle& obstacle) {
    switch (obstacle.rule) {
        case Obstacle::Rule::insufficient:
            return WaitReason::Rule::quota;
        case Obstacle::Rule::exceeds_maximum:
            return WaitReason::Rule::exceeds_maximum;
        case Obstacle::Rule::not_covered:
            return WaitReason::Rule::not_covered;
        default:
            return WaitReason::Rule::no_matching_flavor;
    }
}

constexpr std::array by_hope = {WaitReason::Rule::quota, WaitReason::Rule::exceeds_maximum,
                                WaitReason::Rule::no_matching_flavor,
                                WaitReason::Rule::not_covered};

std::ptrdiff_t hopelessness(WaitReason::Rule rule) {
    return std::find(by_hope.begin(), by_hope.end(), rule) - by_hope.begin();
}

}  // namespace

WaitReason::Rule overall(const std::vector<Obstacle>& obstacles) {
    std::map<std::string_view, std::ptrdiff_t> worst_of;
    for (const Obstacle& o : obstacles) {
        std::ptrdiff_t& known = worst_of[o.flavor];
        known = std::max(known, hopelessness(severity(o)));
    }
    if (worst_of.empty()) return WaitReason::Rule::no_matching_flavor;
    const auto least =
        std::min_element(worst_of.begin(), worst_of.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return by_hope[static_cast<std::size_t>(least->second)];
}

std::optional<WaitReason::Rule> named_instead(WaitReason::Rule rule,
                                              const std::vector<Dismissed>& dismissed) {
    std::map<std::size_t, std::ptrdiff_t> best_of;
    for (const Dismissed& flavor : dismissed) {
        const auto [at, is_first] = best_of.try_emplace(flavor.group, hopelessness(flavor.rule));
        if (!is_first) at->second = std::min(at->second, hopelessness(flavor.rule));
    }
    if (best_of.empty()) return std::nullopt;
    std::ptrdiff_t chosen = 0;
    for (const auto& [group, hope] : best_of)
        chosen = std::max(chosen, hope);
    const WaitReason::Rule named = by_hope[static_cast<std::size_t>(chosen)];
    return named == rule ? std::nullopt : std::optional(named);
}

}  // namespace muster::decide
