// decide/fit/places.h - the places in topologies that a fit needs: which pod sets want them, and
// how things would be without some of those who hold places.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decide/fit/flavors.h"
#include "decide/fit/shape.h"
#include "decide/place/topology_book.h"

namespace muster::decide {

/// The pod sets of a fit that want places, with their numbers in the shape.
struct PlaceWants {
    std::vector<std::size_t> pod_sets;
    std::vector<TopologyAsk> asks;  // Their pods live as long as the shape.

    bool empty() const { return asks.empty(); }
    /// What the fit has for each of them.
    TopologyBook::Assignments of(const Fit& fit) const;
    void put_into(Fit& fit, const TopologyBook::Assignments& places) const;
};

/// True when every flavor of the queue has a topology: then all pods get places.
bool has_only_topologies(const FlavorBook& book, const QueuePlan& plan);

/// Those that ask for places, or must have them. Requires: the fit is of this shape.
PlaceWants wants_of(const FlavorBook& book, const QueuePlan& plan, const Shape& shape,
                    const Fit& fit);

/// The book as it would be without some holders. The book is not changed; it outlives the view.
class PlacesWithout {
public:
    explicit PlacesWithout(const TopologyBook& book) : book_(book) {}
    /// Exactly these are out. Good until the next call.
    const TopologyBook& without(const std::set<std::string>& holders);

private:
    const TopologyBook& book_;
    std::optional<TopologyBook> copy_;  // Absent: nobody was ever out.
    std::set<std::string> out_;
};

}  // namespace muster::decide
