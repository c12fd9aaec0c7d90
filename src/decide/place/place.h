// decide/place/place.h - which pod on which node: one placement for the pod scheduler and for the
// gang check, which packs GPUs and says per pod and node why not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/amount.h"
#include "base/time.h"
#include "decide/place/pod.h"

namespace muster::decide {

/// A pod that has no node yet.
struct PodToPlace {
    std::string name;  // Unique, such as "ns/name"; breaks ties.
    PodShape shape;
    std::int64_t priority = 0;
    Time created;
    std::string node_name;  // Only this node, when set.
};

/// A pod that sits on a node already.
struct SeatedPod {
    std::string name;
    std::string node;
    PodShape shape;
};

/// Why one node does not take one pod: the first rule that fails, in kube-scheduler's order.
struct Refusal {
    enum class Rule {
        cordoned,
        other_node,  // The pod names another node.
        untolerated_taint,
        node_affinity,  // Selector or required node affinity.
        host_ports,
        insufficient,            // One or more resources; `lacks` has each of them.
        too_many_pods,           // The node's limit of pods; may come with further `lacks`.
        pod_affinity,            // No pod in the topology that the pod wants to be near to.
        pod_anti_affinity,       // A pod in the topology that it must not be near to.
        existing_anti_affinity,  // A seated pod must not be near to it.
    };
    struct Lack {
        std::string resource;
        Amount needed;
        Amount free;
        Amount allocatable;
        friend auto operator<=>(const Lack&, const Lack&) = default;
    };
    std::string node;
    Rule rule = Rule::insufficient;
    Taint taint;              // For untolerated_taint.
    std::vector<Lack> lacks;  // For insufficient and too_many_pods, by resource name.
    friend auto operator<=>(const Refusal&, const Refusal&) = default;
};

/// Where one pod goes, or why nowhere.
struct Seat {
    std::string pod;
    std::optional<std::string> node;
    std::vector<Refusal> refusals;  // One per node, by node name; only when it got no node.
};

/// Whether pods that find no place leave room for those after them.
enum class Gang { each_for_itself, all_or_none };

/// Seats pods one by one: higher priority first, then older, then by name. A pod goes to the
/// feasible node on which it leaves the fewest GPUs free, then (for pods without GPUs: nodes
/// without GPUs first) the least cpu and memory, then to the first name. Extended resources count
/// as GPUs.
///
/// With `all_or_none` pods of the gang are tried largest first, and when one finds no place none is
/// seated; the refusals are those of the first that found none, given the others in place.
/// The result is in the order of `pods`. Equal for any order of `pods` and `nodes` (names unique).
std::vector<Seat> place(const std::vector<PodToPlace>& pods, const std::vector<Node>& nodes,
                        const std::vector<SeatedPod>& seated, Gang gang = Gang::each_for_itself);

/// The order in which the pods of a gang are tried: those with more GPUs first, then more cpu, more
/// memory, and by name.
bool seated_before(const PodShape& a, const std::string& a_name, const PodShape& b,
                   const std::string& b_name);

/// kube-scheduler's sentence: "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had
/// untolerated taint {key: value}." Requires: a seat without node.
std::string refusal_text(const Seat& seat);

}  // namespace muster::decide
