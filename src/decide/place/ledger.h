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
#include "base/persistent_map.h"
#include "decide/change.h"
#include "decide/decision.h"
#include "decide/fit/shape.h"
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

    void bind(const PodBound& pod);
    void unbind(std::string_view pod);

    /// The pods of an admitted workload, so many of each pod set: those not bound yet are promised
    /// from now on. Called again, the new pods replace the old ones. They get seats when the ledger
    /// settles.
    void promise(const std::string& workload, const Shape& shape,
                 const std::vector<std::int64_t>& counts);
    void promise(const std::string& workload, const Shape& shape) {
        promise(workload, shape, counts_of(shape));
    }
    /// Seats its promised pods at once: those of a gang for which there is room now.
    void seat(const std::string& workload);
    /// Nothing is promised to the workload any more; its bound pods stay until they are gone.
    void withdraw(const std::string& workload);

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
        std::string name;
        std::shared_ptr<const PodShape> pod;
        Need need;                  // Worked out when it is first needed.
        std::int64_t count = 0;     // Pods of the set, bound or not.
        std::int64_t unbound = 0;   // Of them, those that are not bound.
        std::vector<NodeId> seats;  // At most `unbound`.
    };
    struct Promise {
        std::vector<PromisedSet> sets;
    };

    using Nodes = std::multiset<NodeId>;
    void recount(const std::string& workload, Nodes bound_to);
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
    std::map<std::string, Bound, std::less<>> bound_;                    // By pod name.
    std::map<std::string, std::set<std::string>, std::less<>> pods_of_;  // By workload.
    PersistentMap<std::string, Promise> promises_;                       // By workload.
    std::map<std::string, Nodes> rebound_;  // Workloads whose pods came or went, and where to.
    std::vector<std::string> seatless_;     // At least all workloads that lack seats.
    std::set<NodeId> crowded_;              // Nodes that took a pod or changed.
    std::uint64_t version_ = 0;
    bool unsettled_ = false;
};

}  // namespace muster::decide
