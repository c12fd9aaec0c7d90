// decide/place/ledger.cpp - keeps seats for promised pods where they are, and moves only those that
// must move.
#include "decide/place/ledger.h"

#include <algorithm>
#include <utility>

namespace muster::decide {

namespace {

/// One pod of a gang on trial.
struct Tried {
    const PodSetNeed* pod_set;
    Need need;
};

// Largest first, so that small pods fill what large ones leave.
std::vector<Tried> by_size(const Shape& shape, Seats& seats) {
    std::vector<Tried> order;
    for (const PodSetNeed& pod_set : shape.pod_sets) {
        order.push_back({&pod_set, seats.need_of(pod_set.pod)});
    }
    std::stable_sort(order.begin(), order.end(), [](const Tried& a, const Tried& b) {
        return seated_before(*a.pod_set->pod, a.pod_set->name, *b.pod_set->pod, b.pod_set->name);
    });
    return order;
}

std::int64_t count_pods(const Shape& shape) {
    std::int64_t pods = 0;
    for (const PodSetNeed& pod_set : shape.pod_sets)
        pods += pod_set.count;
    return pods;
}

// Absent when every pod finds a place beside the others; leaves the seats as they were.
std::optional<GangRefusal> try_gang(Seats& seats, const Shape& shape) {
    std::optional<GangRefusal> refused;
    std::vector<std::pair<NodeId, Need>> taken;
    for (const Tried& tried : by_size(shape, seats)) {
        for (std::int64_t i = 0; !refused && i < tried.pod_set->count; ++i) {
            if (const auto node = seats.best(tried.need)) {
                seats.take(*node, tried.need);
                taken.emplace_back(*node, tried.need);
                continue;
            }
            refused.emplace();
            refused->pod_set = tried.pod_set->name;
            refused->placed = static_cast<std::int64_t>(taken.size());
            refused->pods = count_pods(shape);
            refused->refusals = seats.refusals(tried.need);
        }
    }
    for (const auto& [node, need] : taken)
        seats.give(node, need);
    return refused;
}

}  // namespace

void Ledger::set_node(const Node& node) {
    if (!seats_.set_node(node)) return;
    crowded_.insert(seats_.node_id(node.name));
    unsettled_ = true;
    changed();
}

void Ledger::remove_node(std::string_view name) {
    seats_.remove_node(name);
    crowded_.insert(seats_.node_id(name));
    unsettled_ = true;
    changed();
}

void Ledger::bind(const PodBound& pod, std::optional<WorkloadId> workload) {
    if (const auto old = bound_.find(pod.name); old != bound_.end()) {
        const bool same =
            seats_.name_of(old->second.node) == pod.node && old->second.workload == pod.workload &&
            old->second.pod_set == pod.pod_set && *old->second.need.shape == pod.shape;
        if (same) return;
        unbind(pod.name);
    }
    Bound bound;
    bound.node = seats_.node_id(pod.node);
    bound.workload = pod.workload;
    bound.pod_set = pod.pod_set;
    bound.need = seats_.need_of(std::make_shared<const PodShape>(pod.shape));
    seats_.take(bound.node, bound.need);
    crowded_.insert(bound.node);
    const NodeId node = bound.node;
    bound_.emplace(pod.name, std::move(bound));
    changed();
    unsettled_ = true;
    if (pod.workload.empty()) return;
    Pods& siblings = pods_of_[pod.workload];
    siblings.names.insert(pod.name);
    const Promise* promised = workload ? promise_to(*workload) : nullptr;
    if (promised != nullptr && *promised->name.text == pod.workload) siblings.promised = workload;
    rebound(pod.workload).nodes.insert(node);
}

void Ledger::unbind(std::string_view pod) {
    const auto found = bound_.find(pod);
    if (found == bound_.end()) return;
    const Bound bound = std::move(found->second);
    const std::string name = found->first;
    bound_.erase(found);
    seats_.give(bound.node, bound.need);
    unsettled_ = true;
    changed();
    if (bound.workload.empty()) return;
    Nodes& nodes = rebound(bound.workload).nodes;
    const auto siblings = pods_of_.find(bound.workload);
    siblings->second.names.erase(name);
    if (siblings->second.names.empty()) pods_of_.erase(siblings);
    if (const auto node = nodes.find(bound.node); node != nodes.end()) nodes.erase(node);
}

Ledger::Rebound& Ledger::rebound(const std::string& workload) {
    Rebound& entry = rebound_[workload];
    entry.promised = pods_of_.find(workload)->second.promised;
    return entry;
}

const Ledger::Promise* Ledger::promise_to(WorkloadId workload) const {
    if (index(workload) >= promises_.size() || !promises_[index(workload)]) return nullptr;
    return &*promises_[index(workload)];
}

Ledger::Promise& Ledger::open(WorkloadId workload) {
    VERIFY(promise_to(workload) != nullptr);
    Promise& promise = promises_.edit(index(workload)).own();
    if (promise.sets.empty()) promise.sets = promise.new_sets();
    return promise;
}

std::vector<Ledger::PromisedSet> Ledger::Promise::new_sets() const {
    std::vector<PromisedSet> made;
    for (std::size_t i = 0; i < shape->pod_sets.size(); ++i) {
        const std::int64_t count = counts.empty() ? shape->pod_sets[i].count : counts[i];
        made.push_back({&shape->pod_sets[i], {}, count, count, {}});
    }
    return made;
}

void Ledger::promise(WorkloadId workload, RankedName name, std::shared_ptr<const Shape> shape,
                     std::vector<std::int64_t> counts) {
    if (index(workload) >= promises_.size()) promises_.grow(index(workload) + 1);
    if (const Promise* known = promise_to(workload)) give_seats(*known);
    auto* made = new Promise;
    made->name = name;
    made->shape = std::move(shape);
    made->counts = std::move(counts);
    promises_.edit(index(workload)) = NodeRef<Promise>(made);
    const auto pods = pods_of_.find(*name.text);
    if (pods != pods_of_.end()) {
        pods->second.promised = workload;
        recount(workload, {});
    } else {
        seatless_.insert(workload);
    }
    unsettled_ = true;
    changed();
}

void Ledger::seat(WorkloadId workload) {
    seat(open(workload));
}

void Ledger::withdraw(WorkloadId workload) {
    const Promise* found = promise_to(workload);
    if (found == nullptr) return;
    give_seats(*found);
    const auto pods = pods_of_.find(*found->name.text);
    if (pods != pods_of_.end()) pods->second.promised.reset();
    promises_.edit(index(workload)) = {};
    seatless_.erase(workload);
    unsettled_ = true;
    changed();
}

void Ledger::give_seats(const Promise& promise) {
    for (const PromisedSet& set : promise.sets) {
        for (const NodeId node : set.seats)
            seats_.give(node, set.need);
    }
}

std::optional<GangRefusal> Ledger::refusal(const Shape& shape, Options::Capacity capacity) {
    settle();
    return capacity == Options::Capacity::per_node ? per_node(shape) : aggregate(shape);
}

void Ledger::settle() {
    if (!unsettled_) return;
    unsettled_ = false;
    for (auto& [workload, entry] : std::exchange(rebound_, {})) {
        const Promise* promise = entry.promised ? promise_to(*entry.promised) : nullptr;
        if (promise == nullptr || *promise->name.text != workload) continue;
        recount(*entry.promised, std::move(entry.nodes));
    }
    empty_overfull_nodes();
    // In the order of names, so that seats do not depend on the order of arrival.
    std::vector<WorkloadId> waiting(seatless_.begin(), seatless_.end());
    sort_by_name(waiting);
    for (const WorkloadId workload : waiting) {
        Promise& promise = open(workload);
        seat(promise);
        if (std::all_of(promise.sets.begin(), promise.sets.end(), [](const PromisedSet& set) {
                return static_cast<std::int64_t>(set.seats.size()) == set.unbound;
            })) {
            seatless_.erase(workload);
        }
    }
}

void Ledger::sort_by_name(std::vector<WorkloadId>& workloads) const {
    std::sort(workloads.begin(), workloads.end(), [this](WorkloadId a, WorkloadId b) {
        return promise_to(a)->name < promise_to(b)->name;
    });
}

std::vector<Holder> Ledger::holders(std::string_view resource, std::string_view node) const {
    const auto id = seats_.find_resource(resource);
    if (!id) return {};
    std::map<std::string, Amount> sums;
    const auto add = [&](const std::string& holder, NodeId at, const Need& need) {
        if (!node.empty() && seats_.name_of(at) != node) return;
        for (const auto& [what, amount] : need.requests) {
            if (what == *id) sums[holder] += amount;
        }
    };
    for (const auto& [name, pod] : bound_) {
        add(pod.workload.empty() ? "pod " + name : pod.workload, pod.node, pod.need);
    }
    visit_promises([&](WorkloadId, const Promise& promise) {
        for (const PromisedSet& set : promise.sets) {
            for (const NodeId seat : set.seats)
                add(*promise.name.text, seat, set.need);
        }
    });
    std::vector<Holder> all;
    for (const auto& [holder, amount] : sums)
        all.push_back({holder, amount});
    std::stable_sort(all.begin(), all.end(),
                     [](const Holder& a, const Holder& b) { return a.amount > b.amount; });
    return all;
}

std::vector<std::string> Ledger::pods_of(std::string_view workload) const {
    const auto pods = pods_of_.find(workload);
    if (pods == pods_of_.end()) return {};
    return {pods->second.names.begin(), pods->second.names.end()};
}

Amount Ledger::allocatable(std::string_view resource) const {
    const auto id = seats_.find_resource(resource);
    return id ? seats_.allocatable(*id) : Amount{};
}

Amount Ledger::free(std::string_view resource) const {
    const auto id = seats_.find_resource(resource);
    if (!id) return {};
    return seats_.allocatable(*id) - seats_.taken(*id) - seatless(*id);
}

// Which bound pods stand for which pod set: by name, else by equal requests, else by what is left.
void Ledger::recount(WorkloadId workload, Nodes bound_to) {
    Promise& promise = open(workload);
    std::vector<PromisedSet>& sets = promise.sets;
    for (PromisedSet& set : sets)
        set.unbound = set.count;
    std::vector<const Bound*> rest;
    const auto pods = pods_of_.find(*promise.name.text);
    if (pods != pods_of_.end()) {
        for (const std::string& name : pods->second.names)
            rest.push_back(&bound_.find(name)->second);
    }
    const auto settle_by = [&](auto stands_for) {
        std::erase_if(rest, [&](const Bound* pod) {
            const auto set = std::find_if(sets.begin(), sets.end(), [&](PromisedSet& s) {
                return s.unbound > 0 && stands_for(*pod, s);
            });
            if (set == sets.end()) return false;
            --set->unbound;
            return true;
        });
    };
    settle_by([](const Bound& pod, const PromisedSet& set) { return pod.pod_set == set.of->name; });
    settle_by([this](const Bound& pod, PromisedSet& set) {
        return pod.pod_set.empty() && pod.need.requests == need_of(set).requests;
    });
    settle_by([](const Bound& pod, const PromisedSet&) { return pod.pod_set.empty(); });
    for (PromisedSet& set : sets) {
        fit_seats(set, bound_to);
        if (static_cast<std::int64_t>(set.seats.size()) < set.unbound) seatless_.insert(workload);
    }
}

// Seats of pods that are bound by now: first those where they sit, else the last by name.
void Ledger::fit_seats(PromisedSet& set, Nodes& bound_to) {
    const auto surplus = [&] { return static_cast<std::int64_t>(set.seats.size()) > set.unbound; };
    std::sort(set.seats.begin(), set.seats.end(),
              [&](NodeId a, NodeId b) { return seats_.name_of(a) < seats_.name_of(b); });
    for (auto seat = set.seats.begin(); surplus() && seat != set.seats.end();) {
        const auto there = bound_to.find(*seat);
        if (there == bound_to.end()) {
            ++seat;
            continue;
        }
        bound_to.erase(there);
        seats_.give(*seat, set.need);
        seat = set.seats.erase(seat);
    }
    while (surplus()) {
        seats_.give(set.seats.back(), set.need);
        set.seats.pop_back();
        changed();
    }
}

const Need& Ledger::need_of(PromisedSet& set) {
    if (set.need.shape == nullptr) set.need = seats_.need_of(set.of->pod);
    return set.need;
}

void Ledger::seat(Promise& promise) {
    std::vector<PromisedSet*> order;
    for (PromisedSet& set : promise.sets)
        order.push_back(&set);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
        return seated_before(*a->of->pod, a->of->name, *b->of->pod, b->of->name);
    });
    for (PromisedSet* set : order) {
        while (static_cast<std::int64_t>(set->seats.size()) < set->unbound) {
            const auto node = seats_.best(need_of(*set));
            if (!node) break;
            seats_.take(*node, set->need);
            set->seats.push_back(*node);
            changed();
        }
    }
}

