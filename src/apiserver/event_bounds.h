// apiserver/event_bounds.h - how many Events are kept, beside how long.
#pragma once

#include <cstddef>

namespace muster::apiserver {

/// What all Events together may be; whichever is reached first. The oldest go.
struct EventBounds {
    std::size_t events = 50'000;
    std::size_t bytes = 64 << 20;  // Of their text as it is stored.
};

/// What there is.
struct EventTotals {
    std::size_t events = 0;
    std::size_t bytes = 0;
};

constexpr bool are_too_many(const EventTotals& totals, const EventBounds& bounds) {
    return totals.events > bounds.events || totals.bytes > bounds.bytes;
}

/// The removals of one moment, at most; the next moment goes on.
constexpr std::size_t event_removals_at_once = 5'000;

}  // namespace muster::apiserver
