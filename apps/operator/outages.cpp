// apps/operator/outages.cpp - troubles become spans, and spans words.
#include "apps/operator/outages.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace muster::on_cluster {
namespace {

std::string name_of(const api::GroupResource& resource) {
    return resource.plural + (resource.group.empty() ? "" : "." + resource.group);
}

std::int64_t whole_seconds(Duration span) {
    return span.nanoseconds / 1'000'000'000;
}

}  // namespace

void Outages::take(const std::vector<control::Trouble>& troubles, Duration now) {
    std::map<api::GroupResource, Outage> down;
    for (const control::Trouble& trouble : troubles) {
        const auto before = down_.find(trouble.resource);
        const Duration since = before == down_.end() ? now : before->second.since;
        down.insert_or_assign(trouble.resource, Outage{since, trouble.why});
    }
    down_ = std::move(down);
}

std::string Outages::told(Duration now) const {
    // A server that is away is one reason of all kinds.
    struct Group {
        std::vector<std::string> names;
        Duration longest;
    };
    std::map<std::string, Group> by_reason;
    for (const auto& [resource, outage] : down_) {
        const Duration lasted = now - outage.since;
        if (lasted < down_after) continue;
        Group& group = by_reason[outage.why];
        group.names.push_back(name_of(resource));
        group.longest = std::max(group.longest, lasted);
    }
    std::vector<std::string> lines;
    for (const auto& [why, group] : by_reason) {
        lines.push_back("nothing is heard of " + join(group.names, ", ") + " for " +
                        std::to_string(whole_seconds(group.longest)) + " s: " + why);
    }
    return join(lines, "; ");
}

void Outages::measure(MetricFamily<Gauge>& seconds, Duration now) const {
    seconds.clear();
    for (const auto& [resource, outage] : down_) {
        const std::int64_t lasted = whole_seconds(now - outage.since);
        seconds.with({resource.group, resource.plural}).set(static_cast<double>(lasted));
    }
}

}  // namespace muster::on_cluster
