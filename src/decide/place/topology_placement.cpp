// decide/place/topology_placement.cpp - phase 2: the level and domains that have enough, and down
// from there which leaf gets how much.
#include "decide/place/topology_placement.h"

#include <algorithm>
#include <tuple>

#include "decide/place/topology_search.h"

namespace muster::decide {

namespace {

using Index = TopologyForest::Index;

/// Of what a level has, the slices that fit below each domain when each level rounds by itself.
std::int64_t slices_below(const TopologyForest& forest, const TopologySearch::Rooms& rooms,
                          std::size_t at, Index domain, std::size_t target, std::int64_t size) {
    if (at == target) return rooms[at][domain].pods / size;
    const auto& here = forest.domains(at)[domain];
    std::int64_t sum = 0;
    for (Index i = here.first_child; i < here.first_child + here.children; ++i)
        sum += slices_below(forest, rooms, at + 1, i, target, size);
    return sum;
}

}  // namespace

bool TopologySearch::takes_the_fullest() const {
    return query.profile.choice == TopologyProfile::Choice::least_free ||
           (query.profile.choice == TopologyProfile::Choice::mixed && unconstrained);
}

std::vector<Index> TopologySearch::all(std::size_t at) const {
    std::vector<Index> domains(forest().domains(at).size());
    for (Index i = 0; i < domains.size(); ++i)
        domains[i] = i;
    return domains;
}

std::vector<Index> TopologySearch::children(std::size_t at, Index domain) const {
    const auto& here = forest().domains(at)[domain];
    std::vector<Index> found(here.children);
    for (Index i = 0; i < here.children; ++i)
        found[i] = here.first_child + i;
    return found;
}

// Most slices first (the fullest profile: least), then what leaves the fewest pods over, then path.
std::vector<Index> TopologySearch::ordered(std::size_t at, std::vector<Index> domains,
                                           First first) const {
    const std::int64_t sign = takes_the_fullest() ? 1 : -1;
    const auto rank = [&](Index domain) {
        const Room& room = rooms[at][domain];
        return first == First::largest
                   ? std::tuple(std::int64_t{0}, sign * room.slices, room.pods, domain)
                   : std::tuple(-room.leaders, sign * room.led_slices, room.led_pods, domain);
    };
    std::sort(domains.begin(), domains.end(), [&](Index a, Index b) { return rank(a) < rank(b); });
    return domains;
}

std::variant<TopologySearch::Chosen, TopologyRefusal> TopologySearch::choose() const {
    for (std::size_t at = level;; --at) {
        if (forest().domains(at).empty()) {
            TopologyRefusal none;
            none.rule = TopologyRefusal::Rule::no_domains;
            none.level = forest().levels()[at];
            return none;
        }
        std::vector<Index> order = ordered(at, all(at), First::those_for_the_leader);
        if (auto one = choose_one(at, order)) return *std::move(one);
        if (required) {
            const Room& best = rooms[at][order.front()];
            return not_fitting(at,
                               takes_the_fullest() ? rooms[at][order.back()].pods : best.slices);
        }
        if (at == 0 || unconstrained) return choose_several(at, order);
    }
}

// The tightest single domain that holds everything; of equal ones the first.
std::optional<TopologySearch::Chosen> TopologySearch::choose_one(
    std::size_t at, const std::vector<Index>& order) const {
    std::optional<Index> best;
    for (const Index domain : order) {
        const Room& room = rooms[at][domain];
        if (room.led_slices < slices_wanted() || room.leaders < leaders_wanted()) continue;
        if (!best || room.led_slices < rooms[at][*best].led_slices) best = domain;
        if (takes_the_fullest()) break;
    }
    if (!best) return std::nullopt;
    return Chosen{at, {*best}};
}

// Greedily, the domain of the leader first; where the rest fits into one, into the tightest. The
// leader goes where the most fits beside it and, when that is not enough, where it costs the least.
std::variant<TopologySearch::Chosen, TopologyRefusal> TopologySearch::choose_several(
    std::size_t at, const std::vector<Index>& order) const {
    if (leader == nullptr) return choose_several_beside(at, std::nullopt, order);
    if (rooms[at][order.front()].leaders == 0) return not_fitting(at, 0);
    auto first = choose_several_beside(at, order.front(), order);
    if (std::holds_alternative<Chosen>(first)) return first;
    const auto cost = [&](Index domain) {
        return rooms[at][domain].slices - rooms[at][domain].led_slices;
    };
    Index cheapest = order.front();
    for (const Index domain : order) {
        if (rooms[at][domain].leaders > 0 && cost(domain) < cost(cheapest)) cheapest = domain;
    }
    auto second = choose_several_beside(at, cheapest, order);
    return std::holds_alternative<Chosen>(second) ? second : first;
}

std::variant<TopologySearch::Chosen, TopologyRefusal> TopologySearch::choose_several_beside(
    std::size_t at, std::optional<Index> led, std::vector<Index> order) const {
    Chosen chosen{at, {}};
    std::int64_t slices = slices_wanted();
    if (led) {
        chosen.domains.push_back(*led);
        slices -= rooms[at][*led].led_slices;
        std::erase(order, *led);
    }
    order = ordered(at, std::move(order), First::largest);
    for (std::size_t i = 0; slices > 0 && i < order.size(); ++i) {
        Index domain = order[i];
        if (!takes_the_fullest() && rooms[at][domain].slices >= slices) {
            for (std::size_t k = i + 1; k < order.size(); ++k) {
                const std::int64_t there = rooms[at][order[k]].slices;
                if (there >= slices && there < rooms[at][domain].slices) domain = order[k];
            }
        }
        chosen.domains.push_back(domain);
        slices -= rooms[at][domain].slices;
    }
    if (slices > 0) return not_fitting(at, slices_wanted() - slices);
    return chosen;
}

TopologyRefusal TopologySearch::not_fitting(std::size_t at, std::int64_t fit) const {
    TopologyRefusal refusal;
    refusal.level = forest().levels()[at];
    refusal.excluded = excluded;
    refusal.unit = slice_size == 1 ? TopologyRefusal::Unit::pod : TopologyRefusal::Unit::slice;
    refusal.fit = fit;
    refusal.wanted = slices_wanted();
    if (workers.request.slices.size() < 2) return refusal;
    refusal.rule = TopologyRefusal::Rule::layers_do_not_fit;
    Index best = 0;
    for (Index i = 1; i < rooms[at].size(); ++i) {
        if (rooms[at][i].slices > rooms[at][best].slices) best = i;
    }
    for (const TopologyRequest::Slice& layer : workers.request.slices) {
        refusal.layers.push_back(
            {layer.level,
             slices_below(forest(), rooms, at, best, *forest().level_of(layer.level), layer.size),
             workers.count / layer.size});
    }
    return refusal;
}

// At the level of the slices and above a domain has whole slices only.
std::int64_t TopologySearch::units(std::size_t at, Index domain, std::int64_t size) const {
    const Room& room = rooms[at][domain];
    return at <= slice_level ? room.slices : room.pods / size;
}

std::int64_t TopologySearch::led_units(std::size_t at, Index domain, std::int64_t size) const {
    const Room& room = rooms[at][domain];
    return at <= slice_level ? room.led_slices : room.led_pods / size;
}

// In order, each domain gives all it has; where the rest fits into one, the tightest gives it.
// Empty when it is not enough.
std::vector<TopologySearch::Taken> TopologySearch::share_out(std::size_t at,
                                                             const std::vector<Index>& order,
                                                             Want want) const {
    std::vector<Taken> taken;
    std::int64_t left = want.units;
    std::int64_t leaders = want.leaders;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const auto has = [&](Index domain) {
            return leaders > 0 ? led_units(at, domain, want.size) : units(at, domain, want.size);
        };
        const auto is_enough = [&](Index domain) {
            return has(domain) >= left && (leaders == 0 || rooms[at][domain].leaders > 0);
        };
        Index domain = order[i];
        if (is_enough(domain)) {
            if (!takes_the_fullest()) {
                for (std::size_t k = i + 1; k < order.size(); ++k) {
                    if (is_enough(order[k]) && has(order[k]) < has(domain)) domain = order[k];
                }
            }
            taken.push_back({domain, left * want.size, leaders});
            return taken;
        }
        const std::int64_t some = std::min(left, has(domain));
        const std::int64_t led = std::min(leaders, rooms[at][domain].leaders);
        taken.push_back({domain, some * want.size, led});
        left -= some;
        leaders -= led;
    }
    return want.leaders > 0 ? share_out_leader_first(at, order, want) : std::vector<Taken>{};
}

