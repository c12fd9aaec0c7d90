// agent/disk_keeper.cpp - see disk_keeper.h.
#include "agent/disk_keeper.h"

#include <algorithm>
#include <utility>

#include <sys/statvfs.h>

#include "agent/steady_time.h"
#include "base/error.h"
#include "base/log.h"

namespace muster::agent {

namespace {

constexpr Duration kPeriod = seconds(1);
constexpr Duration kShortPeriod = milliseconds(200);  // While the disk is nearly full.
constexpr Duration kLimitsPeriod = seconds(10);       // The kubelet's.
constexpr Duration kFreeingPeriod = seconds(5);
constexpr std::int64_t kNearlyFull = std::int64_t{4} << 30;
constexpr std::int64_t kFewInodes = 100'000;

}  // namespace

DiskKeeper::DiskKeeper(Network& network, net::AsioLoop& loop, Pods pods, const Removals& removals,
                       Evict evict)
    : network_(network),
      loop_(loop),
      pods_(std::move(pods)),
      removals_(removals),
      evict_(std::move(evict)) {
    measurer_.start("muster-disk");
}

DiskKeeper::~DiskKeeper() {
    alive_.reset();
    measurer_.stop();
}

void DiskKeeper::start() {
    limits_checked_ = steady_now();
    look();
}

void DiskKeeper::stop() {
    alive_.reset();
}

DiskSpace disk_space_of(const std::string& folder) {
    struct statvfs status {};
    if (::statvfs(folder.c_str(), &status) != 0) return {};
    const auto block = static_cast<std::int64_t>(status.f_frsize);
    return {static_cast<std::int64_t>(status.f_blocks) * block,
            static_cast<std::int64_t>(status.f_bavail) * block,
            static_cast<std::int64_t>(status.f_files), static_cast<std::int64_t>(status.f_favail)};
}

void DiskKeeper::look() {
    const DiskSpace now = disk_space_of(network_.directory());
    const bool low = is_low(now);
    if (!low) {
        wait_.reset();
        uses_.clear();
    }
    const bool due = steady_now() - limits_checked_ >= kLimitsPeriod;
    if (!measuring_ && (low || due)) {
        limits_checked_ = steady_now();
        std::vector<Pod> pods = pods_();
        if (!low) std::erase_if(pods, [](const Pod& pod) { return !has_disk_limits(pod.value); });
        if (!pods.empty()) measure(std::move(pods));
    }
    const bool nearly_full =
        now.free < kNearlyFull || (now.inodes > 0 && now.inodes_free < kFewInodes);
    loop_.after(nearly_full ? kShortPeriod : kPeriod, [this, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) look();
    });
}

void DiskKeeper::measure(std::vector<Pod> pods) {
    measuring_ = true;
    measurer_.post([this, pods = std::move(pods), alive = std::weak_ptr<int>(alive_)] {
        std::map<std::string, PodDiskUse> uses;
        for (const Pod& pod : pods) {
            if (alive.expired()) return;
            try {
                uses[pod.uid] = pod_disk_use_of(network_.disk_use_of(pod.directory));
            } catch (const Error& error) {
                // A pod that ended meanwhile has no folder any more.
                log_debug("agent", "the disk use of pod " + pod.uid +
                                       " is not known: " + std::string(error.what()));
            }
        }
        loop_.post([this, pods, uses, alive] {
            if (alive.expired()) return;
            measuring_ = false;
            judge(pods, uses);
        });
    });
}

/// What a pod that has ended took when it was measured last is about to be free, less what is gone.
Freeing DiskKeeper::freeing_now(const std::vector<Pod>& pods) {
    std::map<std::string, PodDiskUse> kept;
    Freeing freeing;
    freeing.removed = removals_.all().files;
    for (const Pod& pod : pods) {
        auto use = uses_.extract(pod.uid);
        if (use.empty()) continue;
        if (pod.evicted) {
            freeing.bytes += use.mapped().all();
            freeing.files += use.mapped().files;
        }
        kept.insert(std::move(use));
    }
    for (const auto& [uid, gone] : removals_.going()) {
        auto use = uses_.extract(uid);
        if (use.empty()) continue;  // It runs on and only a run of it is removed, or is not known.
        freeing.bytes += std::max<std::int64_t>(0, use.mapped().all() - gone.bytes);
        freeing.files += std::max<std::int64_t>(0, use.mapped().files - gone.files);
        kept.insert(std::move(use));
    }
    uses_ = std::move(kept);
    return freeing;
}

void DiskKeeper::judge(const std::vector<Pod>& pods,
                       const std::map<std::string, PodDiskUse>& uses) {
    for (const Pod& pod : pods) {
        const auto use = uses.find(pod.uid);
        if (use == uses.end()) continue;
        uses_[pod.uid] = use->second;
        if (const auto verdict = disk_verdict(pod.value, use->second)) evict_(pod.uid, *verdict);
    }
    // Measuring may have taken long.
    const DiskSpace space = disk_space_of(network_.directory());
    if (is_low(space)) evict_one(uses, space);
}

void DiskKeeper::evict_one(const std::map<std::string, PodDiskUse>& uses, const DiskSpace& space) {
    // The space of a pod is freed a while after its end: until then nobody else is evicted for it.
    // A pod that ends for another reason, perhaps slowly, is no ground to wait.
    const std::vector<Pod> now = pods_();
    const bool waits = wait_.waits(space, freeing_now(now), steady_now());
    if (waits || (space_evicted_ && steady_now() - *space_evicted_ < kFreeingPeriod)) return;
    std::map<std::string, PodDiskUse> running;
    for (const Pod& pod : now)
        if (const auto use = uses.find(pod.uid); use != uses.end() && !pod.evicted)
            running.insert(*use);
    const auto eviction = evict_for_space(running, space);
    if (eviction) {
        space_evicted_ = steady_now();
        log_warning("agent", "the disk is nearly full: " + eviction->verdict.message);
        evict_(eviction->uid, eviction->verdict);
    }
}

}  // namespace muster::agent
