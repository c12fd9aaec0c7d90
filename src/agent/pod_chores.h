// agent/pod_chores.h - what the holder does with the files of pods, which belong to users that the
// server may not be: writes, measures and removes them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/beneath.h"
#include "agent/uid_ranges.h"
#include "api/value.h"
#include "base/time.h"

namespace muster::agent {

/// Makes the folders and files that DIRECTORY/incoming/list.json names, for a pod with these ids:
///   folders [{path, mode, group}]          below DIRECTORY; group -1: none but root's
///   files   [{from, path, mode, group}]    moved from DIRECTORY/incoming/FROM, whole at once
/// A folder that belongs to other users than the pod's is emptied first. Throws Error.
void fill_pod(const std::string& directory, const IdMap& ids);

/// Removes each path beneath `root`, through no link. Throws Error when something stays, after it
/// has tried them all.
void remove_all_beneath(const std::string& root, const std::vector<std::string_view>& paths,
                        const Removed& removed = {});

/// Tells how far a removal is: "going FILES BYTES", both since its begin, now and then.
class RemovalTeller {
public:
    explicit RemovalTeller(std::function<void(const std::string&)> tell) : tell_(std::move(tell)) {}
    void count(std::int64_t bytes);
    void tell() const;

private:
    std::function<void(const std::string&)> tell_;
    std::int64_t files_ = 0;
    std::int64_t bytes_ = 0;
    Time next_;  // Of the steady clock.
};

/// The disk use of each volume (by its name) and each container (by its name: its writable folders
/// and logs) of the pod, in bytes; of the removed files that its processes hold and of its /etc;
/// and how many files there are of all of them together: {volumes: {NAME: N}, containers: {NAME:
/// N}, other: N, files: N}. `init` is the pod's first process, 0 when it does not run.
api::Value pod_disk_use(const std::string& directory, pid_t init);

}  // namespace muster::agent