// A pod was bound where another is promised to sit: the promised one looks for another place.
void Ledger::empty_overfull_nodes() {
    const auto crowded = std::exchange(crowded_, {});
    if (std::none_of(crowded.begin(), crowded.end(),
                     [&](NodeId node) { return seats_.is_overfull(node); })) {
        return;
    }
    const auto sits_badly = [&](const PromisedSet& set) {
        return std::any_of(set.seats.begin(), set.seats.end(),
                           [&](NodeId node) { return seats_.is_overfull(node); });
    };
    std::vector<WorkloadId> concerned;
    visit_promises([&](WorkloadId workload, const Promise& promise) {
        if (std::any_of(promise.sets.begin(), promise.sets.end(), sits_badly))
            concerned.push_back(workload);
    });
    sort_by_name(concerned);
    for (const WorkloadId workload : concerned) {
        for (PromisedSet& set : open(workload).sets) {
            std::erase_if(set.seats, [&](NodeId node) {
                if (!seats_.is_overfull(node)) return false;
                seats_.give(node, set.need);
                changed();
                seatless_.insert(workload);
                return true;
            });
        }
    }
}

// Nodes that would not do even when empty say more than what is on them now.
std::optional<GangRefusal> Ledger::per_node(const Shape& shape) {
    auto refused = try_gang(seats_, shape);
    if (!refused) return std::nullopt;
    Seats empty = seats_.emptied();
    if (auto hopeless = try_gang(empty, shape)) {
        hopeless->never = true;
        return hopeless;
    }
    refused->lacks = sums_short(shape);
    return refused;
}

