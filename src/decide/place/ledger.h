// decide/place/ledger.h - what the nodes have left: allocatable less bound pods less pods that are
// promised to admitted workloads and not yet bound.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/amount.h"
#include "base/persistent_node.h"
#include "base/persistent_vector.h"
#include "decide/change.h"
#include "decide/decision.h"
#include "decide/fit/shape.h"
#include "decide/id_set.h"
#include "decide/ids.h"
#include "decide/place/seats.h"

namespace muster::decide {

/// Why a gang does not fit.
struct GangRefusal {
    std::string pod_set;  // The first that found no place; empty for the aggregate check.
    std::int64_t placed = 0;
    std::int64_t pods = 0;
    std::vector<Refusal> refusals;     // With `never`: those of empty nodes.
    std::vector<Refusal::Lack> lacks;  // In sums over all open nodes; empty with `never`.
    bool never = false;                // Not even on empty nodes.
};

/// Node capacity. Every promised pod has at most one seat; seats and bound pods together are what
/// is taken on the nodes. A promised pod that finds no room stays without a seat until there is.
class Ledger {
public:
    void set_node(const Node& node);
    void remove_node(std::string_view name);

    /// `workload`: the id by which something is promised to the pod's workload, if it has one.
    void bind(const PodBound& pod, std::optional<WorkloadId> workload);
    void unbind(std::string_view pod);

    /// The pods of an admitted workload, so many of each pod set (none said: all of the shape's):
    /// those not bound yet are promised from now on. Called again, the new pods replace the old
    /// ones. They get seats when the ledger settles. The name's text must live until `withdraw`.
    void promise(WorkloadId workload, RankedName name, std::shared_ptr<const Shape> shape,
                 std::vector<std::int64_t> counts = {});
    /// Seats its promised pods at once: those of a gang for which there is room now.
    void seat(WorkloadId workload);
    /// Nothing is promised to the workload any more; its bound pods stay until they are gone.
    void withdraw(WorkloadId workload);

    /// Absent when all pods of the shape fit now, beside everything that is promised.
    std::optional<GangRefusal> refusal(const Shape& shape, Options::Capacity capacity);

    /// Works in what has happened to bound pods and nodes, in the order of names, not of arrival:
    /// seats promised pods that have none and moves those whose node has become too full.
    void settle();

    /// Grows whenever something changes on the nodes. Pods are seated one by one, so what did not
    /// fit may fit after any change, also after one that only takes.
    std::uint64_t version() const { return version_; }

    /// Who holds how much of a resource, most first; on one node or (empty) on all.
    std::vector<Holder> holders(std::string_view resource, std::string_view node) const;
    /// The workload's pods that sit on nodes.
    std::vector<std::string> pods_of(std::string_view workload) const;
    Amount allocatable(std::string_view resource) const;
    Amount free(std::string_view resource) const;

    /// Words for each promise that does not hold. For tests.
    std::vector<std::string> broken_invariants() const;
    /// All that is on the nodes and promised, by name. For tests that compare states.
    std::vector<std::string> lines() const;

private:
    struct Bound {
        NodeId node{};
        std::string workload;
        std::string pod_set;
        Need need;
    };
    struct PromisedSet {
        const PodSetNeed* of = nullptr;  // Of the promise's shape.
        Need need;                       // Worked out when it is first needed.
        std::int64_t count = 0;          // Pods of the set, bound or not.
        std::int64_t unbound = 0;        // Of them, those that are not bound.
        std::vector<NodeId> seats;       // At most `unbound`.
    };
    struct Promise : CountedNode {
        RankedName name;
        std::shared_ptr<const Shape> shape;
        std::vector<std::int64_t> counts;  // Empty: the shape's.
        std::vector<PromisedSet> sets;     // Empty until somebody needs them: nobody is bound yet.

        std::vector<PromisedSet> new_sets() const;
    };
    struct Pods {
        std::set<std::string> names;
        std::optional<WorkloadId> promised;  // By which something is promised to their workload.
    };
    struct Rebound {
        std::multiset<NodeId> nodes;
        std::optional<WorkloadId> promised;
    };

    using Nodes = std::multiset<NodeId>;
    const Promise* promise_to(WorkloadId workload) const;
    /// For changing, with its sets.
    Promise& open(WorkloadId workload);
    template <class Visit>
    void visit_promises(const Visit& visit) const {
        for (std::size_t i = 0; i < promises_.size(); ++i) {
            if (promises_[i]) visit(static_cast<WorkloadId>(i), *promises_[i]);
        }
    }
    Rebound& rebound(const std::string& workload);
    void recount(WorkloadId workload, Nodes bound_to);
    void sort_by_name(std::vector<WorkloadId>& workloads) const;
    void fit_seats(PromisedSet& set, Nodes& bound_to);
    const Need& need_of(PromisedSet& set);
    void seat(Promise& promise);
    void give_seats(const Promise& promise);
    void empty_overfull_nodes();
    std::optional<GangRefusal> per_node(const Shape& shape);
    std::optional<GangRefusal> aggregate(const Shape& shape);
    std::vector<Refusal::Lack> sums_short(const Shape& shape);
    Amount seatless(ResourceId resource) const;
    void changed() { ++version_; }

    Seats seats_;
    std::map<std::string, Bound, std::less<>> bound_;   // By pod name.
    std::map<std::string, Pods, std::less<>> pods_of_;  // By workload.
    PersistentVector<NodeRef<Promise>> promises_;       // By WorkloadId.
    std::map<std::string, Rebound> rebound_;  // Workloads whose pods came or went, and where to.
    IdSet<WorkloadId> seatless_;              // At least all workloads that lack seats.
    std::set<NodeId> crowded_;                // Nodes that took a pod or changed.
    std::uint64_t version_ = 0;
    bool unsettled_ = false;
};

}  // namespace muster::decide
