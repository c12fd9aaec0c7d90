// decide/queue/consumption.h - what local queues have used of late: their use, halved again and
// again with time.
#pragma once

#include <cstdint>
#include <map>

#include "base/amount.h"
#include "base/time.h"
#include "decide/change.h"
#include "decide/ids.h"
#include "decide/quota/fraction.h"

namespace muster::decide {

/// Which part of a number is left after a time, when half of it goes in each `half_life`. Integers
/// only: the same everywhere. A half-life of 0 leaves nothing at once.
class Decay {
public:
    Decay(Duration elapsed, Duration half_life);
    /// Requires: the amount is not negative.
    std::int64_t left_of(std::int64_t amount) const;
    std::int64_t lost_of(std::int64_t amount) const { return amount - left_of(amount); }

private:
    std::uint64_t left_ = 0;  // Of 2^62.
};

/// The use of one local queue.
struct Consumption {
    std::map<ResourceId, std::int64_t> thousandths;  // Of amounts; none is 0.
    Time updated;                                    // When it was last added up; not set: never.
    bool in_use = false;  // Something has held quota since then, or held it then.

    bool is_nothing() const { return thousandths.empty(); }
    /// Adds what is used now to what is left of the past.
    void sample(const std::map<ResourceId, Amount>& used, Duration elapsed, Duration half_life);
    /// What starts now counts for one sampling at once, so that many short ones cannot hide.
    void charge(const std::map<ResourceId, Amount>& started, const AdmissionSharing& sharing);
    void refund(const std::map<ResourceId, Amount>& started, const AdmissionSharing& sharing);
};

/// By which local queues are compared: the sum over resources by their weights, divided by the
/// queue's own weight. With weight 0 a queue stands behind all others.
Fraction weighted_use(const Consumption& consumption, const AdmissionSharing& sharing,
                      const Names<ResourceId>& resources, FairWeight weight);

/// The same in thousandths of units, rounded down; the largest int64 when there is no end to it.
std::int64_t in_thousandths(Fraction use);

}  // namespace muster::decide