std::optional<GangRefusal> Ledger::aggregate(const Shape& shape) {
    GangRefusal refused;
    refused.lacks = sums_short(shape);
    if (refused.lacks.empty()) return std::nullopt;
    refused.pods = count_pods(shape);
    refused.never = std::any_of(refused.lacks.begin(), refused.lacks.end(),
                                [](const auto& lack) { return lack.needed > lack.allocatable; });
    return refused;
}

std::vector<Refusal::Lack> Ledger::sums_short(const Shape& shape) {
    std::map<std::string, Amount> needed;
    for (const PodSetNeed& pod_set : shape.pod_sets) {
        const Need need = seats_.need_of(pod_set.pod);
        for (const auto& [resource, amount] : need.requests) {
            needed[seats_.name_of(resource)] += amount * pod_set.count;
        }
    }
    std::vector<Refusal::Lack> lacks;
    for (const auto& [resource, amount] : needed) {
        const Amount left = free(resource);
        if (amount <= left) continue;
        lacks.push_back({.resource = resource,
                         .needed = amount,
                         .free = std::max(left, Amount{}),
                         .allocatable = allocatable(resource)});
    }
    return lacks;
}

Amount Ledger::seatless(ResourceId resource) const {
    const std::string& name = seats_.name_of(resource);
    Amount sum;
    visit_promises([&](WorkloadId, const Promise& promise) {
        const auto made = promise.sets.empty() ? promise.new_sets() : std::vector<PromisedSet>();
        for (const PromisedSet& set : promise.sets.empty() ? made : promise.sets) {
            const std::int64_t count = set.unbound - static_cast<std::int64_t>(set.seats.size());
            const auto request = set.of->pod->requests.find(name);
            if (request != set.of->pod->requests.end())
                sum += std::max(Amount{}, request->second) * count;
        }
    });
    return sum;
}

std::vector<std::string> Ledger::broken_invariants() const {
    std::vector<std::string> broken;
    visit_promises([&](WorkloadId, const Promise& promise) {
        for (const PromisedSet& set : promise.sets) {
            const auto seats = static_cast<std::int64_t>(set.seats.size());
            if (set.unbound < 0 || set.unbound > set.count || seats > set.unbound) {
                broken.push_back("promise to " + *promise.name.text + "/" + set.of->name + ": " +
                                 std::to_string(seats) + " seats for " +
                                 std::to_string(set.unbound) + " unbound of " +
                                 std::to_string(set.count));
            }
        }
    });
    return broken;
}

}  // namespace muster::decide
