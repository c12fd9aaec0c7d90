// agent/shares.h - a number of equal things that namespaces share, so that none takes all.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace muster::agent {

/// Each may hold as many as are still free: one that takes all it can get leaves half to others,
/// two leave a third, and who holds little always gets what it asks for. From any thread.
class Shares {
public:
    explicit Shares(std::size_t total) : state_(std::make_shared<State>()) {
        state_->total = total;
    }

    /// Takes `count` things for `who`, which are free again when the last copy of the ticket is
    /// gone; null when `who` has its share.
    std::shared_ptr<void> take(const std::string& who, std::size_t count = 1);

    std::size_t held() const;

private:
    struct State {
        std::mutex mutex;
        std::size_t total = 0;
        std::size_t held = 0;
        std::map<std::string, std::size_t> of;
    };
    std::shared_ptr<State> state_;
};

/// How many files this process may have open.
std::size_t descriptors_max();

}  // namespace muster::agent
