// decide/place/pod.h - what matters of a pod and of a node to decide whether one fits the other.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/amount.h"

namespace muster::decide {

using Labels = std::map<std::string, std::string, std::less<>>;

/// One expression over labels, as in node affinity and label selectors.
struct Requirement {
    enum class Op { in, not_in, exists, does_not_exist, greater, less };
    std::string key;
    Op op = Op::in;
    std::vector<std::string> values;
    friend auto operator<=>(const Requirement&, const Requirement&) = default;
};

/// A label selector: all labels and all expressions must hold. An empty one matches everything.
struct Selector {
    Labels labels;
    std::vector<Requirement> expressions;
    friend auto operator<=>(const Selector&, const Selector&) = default;
};

/// True when `labels` satisfy the expression, or all of the selector.
bool matches(const Requirement& requirement, const Labels& labels);
bool matches(const Selector& selector, const Labels& labels);

/// One term of required node affinity: all expressions must hold. `fields` are over
/// metadata.name. An empty term matches no node, as in Kubernetes.
struct NodeTerm {
    std::vector<Requirement> expressions;
    std::vector<Requirement> fields;
    friend auto operator<=>(const NodeTerm&, const NodeTerm&) = default;
};

/// True when a node with these labels and this name satisfies the term.
bool matches(const NodeTerm& term, const Labels& labels, const std::string& node_name);

struct Taint {
    enum class Effect { no_schedule, prefer_no_schedule, no_execute };
    std::string key;
    std::string value;
    Effect effect = Effect::no_schedule;
    friend auto operator<=>(const Taint&, const Taint&) = default;
};

struct Toleration {
    enum class Op { equal, exists };
    enum class Effect { any, no_schedule, prefer_no_schedule, no_execute };
    std::string key;  // Empty with `exists`: tolerates every taint.
    Op op = Op::equal;
    std::string value;
    Effect effect = Effect::any;
    friend auto operator<=>(const Toleration&, const Toleration&) = default;
};

/// True when one of `tolerations` tolerates `taint`.
bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);

/// The first taint that keeps a pod away (PreferNoSchedule never does); null when there is none.
const Taint* untolerated(const std::vector<Taint>& taints,
                         const std::vector<Toleration>& tolerations);

/// A required inter-pod affinity or anti-affinity term. Namespaces by name; empty: the pod's own.
struct PodTerm {
    Selector selector;
    std::vector<std::string> namespaces;
    std::string topology_key;
    friend auto operator<=>(const PodTerm&, const PodTerm&) = default;
};

struct HostPort {
    std::int64_t port = 0;
    std::string protocol;  // "TCP"
    std::string address;   // Empty or "0.0.0.0": all.
    friend auto operator<=>(const HostPort&, const HostPort&) = default;
};

/// A pod as placement and quota see it. Pods of one pod set share one shape.
struct PodShape {
    std::string ns;
    Labels labels;
    Resources requests;  // Effective: containers, init containers and overhead already joined.
    Labels node_selector;
    std::vector<NodeTerm> node_affinity;  // Terms are alternatives; none: no demand.
    std::vector<Toleration> tolerations;
    std::vector<PodTerm> affinity;
    std::vector<PodTerm> anti_affinity;
    std::vector<HostPort> host_ports;
    friend auto operator<=>(const PodShape&, const PodShape&) = default;
};

/// True when node selector and required node affinity allow a node with these labels and name.
bool selects_node(const PodShape& shape, const Labels& labels, const std::string& node_name);

struct Node {
    enum class Scheduling { open, cordoned };
    enum class Condition { ready, not_ready };
    std::string name;
    Labels labels;
    std::vector<Taint> taints;
    Scheduling scheduling = Scheduling::open;
    Resources allocatable;  // "pods" is the limit of pods.
    /// Only topologies heed it: elsewhere the taints of such a node keep pods away.
    Condition condition = Condition::ready;
    friend auto operator<=>(const Node&, const Node&) = default;
};

}  // namespace muster::decide
