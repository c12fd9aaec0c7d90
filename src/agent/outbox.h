// agent/outbox.h - messages that wait until the other end of a socket takes them: the sender never
// waits.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "agent/descriptor.h"

namespace muster::agent {

/// The messages for one socket, in order. A message has copies of its descriptors.
class Outbox {
public:
    /// For what users ask as often as they like: so much of it waits, the rest is refused.
    static constexpr std::size_t kMostAsked = 64;
    static constexpr std::size_t kMostAskedBytes = 1 << 20;
    /// For all messages. Muster's own are short, and a few for each container and each command.
    static constexpr std::size_t kMost = 4096;
    /// After so many looks, one a second, at which the other end had read nothing, it is stuck. A
    /// pod's first process gets as long to start. No clock is read: while this process or the
    /// machine stands still, nobody is looked at.
    static constexpr int kStuckLooks = 30;

    enum class Weight { asked, own };
    enum class Added { yes, too_long, full };
    /// `refused` is called when the kernel refuses this message though the connection is whole.
    Added add(std::string text, const std::vector<int>& descriptors, Weight weight,
              std::function<void()> refused = {});

    enum class Sent { all, some, closed };
    /// Sends what the socket takes without waiting.
    Sent send(int fd);

    /// To be asked once a second while anything is on its way. `unread` is how much of what was
    /// sent the other end has not read.
    enum class Look { idle, moving, stuck };
    Look look(std::size_t unread);

    std::size_t size() const { return waiting_.size(); }
    bool empty() const { return waiting_.empty(); }

private:
    struct Letter {
        std::string text;
        std::vector<Descriptor> descriptors;
        std::function<void()> refused;
    };

    Sent send_waiting(int fd);

    std::deque<Letter> waiting_;
    std::size_t bytes_ = 0;
    bool crowded_ = false;  // The socket took no more,
    bool moved_ = false;    // and then did again: something was read.
    std::size_t unread_ = 0;
    int looks_ = 0;  // At which nothing had been read.
};

}  // namespace muster::agent
