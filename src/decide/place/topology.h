// decide/place/topology.h - what a pod set asks of the topology, what it gets, and why it gets
// nothing: plain values.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace muster::decide {

/// The levels of a data centre as keys of node labels, the widest first.
struct Topology {
    std::string name;
    std::vector<std::string> levels;
    friend auto operator<=>(const Topology&, const Topology&) = default;
};

/// What a pod set asks for.
struct TopologyRequest {
    /// `required`: one domain of the level holds all pods. `preferred`: the lowest level from
    /// there up of which one domain does, else several of the widest. `unconstrained`: any room.
    enum class Mode { none, required, preferred, unconstrained };
    /// Groups of `size` pods that stay inside one domain of `level`.
    struct Slice {
        std::string level;
        std::int64_t size = 0;  // 0: not said, which no topology can serve.
        friend auto operator<=>(const Slice&, const Slice&) = default;
    };
    Mode mode = Mode::none;
    std::string level;          // For required and preferred.
    std::vector<Slice> slices;  // The outermost first; more than one are layers.
    friend auto operator<=>(const TopologyRequest&, const TopologyRequest&) = default;
};

/// True when it asks for a place.
bool asks_for_topology(const TopologyRequest& request);

/// How many pods of a pod set go to which domains.
struct TopologyAssignment {
    struct Domain {
        std::vector<std::string> values;  // Of the labels in `levels`.
        std::int64_t count = 0;
        friend auto operator<=>(const Domain&, const Domain&) = default;
    };
    std::vector<std::string> levels;  // Only the hostname where that is the lowest.
    std::vector<Domain> domains;      // In the order of their full paths.
    friend auto operator<=>(const TopologyAssignment&, const TopologyAssignment&) = default;
};

/// How domains are chosen where several would do.
struct TopologyProfile {
    /// `mixed`: the fullest for what is unconstrained, else as `best_fit`: the fewest domains, and
    /// the tightest last. `least_free`: the fullest always.
    enum class Choice { mixed, best_fit, least_free };
    /// `balanced`: what is preferred is spread evenly over the fewest domains, where that works.
    enum class Spread { packed, balanced };
    Choice choice = Choice::mixed;
    Spread spread = Spread::packed;
    friend auto operator<=>(const TopologyProfile&, const TopologyProfile&) = default;
};

/// Why nodes count for nothing.
struct TopologyExclusions {
    std::int64_t total = 0;  // All domains of the lowest level.
    std::int64_t selector = 0;
    std::int64_t affinity = 0;
    std::int64_t other_domain = 0;  // Outside the domain that a replacement must stay in.
    std::map<std::string, std::int64_t> taints;     // "key=value:Effect"
    std::map<std::string, std::int64_t> resources;  // Not even one pod fits for want of it.
    friend auto operator<=>(const TopologyExclusions&, const TopologyExclusions&) = default;
};

/// Why a pod set finds no place.
struct TopologyRefusal {
    enum class Rule {
        // The request can never be served by this topology:
        no_level,            // `level` is none of its levels.
        no_slice_level,      // Nor is the level of the slices, `level`.
        slice_above_level,   // Slices at `level` are wider than the pod set's `other_level`.
        no_slice_size,       // A slice level without a size.
        no_layer_level,      // The level of an inner layer.
        layer_not_lower,     // Layer `level` is not below `other_level`.
        layer_not_dividing,  // Its `size` does not divide the `other_size` around it.
        bad_group,           // Not one leader with its workers.
        no_topology,         // The flavor's topology does not exist.
        // The nodes do not serve it:
        no_domains,         // No node has the topology's labels.
        does_not_fit,       // `fit` of `wanted`.
        layers_do_not_fit,  // The same for each of `layers`.
        // A replacement of a failed `node`:
        stale,  // `node` of the rest of the assignment is gone too.
        no_replacement,
    };
    enum class Unit { pod, slice };
    struct Layer {
        std::string level;
        std::int64_t fit = 0;
        std::int64_t wanted = 0;
        friend auto operator<=>(const Layer&, const Layer&) = default;
    };
    Rule rule = Rule::does_not_fit;
    std::string pod_set;
    std::string flavor;
    std::string topology;
    std::string level;
    std::string other_level;
    std::string node;
    std::int64_t size = 0;
    std::int64_t other_size = 0;
    Unit unit = Unit::pod;
    std::int64_t fit = 0;
    std::int64_t wanted = 0;
    std::vector<Layer> layers;
    TopologyExclusions excluded;
    friend auto operator<=>(const TopologyRefusal&, const TopologyRefusal&) = default;
};

/// Kueue's sentence: `topology "default" allows to fit only 2 out of 4 pod(s). Total nodes: ...`.
std::string topology_text(const TopologyRefusal& refusal);

/// The label that names a node; as the lowest level it makes every node a domain of its own.
constexpr std::string_view hostname_level = "kubernetes.io/hostname";

}  // namespace muster::decide
