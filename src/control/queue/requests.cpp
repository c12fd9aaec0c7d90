// control/queue/requests.cpp - exclusion and transformation of resources.
#include "control/queue/requests.h"

#include <algorithm>
#include <limits>

namespace muster::control::queue {
namespace {

__extension__ typedef __int128 Wide;

constexpr std::int64_t milli_per_unit = 1'000;

/// In whole units, rounded up: Quantity.Value() of Kubernetes.
std::int64_t whole_units(std::string_view resource, Amount amount) {
    if (resource != "cpu") return amount.value;
    return amount.value / milli_per_unit + (amount.value % milli_per_unit > 0 ? 1 : 0);
}

Amount saturated(Wide value) {
    constexpr Wide most = std::numeric_limits<std::int64_t>::max();
    return {static_cast<std::int64_t>(std::clamp(value, -most, most))};
}

/// A quantity of the resource, that many times; rounded up once, at the end.
Amount times(std::string_view resource, const Quantity& quantity, std::int64_t factor) {
    const bool whole = Quantity::from_units(quantity.units()) == quantity;
    if (whole) {
        const Wide units = Wide{quantity.units()} * factor;
        return saturated(resource == "cpu" ? units * milli_per_unit : units);
    }
    constexpr Wide nano_per_unit = 1'000'000'000;
    const Wide per_amount = resource == "cpu" ? nano_per_unit / milli_per_unit : nano_per_unit;
    const Wide nano = Wide{quantity.nano()} * factor;
    return saturated(nano / per_amount + (nano % per_amount > 0 ? 1 : 0));
}

bool is_excluded(const std::string& resource, const ResourceRules& rules) {
    return std::any_of(rules.excluded_prefixes.begin(), rules.excluded_prefixes.end(),
                       [&](const std::string& prefix) { return resource.starts_with(prefix); });
}

const Transformation* find_transformation(const std::string& input, const ResourceRules& rules) {
    for (const Transformation& each : rules.transformations) {
        if (each.input == input) return &each;
    }
    return nullptr;
}

}  // namespace

// A resource that is an output and asked for as well counts as the sum.
Resources counted_requests(const Resources& asked, const ResourceRules& rules) {
    Resources left;
    for (const auto& [resource, amount] : asked) {
        if (!is_excluded(resource, rules)) left[resource] = amount;
    }
    Resources counted;
    for (const auto& [resource, amount] : left) {
        const Transformation* transformation = find_transformation(resource, rules);
        if (transformation == nullptr) {
            counted[resource] += amount;
            continue;
        }
        Amount input = amount;
        const auto factor = left.find(transformation->multiply_by);
        if (factor != left.end()) input = input * whole_units(factor->first, factor->second);
        for (const auto& [output, quantity] : transformation->outputs)
            counted[output] += times(output, quantity, whole_units(resource, input));
        if (transformation->kept == Transformation::Input::retained) counted[resource] += input;
    }
    for (auto& [resource, amount] : counted)
        amount = std::max(amount, Amount{});
    return counted;
}

}  // namespace muster::control::queue
