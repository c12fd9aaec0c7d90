// control/queue/status_pace.cpp - measures a round by the clock of those who ask.
#include "control/queue/status_pace.h"

#include <algorithm>
#include <utility>

namespace muster::control::queue {

std::optional<Time> StatusPace::not_before(Time now) {
    if (std::exchange(hurry_, false)) return std::nullopt;
    if (began_) {
        began_ = std::min(*began_, now);  // The clock may be set back.
        const Duration took = now - *began_;
        if (!on_its_way_.empty() && took < patience) return *began_ + patience;
        const Duration for_many = std::clamp(of_each * size_, shortest, longest_for_many);
        due_ = std::max(*began_ + for_many, now + std::min(took * times_as_long, longest));
        began_.reset();
        size_ = 0;
    }
    due_ = std::min(due_, now + longest);
    if (due_ <= now) return std::nullopt;
    return due_;
}

void StatusPace::sent(const api::Key& key, Time now) {
    began_ = now;
    ++size_;
    on_its_way_.insert(key);
}

}  // namespace muster::control::queue
