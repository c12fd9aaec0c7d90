// agent/shares.cpp - see shares.h.
#include "agent/shares.h"

#include <sys/resource.h>

#include "base/verify.h"

namespace muster::agent {

std::shared_ptr<void> Shares::take(const std::string& who) {
    State& state = *state_;
    const auto known = state.of.find(who);
    const std::size_t own = known == state.of.end() ? 0 : known->second;
    if (own >= state.total - state.held) return nullptr;
    ++state.of[who];
    ++state.held;
    return std::shared_ptr<void>(state_.get(), [state = state_, who](void*) {
        --state->held;
        const auto at = state->of.find(who);
        if (--at->second == 0) state->of.erase(at);
    });
}

std::size_t descriptors_max() {
    rlimit limit{};
    VERIFY(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
    return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace muster::agent
