// decide/fit/shape.h - what a workload needs, kept once for all workloads that need the same.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "base/persistent_map.h"
#include "base/persistent_vector.h"
#include "decide/ids.h"
#include "decide/workload.h"

namespace muster::decide {

enum class ShapeId : std::uint32_t {};

/// One pod set's need, ready for counting.
struct PodSetNeed {
    std::string name;
    std::int64_t count = 0;      // Less the reclaimable ones.
    std::int64_t min_count = 0;  // As few as this may start; `count` when all must.
    std::string group;           // Not empty: gets the same flavors as others of that group.
    TopologyRequest topology;
    std::vector<std::string> only_flavors;  // Sorted; empty: any.
    std::shared_ptr<const PodShape> pod;
    std::vector<std::pair<ResourceId, Amount>> requests;  // Of one pod, by name.
};

/// What is equal for all workloads of one shape: if one of them does not fit, none does.
struct Shape {
    std::vector<PodSetNeed> pod_sets;
    std::vector<std::int64_t> counts;                       // Of the pod sets.
    std::shared_ptr<const std::vector<std::string>> names;  // The same.
    Workload::Binds binds = Workload::Binds::quota;
    bool asks_for_places = false;  // Some pod set asks for places in a topology.
};

/// The shapes in use, counted.
class Shapes {
public:
    /// The shape of these pod sets; holds one more use of it.
    ShapeId hold(const std::vector<PodSet>& pod_sets, Workload::Binds binds,
                 Names<ResourceId>& resources);
    void hold_again(ShapeId shape) { ++entries_.edit(index(shape)).uses; }
    void drop(ShapeId shape);
    const Shape& of(ShapeId shape) const { return *entries_[index(shape)].shape; }
    const std::shared_ptr<const Shape>& shared(ShapeId shape) const {
        return entries_[index(shape)].shape;
    }
    /// What it was made of, without what no decision depends on.
    const std::vector<PodSet>& pod_sets_of(ShapeId shape) const {
        return entries_[index(shape)].key->second;
    }

private:
    using Key = std::pair<Workload::Binds, std::vector<PodSet>>;
    struct Entry {
        std::shared_ptr<const Shape> shape;
        std::shared_ptr<const Key> key;
        std::int64_t uses = 0;
    };
    struct ByKey {
        bool operator()(const std::shared_ptr<const Key>& a,
                        const std::shared_ptr<const Key>& b) const {
            return *a < *b;
        }
    };

    PersistentMap<std::shared_ptr<const Key>, ShapeId, ByKey> ids_;
    PersistentVector<Entry> entries_;
    std::vector<ShapeId> free_;
};

}  // namespace muster::decide
