// decide/queue/consumption.cpp - decay in integers, and the sums.
#include "decide/queue/consumption.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace muster::decide {

namespace {

constexpr int one_bits = 62;
constexpr std::uint64_t one = std::uint64_t{1} << one_bits;
constexpr int fraction_bits = 48;  // Of the elapsed part of a half-life: finer than any clock.

constexpr std::int64_t thousand = 1'000;
constexpr std::int64_t billion = 1'000'000'000;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    return static_cast<std::uint64_t>(Wide{a} * b >> one_bits);
}

std::uint64_t root_of(Wide value) {
    std::uint64_t root = 0;
    for (int bit = one_bits + 1; bit >= 0; --bit) {
        const std::uint64_t more = root | std::uint64_t{1} << bit;
        if (Wide{more} * more <= value) root = more;
    }
    return root;
}

/// 2^-(1/2), 2^-(1/4), ... of `one`: each is the root of the one before.
std::array<std::uint64_t, fraction_bits> make_roots() {
    std::array<std::uint64_t, fraction_bits> roots{};
    std::uint64_t last = one / 2;
    for (std::uint64_t& root : roots)
        last = root = root_of(Wide{last} << one_bits);
    return roots;
}

std::int64_t thousandths_of(Amount amount) {
    return (amount * thousand).value;
}

Wide product(Wide a, Wide b) {
    Wide result = 0;
    return __builtin_mul_overflow(a, b, &result) ? ~Wide{0} : result;
}

Wide sum(Wide a, Wide b) {
    Wide result = 0;
    return __builtin_add_overflow(a, b, &result) ? ~Wide{0} : result;
}

}  // namespace

Decay::Decay(Duration elapsed, Duration half_life) {
    if (half_life.nanoseconds <= 0) return;
    const std::int64_t past = std::max<std::int64_t>(0, elapsed.nanoseconds);
    const std::int64_t halvings = past / half_life.nanoseconds;
    if (halvings >= one_bits) return;
    left_ = one >> halvings;
    static const auto roots = make_roots();
    Wide rest = Wide{static_cast<std::uint64_t>(past % half_life.nanoseconds)};
    for (const std::uint64_t root : roots) {
        rest *= 2;
        if (rest < static_cast<Wide>(half_life.nanoseconds)) continue;
        rest -= static_cast<Wide>(half_life.nanoseconds);
        left_ = times(left_, root);
    }
}

std::int64_t Decay::left_of(std::int64_t amount) const {
    return static_cast<std::int64_t>(Wide{static_cast<std::uint64_t>(amount)} * left_ >> one_bits);
}

void Consumption::sample(const std::map<ResourceId, Amount>& used, Duration elapsed,
                         Duration half_life) {
    const Decay decay(elapsed, half_life);
    for (auto& [resource, amount] : thousandths)
        amount = decay.left_of(amount);
    if (half_life > Duration{}) {
        for (const auto& [resource, amount] : used) {
            std::int64_t& consumed = thousandths[resource];
            const std::int64_t more =
                decay.lost_of(std::max<std::int64_t>(0, thousandths_of(amount)));
            consumed = consumed > most - more ? most : consumed + more;
        }
    }
    std::erase_if(thousandths, [](const auto& each) { return each.second == 0; });
}

void Consumption::charge(const std::map<ResourceId, Amount>& started,
                         const AdmissionSharing& sharing) {
    if (sharing.half_life <= Duration{}) return;
    const Decay decay(sharing.sampling, sharing.half_life);
    for (const auto& [resource, amount] : started) {
        const std::int64_t more = decay.lost_of(std::max<std::int64_t>(0, thousandths_of(amount)));
        if (more == 0) continue;
        std::int64_t& consumed = thousandths[resource];
        consumed = consumed > most - more ? most : consumed + more;
    }
}

void Consumption::refund(const std::map<ResourceId, Amount>& started,
                         const AdmissionSharing& sharing) {
    if (sharing.half_life <= Duration{}) return;
    const Decay decay(sharing.sampling, sharing.half_life);
    for (const auto& [resource, amount] : started) {
        const auto found = thousandths.find(resource);
        if (found == thousandths.end()) continue;
        const std::int64_t less = decay.lost_of(std::max<std::int64_t>(0, thousandths_of(amount)));
        found->second = std::max<std::int64_t>(0, found->second - less);
        if (found->second == 0) thousandths.erase(found);
    }
}

// Amounts of cpu are thousandths already; with the others times a thousand all are millionths.
Fraction weighted_use(const Consumption& consumption, const AdmissionSharing& sharing,
                      const Names<ResourceId>& resources, FairWeight weight) {
    if (weight.nanos <= 0) return {1, 0};
    Fraction use{0, static_cast<Wide>(weight.nanos)};
    for (const auto& [resource, amount] : consumption.thousandths) {
        const std::string& name = resources.name_of(resource);
        const auto known = sharing.weight_nanos.find(name);
        const std::int64_t nanos = known == sharing.weight_nanos.end() ? billion : known->second;
        const Wide millionths = static_cast<Wide>(amount) * (name == "cpu" ? 1 : thousand);
        use.over = sum(use.over, product(millionths, static_cast<Wide>(nanos)));
    }
    return use;
}

std::int64_t in_thousandths(Fraction use) {
    if (use.under == 0) return most;
    const Wide whole = use.over / use.under / thousand;  // Both are in billionths.
    return whole > static_cast<Wide>(most) ? most : static_cast<std::int64_t>(whole);
}

}  // namespace muster::decide
