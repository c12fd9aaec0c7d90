// agent/removals.h - has the holder remove the files of pods that have ended, several at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/descriptor.h"
#include "agent/network.h"
#include "agent/removal_queue.h"
#include "net/asio_loop.h"

namespace muster::agent {

/// How much has been removed.
struct RemovalProgress {
    std::int64_t files = 0;
    std::int64_t bytes = 0;
};

/// Lives on the agent's loop, and does not wait for the holder.
class Removals {
public:
    /// `problem` is empty when nothing stays.
    using Ended = std::function<void(const RemovalJob& job, const std::string& problem)>;
    Removals(Network& network, net::AsioLoop& loop, Ended ended);
    ~Removals();
    Removals(const Removals&) = delete;
    Removals& operator=(const Removals&) = delete;

    void add(RemovalJob job);

    /// By pod: what has been removed of those that still have something to be removed.
    const std::map<std::string, RemovalProgress>& going() const { return going_; }
    /// Of all pods, since the start.
    const RemovalProgress& all() const { return all_; }

private:
    struct Running {
        RemovalJob job;
        Descriptor fd;
        net::AsioLoop::WatchId watch{};
        RemovalProgress told;
    };

    void begin();
    void read(std::uint64_t id);
    void note(Running& running, const std::string& text);
    void end(std::uint64_t id, const std::string& problem);

    Network& network_;
    net::AsioLoop& loop_;
    Ended ended_;
    RemovalQueue queue_;
    std::map<std::uint64_t, Running> running_;
    std::map<std::string, RemovalProgress> going_;
    RemovalProgress all_;
    std::uint64_t last_ = 0;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::agent
