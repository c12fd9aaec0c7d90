// agent/node_keeper.h - the Node objects of the declared nodes, and the leases that say that they
// live.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "api/value.h"
#include "base/time.h"
#include "kube/cache.h"

namespace muster::agent {

/// What of the machine stands in its Node objects.
struct MachineFacts {
    std::string kernel;    // "6.1.0-18-amd64"
    std::string os_image;  // "Debian GNU/Linux 12 (bookworm)"
    std::string machine_id;
    std::string boot_id;
    std::string architecture;  // "amd64", "arm64"
};
MachineFacts machine_facts();

/// A new Node object, without status.
api::Value make_node(const NodeDeclaration& node, const MachineFacts& facts);

/// The labels that every such node has.
api::Value node_labels(const NodeDeclaration& node, const MachineFacts& facts);

/// Its status; times of unchanged conditions are kept from `before`.
api::Value make_node_status(const NodeDeclaration& node, const MachineFacts& facts,
                            const std::string& address, const std::string& version,
                            const Network::Limits& limits, const Network::Users& users,
                            const api::Value& before, Time now);

/// Gives each node that does not declare its ephemeral-storage an equal part of the disk: `bytes`
/// in all, what stays free for Muster not among them.
void share_disk(std::vector<NodeDeclaration>& nodes, std::int64_t bytes);

/// Keeps the objects. Lives on the agent's loop.
class NodeKeeper {
public:
    NodeKeeper(const Options& options, const Network& network, Loop& loop,
               kube::Transport& transport);
    ~NodeKeeper();
    NodeKeeper(const NodeKeeper&) = delete;
    NodeKeeper& operator=(const NodeKeeper&) = delete;

    void start();
    /// One of the nodes as the server has it. One of ours that is held to be lost is heard again at
    /// once.
    void observe(const kube::Object& node);

    /// The address of a declared node inside the pods' network; empty when it is not ours.
    std::string address_of(const std::string& node) const;
    bool is_ours(const std::string& node) const { return !address_of(node).empty(); }

private:
    void declare(const NodeDeclaration& node);
    void tell_status(const NodeDeclaration& node, const api::Value& before);
    void renew(const NodeDeclaration& node);
    void create_lease(const NodeDeclaration& node);
    void tick();

    const Options& options_;
    const Network& network_;
    Loop& loop_;
    kube::Transport& transport_;
    MachineFacts facts_;
    Time statuses_told_;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::agent
