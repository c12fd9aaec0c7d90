// apps/cli/run_plugin.h - runs a kubeconfig's credential plugin and gives what it prints.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <sys/types.h>

#include "kube/credentials.h"
#include "kube/exec_plugin.h"
#include "net/asio_loop.h"

namespace muster::cli {

/// Waits until it has ended, at most a minute; its errors go to ours. Throws Error in words.
std::string run_plugin(const kube::ExecPlugin& plugin);

/// Runs plugins while a loop goes on, each for at most a minute. Lives on that loop; those that
/// still run at its end are killed, and nobody hears of them.
class PluginRunner {
public:
    using Done = std::function<void(const kube::PluginAnswer&)>;

    explicit PluginRunner(net::AsioLoop& loop) : loop_(loop) {}
    ~PluginRunner();
    PluginRunner(const PluginRunner&) = delete;
    PluginRunner& operator=(const PluginRunner&) = delete;

    /// `done` is called later, once.
    void run(const kube::ExecPlugin& plugin, Done done);

private:
    struct Child {
        kube::ExecPlugin plugin;
        Done done;
        pid_t pid = 0;
        int out = -1;  // -1: read to its end.
        std::string printed;
        net::AsioLoop::WatchId watch{};
    };
    void read_some(std::uint64_t id);
    void close_output(Child& child);
    void look_for_end(std::uint64_t id);
    void give_up(std::uint64_t id);
    void finish(std::uint64_t id, const std::function<std::string()>& printed);

    net::AsioLoop& loop_;
    std::map<std::uint64_t, Child> children_;
    std::uint64_t last_ = 0;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // Guards timers that outlive it.
};

}  // namespace muster::cli
