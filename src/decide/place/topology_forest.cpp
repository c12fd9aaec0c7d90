// decide/place/topology_forest.cpp - leaves in order of their paths, and the levels above them.
#include "decide/place/topology_forest.h"

#include <algorithm>

#include "decide/place/topology.h"

namespace muster::decide {

void add_to(Amounts& amounts, const Amounts& more, std::int64_t pods) {
    if (amounts.size() < more.size()) amounts.resize(more.size());
    for (std::size_t i = 0; i < more.size(); ++i)
        amounts[i] += more[i] * pods;
}

std::optional<std::size_t> TopologyForest::level_of(std::string_view label) const {
    const auto found = std::find(levels_.begin(), levels_.end(), label);
    if (found == levels_.end()) return std::nullopt;
    return static_cast<std::size_t>(found - levels_.begin());
}

bool TopologyForest::leaves_are_nodes() const {
    return !levels_.empty() && levels_.back() == hostname_level;
}

std::optional<TopologyForest::Path> TopologyForest::path_of(const Labels& labels) const {
    if (levels_.empty()) return std::nullopt;
    Path path;
    path.reserve(levels_.size());
    for (const std::string& level : levels_) {
        const auto found = labels.find(level);
        if (found == labels.end()) return std::nullopt;
        path.push_back(found->second);
    }
    return path;
}

TopologyForest::Added TopologyForest::add(const Path& path, std::shared_ptr<const Node> node,
                                          const Amounts& gives) {
    std::vector<Leaf>& leaves = own_leaves();
    const Index leaf = lower_bound(path);
    const bool is_new = leaf == leaves.size() || *leaves[leaf].path != path;
    if (is_new) {
        leaves.insert(leaves.begin() + leaf, {std::make_shared<const Path>(path), {}});
        const auto place = static_cast<std::ptrdiff_t>(leaf * width_);
        given_.insert(given_.begin() + place, width_, Amount{});
        taken_.insert(taken_.begin() + place, width_, Amount{});
        structure_ = nullptr;
    }
    auto& nodes = leaves[leaf].nodes;
    const auto place = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const auto& other) { return other->name >= node->name; });
    VERIFY(place == nodes.end() || (*place)->name != node->name);
    nodes.insert(place, std::move(node));
    change(given_, leaf, gives, 1);
    return {leaf, is_new};
}

void TopologyForest::remove(const Path& path, const std::string& node, const Amounts& gives) {
    std::vector<Leaf>& leaves = own_leaves();
    const Index leaf = lower_bound(path);
    VERIFY(leaf < leaves.size() && *leaves[leaf].path == path);
    const auto removed =
        std::erase_if(leaves[leaf].nodes, [&](const auto& other) { return other->name == node; });
    VERIFY(removed == 1);
    if (!leaves[leaf].nodes.empty()) {
        change(given_, leaf, gives, -1);
        return;
    }
    leaves.erase(leaves.begin() + leaf);
    const auto first = static_cast<std::ptrdiff_t>(leaf * width_);
    const auto last = first + static_cast<std::ptrdiff_t>(width_);
    given_.erase(given_.begin() + first, given_.begin() + last);
    taken_.erase(taken_.begin() + first, taken_.begin() + last);
    structure_ = nullptr;
}

std::optional<TopologyForest::Index> TopologyForest::find(const Path& path) const {
    const Index leaf = lower_bound(path);
    if (leaf == leaves_->size() || *(*leaves_)[leaf].path != path) return std::nullopt;
    return leaf;
}

void TopologyForest::change_given(Index leaf, const Amounts& more, std::int64_t times) {
    change(given_, leaf, more, times);
}

void TopologyForest::change_taken(Index leaf, const Amounts& more, std::int64_t times) {
    change(taken_, leaf, more, times);
}

TopologyForest::Path TopologyForest::path(std::size_t level, Index domain) const {
    const Path& full = *leaves()[domains(level)[domain].first_leaf].path;
    return {full.begin(), full.begin() + static_cast<std::ptrdiff_t>(level) + 1};
}

// Neighbours that share the first values of their paths share the domains of these levels.
const TopologyForest::Structure& TopologyForest::structure() const {
    if (structure_ != nullptr) return *structure_;
    auto made = std::make_shared<Structure>(levels_.size());
    for (Index leaf = 0; leaf < leaves_->size(); ++leaf) {
        std::size_t shared = 0;
        if (leaf > 0) {
            const Path& before = *(*leaves_)[leaf - 1].path;
            const Path& path = *(*leaves_)[leaf].path;
            while (before[shared] == path[shared])
                ++shared;
        }
        for (std::size_t level = shared; level < levels_.size(); ++level) {
            Domain domain;
            domain.first_leaf = leaf;
            if (level > 0) {
                auto& above = (*made)[level - 1];
                domain.parent = static_cast<Index>(above.size() - 1);
                if (above.back().children++ == 0) {
                    above.back().first_child = static_cast<Index>((*made)[level].size());
                }
            }
            (*made)[level].push_back(domain);
        }
    }
    structure_ = std::move(made);
    return *structure_;
}

void TopologyForest::change(std::vector<Amount>& amounts, Index leaf, const Amounts& more,
                            std::int64_t times) {
    widen(more.size());
    for (std::size_t i = 0; i < more.size(); ++i)
        amounts[leaf * width_ + i] += more[i] * times;
}

void TopologyForest::widen(std::size_t width) {
    if (width <= width_) return;
    for (std::vector<Amount>* amounts : {&given_, &taken_}) {
        std::vector<Amount> wider(leaves_->size() * width);
        for (std::size_t leaf = 0; leaf < leaves_->size(); ++leaf) {
            for (std::size_t i = 0; i < width_; ++i)
                wider[leaf * width + i] = (*amounts)[leaf * width_ + i];
        }
        *amounts = std::move(wider);
    }
    width_ = width;
}

std::vector<TopologyForest::Leaf>& TopologyForest::own_leaves() {
    if (leaves_.use_count() > 1) leaves_ = std::make_shared<std::vector<Leaf>>(*leaves_);
    return *leaves_;
}

TopologyForest::Index TopologyForest::lower_bound(const Path& path) const {
    const auto found =
        std::lower_bound(leaves_->begin(), leaves_->end(), path,
                         [](const Leaf& leaf, const Path& p) { return *leaf.path < p; });
    return static_cast<Index>(found - leaves_->begin());
}

}  // namespace muster::decide
