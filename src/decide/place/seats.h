// decide/place/seats.h - the nodes and what is taken on each: finds the best node for a pod, and
// keeps count.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "decide/ids.h"
#include "decide/place/place.h"
#include "decide/place/pod.h"

namespace muster::decide {

/// A pod's shape made ready for many comparisons with nodes.
struct Need {
    std::shared_ptr<const PodShape> shape;
    std::vector<std::pair<ResourceId, Amount>> requests;  // Without zeros and without "pods".
    std::vector<ResourceId> accelerators;                 // Of the requests, those like GPUs.
};

/// True for what is counted in whole devices: not cpu, memory, storage, pods or huge pages.
bool is_accelerator(std::string_view resource);

/// Nodes, what they can give and what is taken. What is taken on a node always equals the sum of
/// the `take`s less the `give`s; nodes may be set after pods were taken on them.
class Seats {
public:
    /// False when the node is so already.
    bool set_node(const Node& node);
    void remove_node(std::string_view name);

    Need need_of(std::shared_ptr<const PodShape> shape);
    NodeId node_id(std::string_view name);
    const std::string& name_of(NodeId node) const { return names_.name_of(node); }

    /// The node that `need` fits best, absent when none takes it.
    std::optional<NodeId> best(const Need& need, std::string_view only = {}) const;
    void take(NodeId node, const Need& need);
    void give(NodeId node, const Need& need);

    /// Why each node refuses, by node name. Nodes that would take it are not in it.
    std::vector<Refusal> refusals(const Need& need, std::string_view only = {}) const;

    /// More is taken on the node than it can give, or it is not there.
    bool is_overfull(NodeId node) const;

    /// The same nodes with nothing taken.
    Seats emptied() const;

    /// Sums over nodes that are present and open.
    Amount allocatable(ResourceId resource) const;
    Amount taken(ResourceId resource) const;
    std::optional<ResourceId> find_resource(std::string_view name) const;
    const std::string& name_of(ResourceId resource) const { return resources_.name_of(resource); }
    Amount free_on(NodeId node, ResourceId resource) const;

    /// All that is on the nodes, by name. For tests that compare states.
    std::vector<std::string> lines() const;

private:
    struct Slot {
        std::optional<Node> node;         // Absent: pods sit there, the node is not known.
        std::vector<Amount> allocatable;  // By resource.
        std::vector<Amount> used;         // By resource; may be shorter than `allocatable`.
        std::int64_t pod_limit = 0;
        bool has_accelerators = false;
        std::vector<std::shared_ptr<const PodShape>> pods;
    };

    static Amount at(const std::vector<Amount>& amounts, ResourceId resource);
    bool takes(const Slot& slot, const Need& need, std::string_view only) const;
    std::optional<Refusal> refusal(const Slot& slot, const Need& need, std::string_view only) const;
    std::vector<Refusal::Lack> lacks(const Slot& slot, const Need& need) const;
    std::optional<Refusal::Rule> affinity_refusal(const Slot& slot, const PodShape& shape) const;
    bool near_match(const Slot& slot, const PodTerm& term, const std::string& own_ns) const;
    bool any_match(const PodTerm& term, const std::string& own_ns) const;

    Names<NodeId> names_;
    Names<ResourceId> resources_;
    std::vector<Slot> slots_;            // By NodeId.
    std::int64_t anti_affine_pods_ = 0;  // Seated pods that keep others away.
};

}  // namespace muster::decide
