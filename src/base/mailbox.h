// base/mailbox.h - how one thread hands work to another.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace muster {

/// A queue between threads. Any thread may put; one thread takes all there is at once.
template <class Item>
class Mailbox {
public:
    void put(Item item) {
        {
            const std::lock_guard lock(mutex_);
            items_.push_back(std::move(item));
        }
        changed_.notify_one();
    }

    /// Waits until there is something. Empty only when closed and everything was taken.
    std::vector<Item> take_all() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return closed_ || !items_.empty(); });
        return std::exchange(items_, {});
    }

    /// Nothing is put any more; who waits is woken.
    void close() {
        {
            const std::lock_guard lock(mutex_);
            closed_ = true;
        }
        changed_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Item> items_;
    bool closed_ = false;
};

}  // namespace muster