// The order let workers take the leader's room: the leader goes where it costs the least, and
// everyone else after it.
std::vector<TopologySearch::Taken> TopologySearch::share_out_leader_first(
    std::size_t at, const std::vector<Index>& order, Want want) const {
    const auto cost = [&](Index domain) {
        return units(at, domain, want.size) - led_units(at, domain, want.size);
    };
    std::optional<Index> best;
    for (const Index domain : order) {
        if (rooms[at][domain].leaders == 0) continue;
        if (!best || cost(domain) < cost(*best)) best = domain;
    }
    if (!best) return {};
    std::vector<Taken> taken = {
        {*best, std::min(want.units, led_units(at, *best, want.size)) * want.size, 1}};
    std::int64_t left = want.units - taken.front().pods / want.size;
    for (const Index domain : order) {
        if (left <= 0) break;
        if (domain == *best) continue;
        const std::int64_t some = std::min(left, units(at, domain, want.size));
        taken.push_back({domain, some * want.size, 0});
        left -= some;
    }
    return left > 0 ? std::vector<Taken>{} : taken;
}

// From what each domain got to what its children get.
std::vector<TopologySearch::Taken> TopologySearch::descend(std::size_t at,
                                                           std::vector<Taken> taken) const {
    for (; at < lowest(); ++at) {
        std::int64_t size = 1;
        if (at < slice_level) {
            size = slice_size;
        } else if (inner_size[at + 1] > 0) {
            size = inner_size[at + 1];
        }
        std::vector<Taken> below;
        for (const Taken& parent : taken) {
            if (parent.pods == 0 && parent.leaders == 0) continue;
            const auto part =
                share_out(at + 1, ordered(at + 1, children(at, parent.domain), First::largest),
                          {parent.pods / size, size, parent.leaders});
            VERIFY(!part.empty());
            below.insert(below.end(), part.begin(), part.end());
        }
        taken = std::move(below);
    }
    return taken;
}

