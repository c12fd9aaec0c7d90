// decide/place/topology_book.h - all topologies: nodes, other pods and admitted workloads worked in
// by differences, and places found for waiting ones.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/persistent_map.h"
#include "decide/place/topology_placement.h"
#include "decide/workload.h"

namespace muster::decide {

/// A pod set with the flavor that it has been given, or is to be given.
struct TopologyAsk {
    std::string pod_set;
    std::string flavor;
    std::int64_t count = 0;
    TopologyRequest request;
    std::string group;  // Two pod sets of one group are a leader and its workers; empty: alone.
    const PodShape* pod = nullptr;
};

/// The flavors that have a topology, and what is taken in their domains. A pod counts where it
/// sits, those of a workload that holds places there where these are.
///
/// Answers are equal for every order in which the same things were set.
class TopologyBook {
public:
    using Assume = TopologyQuery::Assume;
    /// One for each pod set asked for, in their order; without levels for one without pods.
    using Assignments = std::vector<TopologyAssignment>;

    void set_profile(TopologyProfile profile);
    void set_topology(const Topology& topology);
    void remove_topology(const std::string& name);
    /// One without a topology is forgotten.
    void set_flavor(const Flavor& flavor);
    void remove_flavor(const std::string& name);
    /// Names of flavors, each once: those that something concerns.
    using Concerned = std::set<std::string>;
    Concerned set_node(const Node& node);
    /// Those that are known, by name.
    std::vector<std::shared_ptr<const Node>> nodes() const;
    Concerned remove_node(const std::string& name);

    /// A pod sits on a node; `workload` as in PodBound.
    void bind(const std::string& pod, const std::string& node, const PodShape& shape,
              const std::string& workload);
    Concerned unbind(const std::string& pod);

    /// What the workload holds from now on, and nothing else.
    void hold(const std::string& workload, const std::vector<TopologyAsk>& asks,
              const Assignments& assignments);
    void release(const std::string& workload);
    /// As if it held nothing, and back, for trials on a copy. Requires: out before in.
    void count_out(const std::string& workload);
    void count_in(const std::string& workload);
    /// True when a pod of the workload sits on the node.
    bool has_pod_on(const std::string& workload, const std::string& node) const;
    bool holds(const std::string& workload) const { return held_.contains(workload); }

    bool exists(const std::string& topology) const { return topologies_.contains(topology); }
    /// True when the flavor names a topology.
    bool has_topology(std::string_view flavor) const { return flavors_.contains(flavor); }
    /// True when the flavor's topology exists and has every level that the request names.
    bool has_levels(std::string_view flavor, const TopologyRequest& request) const;

    /// Places for all pod sets of one workload, each beside those before it.
    std::variant<Assignments, TopologyRefusal> find(const std::vector<TopologyAsk>& asks,
                                                    Assume assume) const;
    /// Whether these places are free now.
    bool fits(const std::vector<TopologyAsk>& asks, const Assignments& assignments) const;
    /// The assignment without `node`, with as many pods elsewhere: in the same required domain, and
    /// where they complete the slices that the node broke. Requires: `assignment` is held.
    std::variant<TopologyAssignment, TopologyRefusal> replace(const TopologyAsk& ask,
                                                              const TopologyAssignment& assignment,
                                                              const std::string& node) const;

    /// Workloads with places on this node, by name.
    std::vector<std::string> workloads_on(const std::string& hostname) const;
    /// Where a pod sits; absent when it is unknown.
    std::optional<std::string> node_of(const std::string& pod) const;
    /// Of these places, the hosts on which nothing can run any more: gone, or not ready with none
    /// of the workload's pods left. In order.
    std::vector<std::string> failed_hosts(const std::string& workload) const;
    /// Grows whenever an answer may change.
    std::uint64_t version() const { return version_; }

    /// Words for each promise that does not hold: what is taken is the sum of what is held.
    std::vector<std::string> broken_invariants() const;
    /// Words for each lowest domain that has given more than it has.
    std::vector<std::string> overfull() const;
    /// All that there is and who holds it, by name. For tests that compare states.
    std::vector<std::string> lines() const;

private:
    /// A lowest domain: its hostname alone, for all flavors, or a path with its flavor.
    using Place = std::pair<std::string, TopologyForest::Path>;
    struct FlavorEntry {
        Flavor spec;
        std::optional<TopologyForest> forest;  // Absent: the topology does not exist.
    };
    struct NodeEntry {
        std::shared_ptr<const Node> node;  // Null: pods sit there, the node is not known.
        Amounts others;                    // Of pods that hold no place.
    };
    struct PodEntry {
        std::string node;
        std::string workload;
        Amounts amounts;
    };
    struct Held {
        Place place;
        Amounts amounts;  // Of all its pods there.
    };
    using Promised = std::map<Place, Amounts>;

    Amounts amounts_of(const Resources& requests, std::int64_t pods);
    Amounts known_amounts_of(const Resources& requests) const;
    std::optional<std::string> unknown_resource(const std::vector<std::size_t>& members,
                                                const std::vector<TopologyAsk>& asks) const;
    TopologyForest make_forest(const Flavor& flavor, const Topology& topology);
    std::optional<TopologyForest::Path> path_in(const FlavorEntry& flavor, const Node& node) const;
    /// Whether the node is one of the flavor's.
    enum class Serves { no, yes };
    Serves enter(FlavorEntry& flavor, const NodeEntry& entry);
    Serves leave(FlavorEntry& flavor, const NodeEntry& entry);
    Amounts gives(const NodeEntry& entry);
    Concerned count_other(const PodEntry& pod, std::int64_t times);
    void count_held(const Held& held, std::int64_t times);
    std::optional<TopologyForest::Index> leaf_at(const FlavorEntry& flavor,
                                                 const Place& place) const;
    static Place place_of(const std::string& flavor, const std::vector<std::string>& levels,
                          const TopologyForest::Path& values);
    TopologyNeed need_of(const TopologyAsk& ask) const;
    TopologyQuery query_for(const FlavorEntry& flavor, Assume assume,
                            const Promised& promised) const;
    TopologyAssignment assignment_of(const FlavorEntry& flavor, const TopologyPlaces& places) const;
    std::optional<std::pair<std::size_t, TopologyForest::Index>> domain_to_stay_in(
        const TopologyForest& forest, const TopologyAsk& ask, std::int64_t lost,
        const TopologyPlaces& rest) const;
    void changed() { ++version_; }

    Names<ResourceId> resources_;
    TopologyProfile profile_;
    std::map<std::string, Topology, std::less<>> topologies_;
    std::map<std::string, FlavorEntry, std::less<>> flavors_;
    PersistentMap<std::string, NodeEntry> nodes_;
    PersistentMap<std::string, std::set<std::string>> hosts_;  // Names of nodes by hostname.
    PersistentMap<std::string, PodEntry> pods_;
    PersistentMap<std::string, std::set<std::string>> pods_of_;  // By workload.
    PersistentMap<std::string, std::vector<Held>> held_;         // By workload.
    PersistentMap<Place, Amounts> taken_;                        // Sums of `held_`; no zeros.
    PersistentMap<Place, std::set<std::string>> holders_;        // Workloads by place.
    std::uint64_t version_ = 0;
};

}  // namespace muster::decide
