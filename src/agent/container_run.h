// agent/container_run.h - one run of a container as its pod's init holds it: pipes, log, watchers.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <poll.h>
#include <sys/types.h>

#include "agent/cgroup_tree.h"
#include "agent/container_process.h"
#include "agent/descriptor.h"
#include "agent/log_file.h"
#include "api/value.h"

namespace muster::agent {

/// The lines of a pipe as they come.
class LineReader {
public:
    explicit LineReader(Descriptor fd);
    int fd() const { return fd_.get(); }
    bool open() const { return static_cast<bool>(fd_); }

    /// False at the end of the pipe.
    bool read(const std::function<void(std::string_view)>& each);

private:
    Descriptor fd_;
    std::string rest_;
};

/// Somebody who sees what a container writes from now on.
struct OutputWatcher {
    Descriptor out;
    Descriptor error;
    std::string out_waiting;  // Not yet taken by the pipe.
    std::string error_waiting;
};

/// One attempt to run a container.
struct ContainerRun {
    std::string name;
    std::int64_t attempt = 0;
    api::Value spec;
    api::Value state;  // As on disk and as told.
    pid_t pid = -1;
    LineReader status{Descriptor()};
    Descriptor output;
    Descriptor error;
    Descriptor input;         // The end to write to, when the container has a standard input.
    Descriptor terminal;      // Where its terminal comes from.
    Descriptor doors_socket;  // Where the ways into it come from,
    Doors doors;              // which are here once it has started.
    LogFile log;
    RunGroup group;
    std::vector<OutputWatcher> watchers;
    bool running = false;

    /// Starts it, or throws Error. `groups` limit it, `confinement` keeps it in.
    void start(const CgroupTree& groups, const std::string& pod, const Confinement& confinement);
    /// What must be waited for.
    void add_polls(std::vector<pollfd>& waits) const;
    /// Takes what it wrote, at most a MiB of each stream: into the log and to the watchers.
    void drain();
    /// It has started: the ways into it are there, and its terminal if it has one.
    void take_ways_in();
    void signal(int number) const;
    /// Ends it with all that it has started, and waits for that.
    void end() const;

private:
    bool shares_processes() const { return spec["sharePid"].boolean_or(false); }
    void read(Descriptor& from, LogFile::Stream stream);
};

/// The machine's clock.
Time present();

}  // namespace muster::agent