namespace {

/// The leaves of a finished search.
TopologyFound found_in(std::vector<TopologySearch::Taken> taken) {
    std::sort(taken.begin(), taken.end(),
              [](const auto& a, const auto& b) { return a.domain < b.domain; });
    TopologyFound found;
    for (const TopologySearch::Taken& leaf : taken) {
        if (leaf.pods > 0) found.workers.emplace_back(leaf.domain, leaf.pods);
        if (leaf.leaders > 0) found.leader.emplace_back(leaf.domain, leaf.leaders);
    }
    return found;
}

}  // namespace

std::variant<TopologyFound, TopologyRefusal> place_in_topology(const TopologyQuery& query,
                                                               const TopologyNeed& workers,
                                                               const TopologyNeed* leader) {
    TopologySearch search{.query = query, .workers = workers, .leader = leader};
    if (auto refusal = search.read_request()) {
        refusal->pod_set = workers.pod_set;
        return *std::move(refusal);
    }
    search.count_leaves();
    search.count_up(search.rooms, 0, 0, static_cast<Index>(search.rooms[0].size()));
    if (query.profile.spread == TopologyProfile::Spread::balanced && !search.required &&
        !search.unconstrained) {
        if (auto spread = search.spread()) {
            return found_in(search.descend(spread->level, std::move(spread->taken)));
        }
    }
    auto answer = search.choose();
    if (auto* refusal = std::get_if<TopologyRefusal>(&answer)) {
        refusal->pod_set = workers.pod_set;
        return std::move(*refusal);
    }
    const auto& chosen = std::get<TopologySearch::Chosen>(answer);
    const TopologySearch::Want all_of_it{search.slices_wanted(), search.slice_size,
                                         search.leaders_wanted()};
    std::size_t at = chosen.level;
    auto taken = search.share_out(at, chosen.domains, all_of_it);
    VERIFY(!taken.empty());
    // Above the slices the parents' shares do not bind: all their children compete.
    for (; at < search.slice_level; ++at) {
        std::vector<Index> below;
        for (const TopologySearch::Taken& parent : taken) {
            const std::vector<Index> own = search.children(at, parent.domain);
            below.insert(below.end(), own.begin(), own.end());
        }
        taken = search.share_out(
            at + 1, search.ordered(at + 1, std::move(below), TopologySearch::First::largest),
            all_of_it);
        VERIFY(!taken.empty());
    }
    return found_in(search.descend(at, std::move(taken)));
}

}  // namespace muster::decide
