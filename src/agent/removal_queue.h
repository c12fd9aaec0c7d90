// agent/removal_queue.h - whose files are removed next. Without touching the disk.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace muster::agent {

/// Files of one pod that are to be removed, by their paths beneath the folder of all pods.
struct RemovalJob {
    std::string uid;
    std::string ns;  // The pod's Kubernetes namespace; its uid where that is not known.
    std::vector<std::string> paths;
    int tries = 0;
};

/// Namespaces take turns, and none has more than its part of what is done at once: a pod that
/// leaves millions of files holds up those of its own namespace at most.
class RemovalQueue {
public:
    /// Each is a process of the holder's.
    static constexpr std::size_t kMostAtOnce = 32;
    static constexpr std::size_t kMostOfNamespace = 2;

    void add(RemovalJob job);
    /// The next one to be begun; empty when nothing may be. What concerns one pod is done in order.
    std::optional<RemovalJob> take();
    /// One that was taken is over.
    void end(const RemovalJob& job);
    /// Whether anything of the pod waits or is under way.
    bool has(const std::string& uid) const { return pods_.contains(uid); }

private:
    std::optional<RemovalJob> take_of(const std::string& ns);

    std::map<std::string, std::deque<RemovalJob>> waiting_;  // By namespace; none is empty.
    std::map<std::string, std::size_t> running_;             // By namespace; none is 0.
    std::set<std::string> busy_;                             // The pods of those.
    std::map<std::string, std::size_t> pods_;                // Jobs, waiting or running, by pod.
    std::string last_;                                       // Whose turn was last.
};

}  // namespace muster::agent
