// net/mailbox.h - posting to a loop that may be gone before the one who posts.
#pragma once

#include <mutex>
#include <utility>

#include "base/loop.h"

namespace muster::net {

/// Shared by those who post to a loop; whoever owns the loop closes it first. A mutex, because the
/// loop must not go away in the middle of a post from another thread.
class Mailbox {
public:
    explicit Mailbox(Loop& loop) : loop_(&loop) {}

    /// Dropped once closed.
    void post(Loop::Task task) {
        const std::lock_guard lock(mutex_);
        if (loop_) loop_->post(std::move(task));
    }

    void close() {
        const std::lock_guard lock(mutex_);
        loop_ = nullptr;
    }

private:
    std::mutex mutex_;
    Loop* loop_;
};

}  // namespace muster::net
