// apps/operator/outages.h - which watches are down, and since when: what is seen of these kinds may
// be old.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/kind.h"
#include "base/metrics.h"
#include "base/time.h"
#include "control/seen.h"

namespace muster::on_cluster {

/// Whoever is back within this time (an API server that is restarted, a list anew) has missed
/// nothing that anybody would look for.
constexpr Duration down_after = seconds(30);

/// Told again and again what is down, it knows for how long. Spans are those of a clock that only
/// goes forward.
class Outages {
public:
    /// All that is down now.
    void take(const std::vector<control::Trouble>& troubles, Duration now);

    /// Those that have been down for `down_after` or longer, with the reasons; empty: none.
    std::string told(Duration now) const;

    /// For how many seconds, of each that is down; those that are up have no member.
    void measure(MetricFamily<Gauge>& seconds, Duration now) const;

private:
    struct Outage {
        Duration since;
        std::string why;
    };
    std::map<api::GroupResource, Outage> down_;
};

}  // namespace muster::on_cluster
