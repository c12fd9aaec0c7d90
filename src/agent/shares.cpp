// agent/shares.cpp - see shares.h.
#include "agent/shares.h"

#include <sys/resource.h>

#include "base/verify.h"

namespace muster::agent {

std::shared_ptr<void> Shares::take(const std::string& who, std::size_t count) {
    if (count == 0) return state_;  // Nothing is held, and nothing is given back.
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    const auto known = state.of.find(who);
    const std::size_t own = known == state.of.end() ? 0 : known->second;
    const std::size_t free = state.total - state.held;
    if (count > free || own + count > free - count + 1) return nullptr;
    state.of[who] += count;
    state.held += count;
    return std::shared_ptr<void>(state_.get(), [state = state_, who, count](void*) {
        const std::lock_guard end(state->mutex);
        state->held -= count;
        const auto at = state->of.find(who);
        at->second -= count;
        if (at->second == 0) state->of.erase(at);
    });
}

std::size_t Shares::held() const {
    const std::lock_guard lock(state_->mutex);
    return state_->held;
}

std::size_t descriptors_max() {
    rlimit limit{};
    VERIFY(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace muster::agent
