// decide/place/topology_forest.h - the domains of one topology over some nodes, with what each of
// the lowest can give and what is taken there; changed by differences.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "decide/ids.h"
#include "decide/place/pod.h"

namespace muster::decide {

/// Amounts by resource; those behind the end are zero.
using Amounts = std::vector<Amount>;

/// `amounts` plus (or, with -1, minus) `pods` times `more`.
void add_to(Amounts& amounts, const Amounts& more, std::int64_t pods = 1);

/// A forest of domains: one level of them for each level of the topology, each sorted by path, so
/// that the children of a domain stand in a row. The leaves are those of the lowest level.
///
/// A copy shares the structure; only the amounts are copied.
class TopologyForest {
public:
    using Index = std::uint32_t;
    using Path = std::vector<std::string>;

    struct Domain {
        Index parent = 0;       // In the level above; of a root: 0.
        Index first_child = 0;  // In the level below; of a leaf: 0.
        Index children = 0;
        Index first_leaf = 0;
    };
    /// A domain of the lowest level.
    struct Leaf {
        std::shared_ptr<const Path> path;
        std::vector<std::shared_ptr<const Node>> nodes;  // By name, never empty.
    };

    explicit TopologyForest(std::vector<std::string> levels) : levels_(std::move(levels)) {}

    const std::vector<std::string>& levels() const { return levels_; }
    /// Absent when there is no such level.
    std::optional<std::size_t> level_of(std::string_view label) const;
    /// True when each leaf is one node, named by its hostname.
    bool leaves_are_nodes() const;
    /// The path of a node with these labels; absent when it lacks one of them.
    std::optional<Path> path_of(const Labels& labels) const;

    struct Added {
        Index leaf = 0;
        bool is_new = false;  // Nothing is taken there yet.
    };
    /// Adds a node that has a path, with what it can give.
    Added add(const Path& path, std::shared_ptr<const Node> node, const Amounts& gives);
    /// Takes it away again; a leaf without nodes goes, and with it what was taken there.
    void remove(const Path& path, const std::string& node, const Amounts& gives);

    std::optional<Index> find(const Path& path) const;
    void change_given(Index leaf, const Amounts& more, std::int64_t times);
    void change_taken(Index leaf, const Amounts& more, std::int64_t times);

    const std::vector<Leaf>& leaves() const { return *leaves_; }
    /// The domains of a level, by path.
    const std::vector<Domain>& domains(std::size_t level) const { return structure()[level]; }
    Amount given(Index leaf, std::size_t resource) const { return at(given_, leaf, resource); }
    Amount taken(Index leaf, std::size_t resource) const { return at(taken_, leaf, resource); }
    /// The first `level` + 1 values of its path.
    Path path(std::size_t level, Index domain) const;
    /// One more than the last resource of which anything is given or taken.
    std::size_t resources() const { return width_; }

private:
    using Structure = std::vector<std::vector<Domain>>;
    const Structure& structure() const;
    Amount at(const std::vector<Amount>& amounts, Index leaf, std::size_t resource) const {
        return resource < width_ ? amounts[leaf * width_ + resource] : Amount{};
    }
    void change(std::vector<Amount>& amounts, Index leaf, const Amounts& more, std::int64_t times);
    void widen(std::size_t width);
    std::vector<Leaf>& own_leaves();
    Index lower_bound(const Path& path) const;

    std::vector<std::string> levels_;
    std::shared_ptr<std::vector<Leaf>> leaves_ = std::make_shared<std::vector<Leaf>>();
    std::size_t width_ = 0;
    std::vector<Amount> given_;  // By leaf and resource: allocatable less other pods.
    std::vector<Amount> taken_;  // By leaf and resource.
    mutable std::shared_ptr<const Structure> structure_;  // Null: made when next asked for.
};

}  // namespace muster::decide
