// sim/fake_node.h - nodes whose pods are scripted: they start, get ready, end, and die with their
// node.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/value.h"
#include "base/loop.h"
#include "base/random.h"
#include "kube/cache.h"
#include "kube/transport.h"
#include "kube/watcher.h"

namespace muster::sim {

/// A node as declared.
struct NodeSpec {
    std::string name;
    std::string cpu;
    std::string memory;
    int pods = 110;
    api::Value amounts = {};  // In place of the three above: {"cpu": "2", "nvidia.com/gpu": "8"}.
    api::Value labels = {};
    api::Value spec = {};  // Taints, unschedulable.
    bool is_ready = true;
};

/// The agents of all nodes, and the processes that they run. The processes outlive a crash of the
/// agent.
///
/// A Ray pod runs until it is deleted. A submitter pod tells the dashboard of its job and ends when
/// that does. Any other pod of restartPolicy Never or OnFailure succeeds after some seconds.
class FakeNode {
public:
    FakeNode(kube::Transport& transport, Loop& loop, Random& random, std::vector<NodeSpec> nodes);

    void start();

    /// Another node, or one that was declared before and is different now.
    void declare(NodeSpec node);
    /// It beats no more.
    void forget(const std::string& node);

    /// The node falls silent and its processes die; it is back after `span`, knowing nothing.
    void lose(const std::string& node, Duration span);

    /// Asks a Ray dashboard: status code and body, as Ray would answer. 0: not reachable.
    std::pair<int, std::string> ask(std::string_view method, std::string_view url,
                                    const std::string& body);

    /// How often a process was started for each pod uid; more than once is a broken promise.
    const std::map<std::string, int>& starts() const { return starts_; }
    std::size_t running() const;
    /// How often a node was lost.
    int losses() const { return losses_; }

private:
    enum class Phase { starting, running, ready, ending, ended };
    struct Process {
        std::string node;
        std::string cluster;  // Of a Ray pod.
        bool is_head = false;
        Phase phase = Phase::starting;
        int exit_code = 0;
    };
    struct RayJob {
        Time ends;
        std::string cluster;
    };

    void register_node(const NodeSpec& node);
    void write_node(const NodeSpec& node);
    void beat();
    void look(const kube::ObjectPtr& pod);
    void start_process(const kube::Object& pod);
    void end_process(const std::string& uid, const std::string& ns, const std::string& name,
                     Duration within);
    void report(const std::string& uid);
    void write_status(const kube::Object& pod, const Process& process);
    void remove(const kube::Object& pod);
    void submit(const kube::Object& pod);
    Duration draw(std::int64_t least_ms, std::int64_t most_ms);

    kube::Transport& transport_;
    Loop& loop_;
    Random& random_;
    std::vector<NodeSpec> nodes_;
    std::set<std::string> lost_;
    std::unique_ptr<kube::Watcher> watcher_;
    std::map<std::string, kube::ObjectPtr> pods_;  // By uid, as last seen.
    std::map<std::string, Process> processes_;     // By pod uid.
    std::map<std::string, int> starts_;
    std::map<std::string, RayJob> jobs_;  // By submission id.
    int last_address_ = 0;
    int losses_ = 0;
};

}  // namespace muster::sim
