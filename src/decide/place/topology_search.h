// decide/place/topology_search.h - one search of place_in_topology in the making. Only
// topology_*.cpp include this.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "decide/place/topology_placement.h"

namespace muster::decide {

struct TopologySearch {
    using Index = TopologyForest::Index;

    /// What fits into a domain: without the leader, and beside it.
    struct Room {
        std::int64_t pods = 0;
        std::int64_t slices = 0;  // Only at the level of the slices and above.
        std::int64_t led_pods = 0;
        std::int64_t led_slices = 0;
        std::int64_t leaders = 0;  // 0 or 1.
    };
    /// What a domain gets.
    struct Taken {
        Index domain = 0;
        std::int64_t pods = 0;
        std::int64_t leaders = 0;
    };
    /// What is to be shared out, in units of `size` pods.
    struct Want {
        std::int64_t units = 0;
        std::int64_t size = 1;
        std::int64_t leaders = 0;
    };
    /// Domains that together have enough.
    struct Chosen {
        std::size_t level = 0;
        std::vector<Index> domains;
    };
    enum class First { largest, those_for_the_leader };
    using Rooms = std::vector<std::vector<Room>>;  // By level and domain.

    const TopologyQuery& query;
    const TopologyNeed& workers;
    const TopologyNeed* leader;

    bool required = false;
    bool unconstrained = false;
    std::size_t level = 0;
    std::size_t slice_level = 0;
    std::int64_t slice_size = 1;
    std::vector<std::int64_t> inner_size = {};  // By level; 0: no inner layer reaches there.
    Rooms rooms = {};
    TopologyExclusions excluded = {};

    const TopologyForest& forest() const { return query.forest; }
    std::size_t lowest() const { return forest().levels().size() - 1; }
    std::int64_t slices_wanted() const { return workers.count / slice_size; }
    std::int64_t leaders_wanted() const { return leader == nullptr ? 0 : 1; }
    bool takes_the_fullest() const;

    // topology_count.cpp: phase 1.
    std::optional<TopologyRefusal> read_request();
    std::optional<TopologyRefusal> read_layers();
    void count_leaves();
    void count_leaf(Index leaf, const std::vector<Toleration>& tolerations,
                    const std::vector<Toleration>& leader_tolerations);
    bool may_hold(const Node& node, const PodShape& pod, const std::vector<Toleration>& tolerations,
                  TopologyExclusions* why_not) const;
    bool is_within(Index leaf) const;
    Amount free(Index leaf, std::size_t resource) const;
    void count_up(Rooms& counted, std::size_t from, Index begin, Index end) const;
    Room sum_of_children(const Rooms& counted, std::size_t at, Index domain) const;

    // topology_placement.cpp: phase 2.
    std::variant<Chosen, TopologyRefusal> choose() const;
    std::optional<Chosen> choose_one(std::size_t at, const std::vector<Index>& order) const;
    std::variant<Chosen, TopologyRefusal> choose_several(std::size_t at,
                                                         const std::vector<Index>& order) const;
    std::variant<Chosen, TopologyRefusal> choose_several_beside(std::size_t at,
                                                                std::optional<Index> led,
                                                                std::vector<Index> order) const;
    TopologyRefusal not_fitting(std::size_t at, std::int64_t fit) const;
    std::vector<Index> ordered(std::size_t at, std::vector<Index> domains, First first) const;
    std::vector<Index> all(std::size_t at) const;
    std::vector<Index> children(std::size_t at, Index domain) const;
    std::vector<Taken> share_out(std::size_t at, const std::vector<Index>& order, Want want) const;
    std::vector<Taken> share_out_leader_first(std::size_t at, const std::vector<Index>& order,
                                              Want want) const;
    std::vector<Taken> descend(std::size_t at, std::vector<Taken> taken) const;
    std::int64_t units(std::size_t at, Index domain, std::int64_t size) const;
    std::int64_t led_units(std::size_t at, Index domain, std::int64_t size) const;

    // topology_balanced.cpp: what is preferred, spread evenly. Absent when that does not work.
    struct Spread {
        std::size_t level = 0;
        std::vector<Taken> taken;
    };
    std::optional<Spread> spread() const;
};

}  // namespace muster::decide
