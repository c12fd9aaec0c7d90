// decide/place/topology_balanced.cpp - what is preferred, spread evenly: the fewest domains, each
// with as many slices as can be the least for all of them.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <tuple>

#include "decide/place/topology_search.h"

namespace muster::decide {

namespace {

using Index = TopologyForest::Index;

/// How a greedy choice among domains would end.
struct Greedy {
    std::int64_t domains = 0;
    std::optional<Index> last_led;  // The domain of the leader.
    std::optional<Index> last;      // The last of the others.
};

/// Domains of one level, to be shared among evenly.
struct Candidate {
    TopologySearch search;  // With room only where the threshold is reached.
    std::vector<Index> domains;
    std::int64_t threshold = 0;
    std::int64_t greedy_domains = 0;
};

std::optional<Greedy> greedy(const TopologySearch& search, std::size_t at,
                             std::vector<Index> domains) {
    Greedy result;
    std::int64_t left = search.slices_wanted();
    const auto& rooms = search.rooms[at];
    if (search.leader != nullptr) {
        domains =
            search.ordered(at, std::move(domains), TopologySearch::First::those_for_the_leader);
        if (domains.empty() || rooms[domains.front()].leaders == 0) return std::nullopt;
        result.last_led = domains.front();
        result.domains = 1;
        left -= rooms[domains.front()].led_slices;
        domains.erase(domains.begin());
    }
    for (const Index domain :
         search.ordered(at, std::move(domains), TopologySearch::First::largest)) {
        if (left <= 0 || rooms[domain].slices == 0) break;
        ++result.domains;
        result.last = domain;
        left -= rooms[domain].slices;
    }
    if (left > 0) return std::nullopt;
    return result;
}

std::vector<Index> children_of(const TopologySearch& search, std::size_t at,
                               const std::vector<Index>& domains) {
    std::vector<Index> below;
    for (const Index domain : domains) {
        const std::vector<Index> own = search.children(at, domain);
        below.insert(below.end(), own.begin(), own.end());
    }
    return below;
}

enum class Clear { everything, room_for_the_leader };

void clear(TopologySearch& search, std::size_t at, Index domain, Clear what) {
    TopologySearch::Room& room = search.rooms[at][domain];
    if (what == Clear::everything) {
        room = {};
    } else {
        room.led_pods = room.led_slices = room.leaders = 0;
    }
    if (at == search.lowest()) return;
    for (const Index child : search.children(at, domain))
        clear(search, at + 1, child, what);
}

void prune(TopologySearch& search, std::size_t at, Index domain, std::int64_t threshold) {
    const TopologySearch::Room& room = search.rooms[at][domain];
    if (room.slices < threshold) {
        clear(search, at, domain, Clear::everything);
    } else if (search.leader != nullptr && room.leaders > 0 && room.led_slices < threshold) {
        clear(search, at, domain, Clear::room_for_the_leader);
    }
}

/// The domains with what cannot reach the threshold taken out; absent when the rest is not enough.
std::optional<Candidate> pruned(const TopologySearch& search, const std::vector<Index>& domains,
                                std::int64_t threshold) {
    Candidate candidate{search, domains, threshold, 0};
    TopologySearch& own = candidate.search;
    const std::size_t at = search.level;
    for (const Index domain : domains) {
        if (at < search.lowest()) {
            for (const Index child : own.children(at, domain))
                prune(own, at + 1, child, threshold);
        }
        own.count_up(own.rooms, at, domain, domain + 1);
        prune(own, at, domain, threshold);
    }
    const auto fits = greedy(own, at, domains);
    if (!fits) return std::nullopt;
    candidate.greedy_domains = fits->domains;
    return candidate;
}

/// log2 with 20 binary places. Requires: n > 0.
std::int64_t log2_scaled(std::uint64_t n) {
    const int whole = static_cast<int>(std::bit_width(n)) - 1;
    std::uint64_t mantissa = whole <= 31 ? n << (31 - whole) : n >> (whole - 31);
    std::int64_t log = whole;
    for (int i = 0; i < 20; ++i) {
        mantissa = mantissa * mantissa >> 31;
        log *= 2;
        if (mantissa >> 32 != 0) {
            mantissa >>= 1;
            ++log;
        }
    }
    return log;
}

/// How evenly the children's room is spread, as an integer; equal shares give equal results.
std::int64_t entropy(const TopologySearch& search, std::size_t at, Index domain) {
    if (at == search.lowest()) return 0;
    std::vector<std::int64_t> shares;
    std::int64_t divisor = 0;
    for (const Index child : search.children(at, domain)) {
        constexpr std::int64_t most = 1 << 20;
        const std::int64_t pods = std::min(most, search.rooms[at + 1][child].pods);
        if (pods > 0) shares.push_back(pods);
        divisor = std::gcd(divisor, pods);
    }
    if (shares.empty()) return 0;
    std::int64_t total = 0;
    std::int64_t sum = 0;
    for (const std::int64_t share : shares) {
        const std::int64_t part = share / divisor;
        total += part;
        sum += part * log2_scaled(static_cast<std::uint64_t>(part));
    }
    return log2_scaled(static_cast<std::uint64_t>(total)) - sum / total;
}

enum class Prefer { path, room_and_evenness };

std::vector<Index> in_order(const TopologySearch& search, std::size_t at,
                            std::vector<Index> domains, Prefer prefer) {
    if (prefer == Prefer::path) {
        std::sort(domains.begin(), domains.end());
        return domains;
    }
    using Rank = std::tuple<std::int64_t, std::int64_t, std::int64_t, Index>;
    std::vector<Rank> ranks;
    for (const Index domain : domains) {
        const TopologySearch::Room& room = search.rooms[at][domain];
        ranks.emplace_back(-room.leaders, -room.led_slices, -entropy(search, at, domain), domain);
    }
    std::sort(ranks.begin(), ranks.end());
    for (std::size_t i = 0; i < ranks.size(); ++i)
        domains[i] = std::get<3>(ranks[i]);
    return domains;
}

/// The fewest domains that are enough, with the least to spare: all sums that sets of up to that
/// many domains can make, each with the first set that makes it. Empty when nothing is enough.
std::vector<Index> tightest_set(const TopologySearch& search, std::size_t at,
                                const std::vector<Index>& domains, Prefer prefer) {
    const auto fits = greedy(search, at, domains);
    if (!fits) return {};
    struct Step {
        Index domain;
        std::size_t before;  // The step before it; 0: none.
    };
    using Left = std::pair<std::int64_t, std::int64_t>;  // Leaders and pods still to place.
    std::vector<Step> steps(1);
    const auto most = static_cast<std::size_t>(fits->domains);
    std::vector<std::map<Left, std::size_t>> sums(most + 1);
    sums[0][{search.leaders_wanted(), search.slices_wanted() * search.slice_size}] = 0;
    for (const Index domain : in_order(search, at, domains, prefer)) {
        const TopologySearch::Room& room = search.rooms[at][domain];
        for (std::size_t i = most; i > 0; --i) {
            for (const auto& [left, step] : sums[i - 1]) {
                const auto& [leaders, pods] = left;
                if (leaders <= 0 && pods <= 0) continue;
                const auto take = [&, before = step](const Left& after) {
                    if (sums[i].contains(after)) return;
                    sums[i][after] = steps.size();
                    steps.push_back({domain, before});
                };
                if (leaders > 0 && room.leaders > 0) {
                    take({leaders - room.leaders, pods - room.led_pods});
                }
                if (room.slices > 0) take({leaders, pods - room.pods});
            }
        }
    }
    std::optional<std::size_t> best;
    for (const auto& [left, step] : sums[most]) {
        if (left.first == 0 && left.second <= 0) best = step;  // The last has the least to spare.
    }
    std::vector<Index> set;
    for (std::size_t step = best.value_or(0); step != 0; step = steps[step].before)
        set.push_back(steps[step].domain);
    std::reverse(set.begin(), set.end());
    return set;
}

/// The threshold for every domain, and what is left over to the first that have room for it.
std::vector<TopologySearch::Taken> share_evenly(const TopologySearch& search, std::size_t at,
                                                const std::vector<Index>& domains,
                                                std::int64_t threshold) {
    const std::vector<Index> set = tightest_set(search, at, domains, Prefer::path);
    std::int64_t extra = search.slices_wanted() - static_cast<std::int64_t>(set.size()) * threshold;
    if (set.empty() || extra < 0) return {};
    std::int64_t leaders = search.leaders_wanted();
    std::vector<TopologySearch::Taken> taken;
    for (const Index domain :
         search.ordered(at, set, TopologySearch::First::those_for_the_leader)) {
        const TopologySearch::Room& room = search.rooms[at][domain];
        const std::int64_t room_here = leaders > 0 ? room.led_slices : room.slices;
        const std::int64_t more = std::min(room_here - threshold, extra);
        if (more < 0) return {};
        taken.push_back({domain, (threshold + more) * search.slice_size, leaders});
        extra -= more;
        leaders = 0;
    }
    if (extra > 0) return {};
    return taken;
}

/// The best of the sets of siblings: the highest threshold, then the fewest domains.
std::optional<Candidate> best_siblings(const TopologySearch& search) {
    std::vector<std::vector<Index>> sets;
    if (search.level == 0) {
        sets.push_back(search.all(0));
    } else {
        for (const Index parent : search.all(search.level - 1))
            sets.push_back(search.children(search.level - 1, parent));
    }
    std::optional<Candidate> best;
    for (const std::vector<Index>& siblings : sets) {
        const bool above = search.level < search.slice_level;
        const std::size_t at = above ? search.level + 1 : search.level;
        const auto fits =
            greedy(search, at, above ? children_of(search, search.level, siblings) : siblings);
        if (!fits) continue;
        std::int64_t threshold = search.slices_wanted() / fits->domains;
        const auto& rooms = search.rooms[at];
        if (fits->last_led) threshold = std::min(threshold, rooms[*fits->last_led].led_slices);
        if (fits->last) threshold = std::min(threshold, rooms[*fits->last].slices);
        if (threshold <= 0 || (best && threshold < best->threshold)) continue;
        std::optional<Candidate> candidate(pruned(search, siblings, threshold));
        if (!candidate && search.leader != nullptr && fits->last) {
            // Once more with a threshold that the leader leaves everywhere.
            threshold = std::min(threshold, rooms[*fits->last].led_slices);
            if (threshold <= 0 || (best && threshold < best->threshold)) continue;
            if (auto lower = pruned(search, siblings, threshold)) {
                candidate.emplace(*std::move(lower));
            }
        }
        if (!candidate) continue;
        if (!best || std::tuple(-candidate->threshold, candidate->greedy_domains) <
                         std::tuple(-best->threshold, best->greedy_domains)) {
            best.emplace(*std::move(candidate));
        }
    }
    return best;
}

}  // namespace

std::optional<TopologySearch::Spread> TopologySearch::spread() const {
    if (slices_wanted() == 0) return std::nullopt;
    const auto best = best_siblings(*this);
    if (!best) return std::nullopt;
    std::vector<Index> domains = best->domains;
    std::size_t at = level;
    if (level < slice_level) {
        domains = tightest_set(best->search, level, domains, Prefer::room_and_evenness);
        domains = children_of(best->search, level, domains);
        at = level + 1;
    }
    std::vector<Taken> taken = share_evenly(best->search, at, domains, best->threshold);
    if (taken.empty()) return std::nullopt;
    return Spread{at, std::move(taken)};
}

}  // namespace muster::decide
