// base/persistent_tree.h - the ordered tree under PersistentMap and PersistentSet.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/persistent_node.h"
#include "base/verify.h"

namespace muster {

/// A B+ tree whose nodes are shared between copies: a copy costs nothing, and a change after it
/// copies the nodes on one path. `Traits` names Entry, Key, Less (both transparent to other key
/// types if the Less is) and `key(entry)`. Iterators end with the next change.
template <class Traits>
class PersistentTree {
public:
    using Entry = typename Traits::Entry;
    using Key = typename Traits::Key;

private:
    struct Node : CountedNode {
        // A leaf has entries; a branch has children and the first key of each: exactly, so that
        // nothing of an erased key stays behind (it may be a view of a text that is gone).
        std::vector<Entry> entries;
        std::vector<NodeRef<Node>> children;
        std::vector<Key> firsts;

        bool is_leaf() const { return children.empty(); }
        std::size_t size() const { return is_leaf() ? entries.size() : children.size(); }
    };
    using Ref = NodeRef<Node>;

    static constexpr std::size_t leaf_limit = std::clamp<std::size_t>(1024 / sizeof(Entry), 8, 64);
    static constexpr std::size_t branch_limit = 32;
    static constexpr std::size_t depth_limit = 16;  // Far above log 4 of any memory.

public:
    class Iterator {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = Entry;
        using difference_type = std::ptrdiff_t;
        using pointer = const Entry*;
        using reference = const Entry&;

        const Entry& operator*() const {
            return path_[depth_ - 1].node->entries[path_[depth_ - 1].at];
        }
        const Entry* operator->() const { return &**this; }
        Iterator& operator++() {
            ++path_[depth_ - 1].at;
            settle();
            return *this;
        }
        Iterator operator++(int) {
            Iterator before = *this;
            ++*this;
            return before;
        }
        /// Requires: both are of the same tree.
        friend bool operator==(const Iterator& a, const Iterator& b) {
            if (a.depth_ == 0 || b.depth_ == 0) return a.depth_ == b.depth_;
            return &*a == &*b;
        }

    private:
        friend class PersistentTree;
        struct Step {
            const Node* node = nullptr;
            std::size_t at = 0;
        };

        void push(const Node* node, std::size_t at) {
            VERIFY(depth_ < depth_limit);
            path_[depth_++] = {node, at};
        }
        // From one past the end of a leaf to the first entry of the next; at the end to no path.
        void settle() {
            while (depth_ > 0 && path_[depth_ - 1].at == path_[depth_ - 1].node->size()) {
                if (--depth_ > 0) ++path_[depth_ - 1].at;
            }
            while (depth_ > 0 && !path_[depth_ - 1].node->is_leaf())
                push(&*path_[depth_ - 1].node->children[path_[depth_ - 1].at], 0);
        }

        std::array<Step, depth_limit> path_;
        std::size_t depth_ = 0;
    };
    using const_iterator = Iterator;
    using value_type = Entry;

    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }

    Iterator begin() const {
        Iterator found;
        if (root_) found.push(&*root_, 0);
        found.settle();
        return found;
    }
    Iterator end() const { return {}; }

    /// The first entry whose key is not below `key`.
    template <class K>
    Iterator lower_bound(const K& key) const {
        return bound(
            key, [this](const Entry& entry, const K& k) { return less_(Traits::key(entry), k); });
    }
    /// The first entry whose key is above `key`.
    template <class K>
    Iterator upper_bound(const K& key) const {
        return bound(
            key, [this](const Entry& entry, const K& k) { return !less_(k, Traits::key(entry)); });
    }

    /// Null when there is none.
    template <class K>
    const Entry* find_entry(const K& key) const {
        if (!root_) return nullptr;
        const Node* node = &*root_;
        while (!node->is_leaf())
            node = &*node->children[child_of(*node, key)];
        const std::size_t at = place_of(*node, key);
        return is_at(*node, at, key) ? &node->entries[at] : nullptr;
    }
    template <class K>
    bool contains(const K& key) const {
        return find_entry(key) != nullptr;
    }

