// agent/forward_table.cpp - see forward_table.h.
#include "agent/forward_table.h"

#include <algorithm>
#include <utility>

namespace muster::agent {

namespace {
/// Pods behind one address, as in an Endpoints object of Kubernetes; some 50 bytes each.
constexpr std::size_t kPodsMax = 1000;
/// A namespace whose addresses have so many pods behind them has few behind each further one.
constexpr std::size_t kManyPods = 50'000;
constexpr std::size_t kFewPods = 10;
/// Ports and pods that are looked at in one turn of the loop: about a millisecond.
constexpr std::size_t kWorkOfTurn = 5000;
}  // namespace

void ForwardTable::changed(const std::string& ns, const std::string& service) {
    changed_[ns].insert(service);
}

ForwardTable::Piece ForwardTable::take() {
    Piece piece;
    for (std::size_t work = 0; work < kWorkOfTurn && !changed_.empty();) {
        auto ns = changed_.upper_bound(turn_);
        if (ns == changed_.end()) ns = changed_.begin();
        turn_ = ns->first;
        const std::string service = *ns->second.begin();
        ns->second.erase(ns->second.begin());
        if (ns->second.empty()) changed_.erase(ns);
        work += take_one(turn_, service, piece);
    }
    return piece;
}

/// Returns how many ports and pods it looked at.
std::size_t ForwardTable::take_one(const std::string& ns, const std::string& service,
                                   Piece& piece) {
    Share& share = shares_[ns];
    const auto known = share.of.find(service);
    const auto before =
        known == share.of.end() ? std::pair<std::size_t, std::size_t>{} : known->second;
    if (known != share.of.end()) share.of.erase(known);
    share.addresses -= before.first;
    share.pods -= before.second;
    const std::size_t pods_max = share.pods < kManyPods ? kPodsMax : kFewPods;
    ServiceSeen seen =
        names_.forwards_of(ns, service, {kAddressesMax - share.addresses, pods_max, kManyPods});
    const std::size_t after = seen.addresses.size();
    share.addresses += after;
    share.pods += seen.pods;
    if (after > 0) share.of[service] = {after, seen.pods};
    if (seen.left_out == 0)
        share.over.erase(service);
    else if (share.over.insert(service).second)
        piece.over.push_back({ns, service, seen.left_out});
    // Those for which there was no room may have what this one gave back.
    std::size_t room = before.first > after ? before.first - after : 0;
    for (auto each = share.over.begin(); each != share.over.end() && room > 0; ++each, --room)
        if (*each != service) changed(ns, *each);
    if (share.of.empty() && share.over.empty()) shares_.erase(ns);
    if (before.first + after > 0)
        piece.services.push_back({ns, service, std::move(seen.addresses)});
    return seen.work + 1;
}

}  // namespace muster::agent
