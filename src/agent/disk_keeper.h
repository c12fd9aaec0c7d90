// agent/disk_keeper.h - watches what pods take of the disk, and has those evicted that take too
// much.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/disk_limits.h"
#include "agent/network.h"
#include "agent/removals.h"
#include "net/asio_loop.h"

namespace muster::agent {

/// The space of the file system that a folder is on; all 0 when it does not say.
DiskSpace disk_space_of(const std::string& folder);

/// Lives on the agent's loop; the disk is measured on a thread of its own.
class DiskKeeper {
public:
    /// A running pod, as it is now.
    struct Pod {
        std::string uid;
        std::string directory;
        api::Value value;
        bool evicted = false;  // It is being ended, at once.
    };
    using Pods = std::function<std::vector<Pod>()>;
    using Evict = std::function<void(const std::string& uid, const Verdict& verdict)>;

    DiskKeeper(Network& network, net::AsioLoop& loop, Pods pods, const Removals& removals,
               Evict evict);
    ~DiskKeeper();
    DiskKeeper(const DiskKeeper&) = delete;
    DiskKeeper& operator=(const DiskKeeper&) = delete;

    void start();
    /// Nothing is measured or evicted any more.
    void stop();

private:
    void look();
    void measure(std::vector<Pod> pods);
    void judge(const std::vector<Pod>& pods, const std::map<std::string, PodDiskUse>& uses);
    void evict_one(const std::map<std::string, PodDiskUse>& uses, const DiskSpace& space);
    Freeing freeing_now(const std::vector<Pod>& pods);

    Network& network_;
    net::AsioLoop& loop_;
    Pods pods_;
    const Removals& removals_;
    std::map<std::string, PodDiskUse> uses_;  // As measured last; of pods that have ended too.
    FreeingWait wait_;
    Evict evict_;
    net::AsioLoop measurer_;
    Time limits_checked_;
    std::optional<Time> space_evicted_;  // When a pod was evicted for space last.
    bool measuring_ = false;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::agent