    /// The last entry whose key is below `key`, if that is not there itself, and the first one
    /// whose key is not below; null where there is none.
    template <class K>
    std::pair<const Entry*, const Entry*> around(const K& key) const {
        if (!root_) return {};
        const Node* node = &*root_;
        const Node* right = nullptr;  // All of it is behind what is under `node`.
        while (!node->is_leaf()) {
            const std::size_t child = child_of(*node, key);
            if (child + 1 < node->children.size()) right = &*node->children[child + 1];
            node = &*node->children[child];
        }
        const std::size_t at = place_of(*node, key);
        const Entry* below = at == 0 ? nullptr : &node->entries[at - 1];
        if (at < node->entries.size()) return {below, &node->entries[at]};
        if (right == nullptr) return {below, nullptr};
        while (!right->is_leaf())
            right = &*right->children.front();
        return {below, &right->entries.front()};
    }

    /// Requires: not empty.
    const Entry& last() const {
        VERIFY(!empty());
        const Node* node = &*root_;
        while (!node->is_leaf())
            node = &*node->children.back();
        return node->entries.back();
    }

    /// False, and nothing changes, when the key is there.
    bool insert_entry(Entry entry) {
        if (!root_) root_ = Ref(new Node);
        auto [right, added] = insert_below(root_, std::move(entry), Edge::last);
        if (!added) return false;
        if (right) {
            auto* root = new Node;
            root->firsts = {first_key(*root_), first_key(*right)};
            root->children.push_back(std::move(root_));
            root->children.push_back(std::move(right));
            root_ = Ref(root);
        }
        ++size_;
        return true;
    }

    /// The entry for changing anything but its key; null when there is none.
    template <class K>
    Entry* edit_entry(const K& key) {
        if (!root_) return nullptr;
        Node* node = &root_.own();
        while (!node->is_leaf())
            node = &node->children[child_of(*node, key)].own();
        const std::size_t at = place_of(*node, key);
        return is_at(*node, at, key) ? &node->entries[at] : nullptr;
    }

    /// False when there was none.
    template <class K>
    bool erase(const K& key) {
        if (!root_ || !erase_below(root_, key)) return false;
        while (root_ && !root_->is_leaf() && root_->children.size() == 1) {
            Ref child = root_->children.front();
            root_ = std::move(child);
        }
        if (--size_ == 0) root_ = Ref();
        return true;
    }

    void clear() {
        root_ = Ref();
        size_ = 0;
    }

private:
    /// Whether a node is the last of its level: entries that arrive in order fill nodes whole.
    enum class Edge { last, inner };

    template <class K>
    std::size_t child_of(const Node& node, const K& key) const {
        const auto above =
            std::upper_bound(node.firsts.begin() + 1, node.firsts.end(), key,
                             [this](const K& k, const Key& first) { return less_(k, first); });
        return static_cast<std::size_t>(above - node.firsts.begin()) - 1;
    }
    template <class K>
    std::size_t place_of(const Node& leaf, const K& key) const {
        const auto found = std::lower_bound(
            leaf.entries.begin(), leaf.entries.end(), key,
            [this](const Entry& entry, const K& k) { return less_(Traits::key(entry), k); });
        return static_cast<std::size_t>(found - leaf.entries.begin());
    }
    template <class K>
    bool is_at(const Node& leaf, std::size_t at, const K& key) const {
        return at < leaf.entries.size() && !less_(key, Traits::key(leaf.entries[at]));
    }
    template <class K, class Below>
    Iterator bound(const K& key, Below below) const {
        Iterator found;
        if (!root_) return found;
        const Node* node = &*root_;
        while (!node->is_leaf()) {
            const std::size_t child = child_of(*node, key);
            found.push(node, child);
            node = &*node->children[child];
        }
        const auto at = std::partition_point(node->entries.begin(), node->entries.end(),
                                             [&](const Entry& entry) { return below(entry, key); });
        found.push(node, static_cast<std::size_t>(at - node->entries.begin()));
        found.settle();
        return found;
    }

    static const Key& first_key(const Node& node) {
        return node.is_leaf() ? Traits::key(node.entries.front()) : node.firsts.front();
    }

    struct Inserted {
        Ref right;  // What did not fit any more: a new right neighbour, or nothing.
        bool added = true;
    };

