// agent/out_of_memory.cpp - see out_of_memory.h.
#include "agent/out_of_memory.h"

#include <algorithm>

#include "base/quantity.h"

namespace muster::agent {

namespace {

using api::Value;

std::int64_t amount(const Value& resources, const char* list, const char* name) {
    const auto quantity = Quantity::parse(resources[list][name].text());
    return quantity ? quantity->milli() : 0;
}

}  // namespace

QualityOfService quality_of_service(const Value& pod) {
    bool any = false;
    bool all_guaranteed = true;
    for (const char* list : {"containers", "initContainers"})
        for (const Value& container : pod["spec"][list].items())
            for (const char* name : {"cpu", "memory"}) {
                const Value& resources = container["resources"];
                const std::int64_t limit = amount(resources, "limits", name);
                const bool asks = resources["requests"].has(name);
                const std::int64_t request = asks ? amount(resources, "requests", name) : limit;
                any |= limit > 0 || request > 0;
                all_guaranteed &= limit > 0 && request == limit;
            }
    if (!any) return QualityOfService::best_effort;
    return all_guaranteed ? QualityOfService::guaranteed : QualityOfService::burstable;
}

std::int64_t out_of_memory_score(const Value& pod, const Value& container,
                                 std::int64_t node_memory) {
    constexpr std::int64_t kGuaranteed = -997;
    constexpr std::int64_t kBestEffort = 1000;
    switch (quality_of_service(pod)) {
        case QualityOfService::guaranteed:
            return kGuaranteed;
        case QualityOfService::best_effort:
            return kBestEffort;
        case QualityOfService::burstable:
            break;
    }
    if (node_memory <= 0) return kBestEffort - 1;
    const std::int64_t asked = amount(container["resources"], "requests", "memory") / 1000;
    const std::int64_t thousandths = std::min<std::int64_t>(1000, asked / (node_memory / 1000 + 1));
    return std::clamp<std::int64_t>(1000 - thousandths, 1000 + kGuaranteed, kBestEffort - 1);
}

}  // namespace muster::agent
