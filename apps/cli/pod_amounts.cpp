// apps/cli/pod_amounts.cpp - sums of resource lists.
#include "apps/cli/pod_amounts.h"

#include <algorithm>

namespace muster::cli {
namespace {

Amounts amounts_of(const api::Value& list) {
    Amounts amounts;
    for (const auto& member : list.members()) {
        const std::string text = member.value.is_string() ? member.value.text()
                                 : member.value.is_integer()
                                     ? std::to_string(member.value.as_integer())
                                     : "";
        if (const auto quantity = Quantity::parse(text)) amounts[member.key] = *quantity;
    }
    return amounts;
}

}  // namespace

void add_amounts(Amounts& sum, const Amounts& more) {
    for (const auto& [name, quantity] : more) {
        const auto [at, first] = sum.try_emplace(name, quantity);
        if (!first) at->second = at->second + quantity;
    }
}

Amounts pod_amounts(const api::Value& pod, const char* which) {
    const api::Value& spec = pod["spec"];
    Amounts sum;
    for (const api::Value& container : spec["containers"].items())
        add_amounts(sum, amounts_of(container["resources"][which]));
    Amounts sidecars;
    Amounts largest;
    for (const api::Value& container : spec["initContainers"].items()) {
        Amounts present = amounts_of(container["resources"][which]);
        if (container["restartPolicy"].text_or("") == "Always") {
            add_amounts(sum, present);
            add_amounts(sidecars, present);
            present = sidecars;
        } else {
            add_amounts(present, sidecars);
        }
        for (const auto& [name, quantity] : present) {
            const auto [at, first] = largest.try_emplace(name, quantity);
            if (!first) at->second = std::max(at->second, quantity);
        }
    }
    for (const auto& [name, quantity] : largest) {
        const auto [at, first] = sum.try_emplace(name, quantity);
        if (!first) at->second = std::max(at->second, quantity);
    }
    const Amounts overhead = amounts_of(spec["overhead"]);
    if (std::string_view(which) == "requests") add_amounts(sum, overhead);
    return sum;
}

}  // namespace muster::cli