    Inserted insert_below(Ref& ref, Entry entry, Edge edge) {
        Node& node = ref.own();
        if (node.is_leaf()) {
            const std::size_t at = place_of(node, Traits::key(entry));
            if (is_at(node, at, Traits::key(entry))) return {{}, false};
            if (node.entries.size() >= leaf_limit) {
                const bool in_order = edge == Edge::last && at == node.entries.size();
                Ref right = split(node, in_order ? at : leaf_limit / 2);
                const bool goes_right = at > node.entries.size() || in_order;
                Node& target = goes_right ? right.own() : node;
                target.entries.insert(
                    target.entries.begin() +
                        static_cast<std::ptrdiff_t>(goes_right ? at - node.entries.size() : at),
                    std::move(entry));
                return {std::move(right)};
            }
            node.entries.insert(node.entries.begin() + static_cast<std::ptrdiff_t>(at),
                                std::move(entry));
            return {};
        }
        const std::size_t child = child_of(node, Traits::key(entry));
        const bool last = child + 1 == node.children.size();
        if (child == 0 && less_(Traits::key(entry), node.firsts[0]))
            node.firsts[0] = Traits::key(entry);
        auto [extra, added] =
            insert_below(node.children[child], std::move(entry), last ? edge : Edge::inner);
        if (!extra) return {{}, added};
        const auto after = static_cast<std::ptrdiff_t>(child + 1);
        node.firsts.insert(node.firsts.begin() + after, first_key(*extra));
        node.children.insert(node.children.begin() + after, std::move(extra));
        if (node.children.size() <= branch_limit) return {};
        return {split(node, last && edge == Edge::last ? branch_limit : branch_limit / 2)};
    }

    // Moves everything from place `at` on to a new node.
    static Ref split(Node& node, std::size_t at) {
        auto* right = new Node;
        const auto from = static_cast<std::ptrdiff_t>(at);
        move_tail(node.entries, right->entries, from);
        move_tail(node.children, right->children, from);
        move_tail(node.firsts, right->firsts, from);
        return Ref(right);
    }
    template <class T>
    static void move_tail(std::vector<T>& from, std::vector<T>& to, std::ptrdiff_t at) {
        if (from.empty()) return;
        to.assign(std::make_move_iterator(from.begin() + at), std::make_move_iterator(from.end()));
        from.erase(from.begin() + at, from.end());
    }

    // False when there was none.
    template <class K>
    bool erase_below(Ref& ref, const K& key) {
        Node& node = ref.own();
        if (node.is_leaf()) {
            const std::size_t at = place_of(node, key);
            if (!is_at(node, at, key)) return false;
            node.entries.erase(node.entries.begin() + static_cast<std::ptrdiff_t>(at));
            return true;
        }
        const std::size_t child = child_of(node, key);
        if (!erase_below(node.children[child], key)) return false;
        if (node.children[child]->size() == 0) {
            node.children.erase(node.children.begin() + static_cast<std::ptrdiff_t>(child));
            node.firsts.erase(node.firsts.begin() + static_cast<std::ptrdiff_t>(child));
            return true;
        }
        node.firsts[child] = first_key(*node.children[child]);
        if (child + 1 < node.children.size()) join(node, child);
        if (child > 0) join(node, child - 1);
        return true;
    }

    // Merges a child with its right neighbour when one of them is nearly empty and both fit in one.
    static void join(Node& node, std::size_t left) {
        const Node& a = *node.children[left];
        const Node& b = *node.children[left + 1];
        const std::size_t limit = a.is_leaf() ? leaf_limit : branch_limit;
        if (std::min(a.size(), b.size()) > limit / 4 || a.size() + b.size() > limit * 3 / 4) return;
        Node& to = node.children[left].own();
        to.entries.insert(to.entries.end(), b.entries.begin(), b.entries.end());
        to.children.insert(to.children.end(), b.children.begin(), b.children.end());
        if (!b.is_leaf()) {
            to.firsts.insert(to.firsts.end(), b.firsts.begin(), b.firsts.end());
        }
        const auto gone = static_cast<std::ptrdiff_t>(left + 1);
        node.children.erase(node.children.begin() + gone);
        node.firsts.erase(node.firsts.begin() + gone);
    }

    Ref root_;
    std::size_t size_ = 0;
    [[no_unique_address]] typename Traits::Less less_;
};

}  // namespace muster
