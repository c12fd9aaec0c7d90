// base/persistent_node.h - counted references to the nodes of the persistent containers.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace muster {

/// The base of a node: how many references there are to it. A copy starts with one.
struct CountedNode {
    CountedNode() = default;
    CountedNode(const CountedNode&) {}
    CountedNode& operator=(const CountedNode&) = delete;
    ~CountedNode() = default;

    std::atomic<std::uint32_t> references{1};
};

/// A reference to a node that several containers may share. Whoever wants to change the node calls
/// `own` and gets one that nobody else sees. Containers on different threads may share nodes.
template <class Node>
class NodeRef {
public:
    NodeRef() = default;
    /// Takes over a node that was just made with `new`.
    explicit NodeRef(Node* fresh) : node_(fresh) {}
    NodeRef(const NodeRef& other) : node_(other.node_) {
        if (node_ != nullptr) node_->references.fetch_add(1, std::memory_order_relaxed);
    }
    NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    NodeRef& operator=(NodeRef other) noexcept {
        std::swap(node_, other.node_);
        return *this;
    }
    ~NodeRef() {
        if (node_ != nullptr && node_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete node_;
    }

    explicit operator bool() const { return node_ != nullptr; }
    const Node& operator*() const { return *node_; }
    const Node* operator->() const { return node_; }

    /// The node, for changing; a copy takes its place while others share it.
    Node& own() {
        if (node_->references.load(std::memory_order_acquire) > 1)
            *this = NodeRef(new Node(*node_));
        return *node_;
    }

private:
    Node* node_ = nullptr;
};

}  // namespace muster
