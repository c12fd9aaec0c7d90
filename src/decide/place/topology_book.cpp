// decide/place/topology_book.cpp - what happens to nodes, pods and workloads, counted in every
// forest that it concerns.
#include "decide/place/topology_book.h"

#include <algorithm>

namespace muster::decide {

namespace {

using Path = TopologyForest::Path;

bool is_open(const Node& node) {
    return node.scheduling == Node::Scheduling::open && node.condition == Node::Condition::ready;
}

std::string hostname_of(const Node& node) {
    const auto found = node.labels.find(hostname_level);
    return found == node.labels.end() ? std::string() : found->second;
}

bool is_zero(const Amounts& amounts) {
    return std::all_of(amounts.begin(), amounts.end(), [](Amount a) { return a == Amount{}; });
}

}  // namespace

void TopologyBook::set_profile(TopologyProfile profile) {
    if (profile_ == profile) return;
    profile_ = profile;
    changed();
}

void TopologyBook::set_topology(const Topology& topology) {
    const auto known = topologies_.find(topology.name);
    if (known != topologies_.end() && known->second == topology) return;
    topologies_[topology.name] = topology;
    for (auto& [name, flavor] : flavors_) {
        if (flavor.spec.topology == topology.name) {
            flavor.forest = make_forest(flavor.spec, topology);
        }
    }
    changed();
}

void TopologyBook::remove_topology(const std::string& name) {
    if (topologies_.erase(name) == 0) return;
    for (auto& [flavor_name, flavor] : flavors_) {
        if (flavor.spec.topology == name) flavor.forest.reset();
    }
    changed();
}

void TopologyBook::set_flavor(const Flavor& flavor) {
    if (flavor.topology.empty()) {
        remove_flavor(flavor.name);
        return;
    }
    FlavorEntry& entry = flavors_[flavor.name];
    if (entry.spec == flavor) return;
    entry.spec = flavor;
    entry.forest.reset();
    const auto topology = topologies_.find(flavor.topology);
    if (topology != topologies_.end()) entry.forest = make_forest(flavor, topology->second);
    changed();
}

void TopologyBook::remove_flavor(const std::string& name) {
    if (flavors_.erase(name) > 0) changed();
}

TopologyForest TopologyBook::make_forest(const Flavor& flavor, const Topology& topology) {
    FlavorEntry made{flavor, TopologyForest(topology.levels)};
    for (const auto& entry : nodes_)
        enter(made, entry.value);
    return *std::move(made.forest);
}

std::vector<std::shared_ptr<const Node>> TopologyBook::nodes() const {
    std::vector<std::shared_ptr<const Node>> known;
    for (const auto& [name, entry] : nodes_) {
        if (entry.node != nullptr) known.push_back(entry.node);
    }
    return known;
}

TopologyBook::Concerned TopologyBook::set_node(const Node& node) {
    Concerned concerned;
    NodeEntry& entry = nodes_[node.name];
    if (entry.node != nullptr && *entry.node == node) return concerned;
    for (auto& [name, flavor] : flavors_) {
        if (leave(flavor, entry) == Serves::yes) concerned.insert(name);
    }
    if (entry.node != nullptr) {
        const std::string old_host = hostname_of(*entry.node);
        std::set<std::string>& sharing = hosts_[old_host];
        sharing.erase(node.name);
        if (sharing.empty()) hosts_.erase(old_host);
    }
    entry.node = std::make_shared<const Node>(node);
    hosts_[hostname_of(node)].insert(node.name);
    for (auto& [name, flavor] : flavors_) {
        if (enter(flavor, entry) == Serves::yes) concerned.insert(name);
    }
    changed();
    return concerned;
}

TopologyBook::Concerned TopologyBook::remove_node(const std::string& name) {
    Concerned concerned;
    NodeEntry* entry = nodes_.edit(name);
    if (entry == nullptr || entry->node == nullptr) return concerned;
    for (auto& [flavor_name, flavor] : flavors_) {
        if (leave(flavor, *entry) == Serves::yes) concerned.insert(flavor_name);
    }
    const std::string host = hostname_of(*entry->node);
    std::set<std::string>& sharing = hosts_[host];
    sharing.erase(name);
    if (sharing.empty()) hosts_.erase(host);
    entry->node = nullptr;
    if (is_zero(entry->others)) nodes_.erase(name);
    changed();
    return concerned;
}

std::optional<Path> TopologyBook::path_in(const FlavorEntry& flavor, const Node& node) const {
    if (!flavor.forest || !is_open(node)) return std::nullopt;
    for (const auto& [key, value] : flavor.spec.node_labels) {
        const auto found = node.labels.find(key);
        if (found == node.labels.end() || found->second != value) return std::nullopt;
    }
    return flavor.forest->path_of(node.labels);
}

TopologyBook::Serves TopologyBook::enter(FlavorEntry& flavor, const NodeEntry& entry) {
    if (entry.node == nullptr) return Serves::no;
    const auto path = path_in(flavor, *entry.node);
    if (!path) return Serves::no;
    TopologyForest& forest = *flavor.forest;
    const auto added = forest.add(*path, entry.node, gives(entry));
    if (!added.is_new) return Serves::yes;
    const Place place = place_of(flavor.spec.name, forest.levels(), *path);
    if (const Amounts* taken = taken_.find(place)) forest.change_taken(added.leaf, *taken, 1);
    return Serves::yes;
}

TopologyBook::Serves TopologyBook::leave(FlavorEntry& flavor, const NodeEntry& entry) {
    if (entry.node == nullptr) return Serves::no;
    const auto path = path_in(flavor, *entry.node);
    if (!path) return Serves::no;
    flavor.forest->remove(*path, entry.node->name, gives(entry));
    return Serves::yes;
}

/// What its node can give to pods that hold places.
Amounts TopologyBook::gives(const NodeEntry& entry) {
    Amounts amounts;
    const auto at = [&](std::string_view name) -> Amount& {
        const std::size_t i = index(resources_.id_of(name));
        if (amounts.size() <= i) amounts.resize(i + 1);
        return amounts[i];
    };
    at("pods") = unlimited();  // Unless the node says how many.
    for (const auto& [name, amount] : entry.node->allocatable)
        at(name) = amount;
    add_to(amounts, entry.others, -1);
    return amounts;
}

Amounts TopologyBook::amounts_of(const Resources& requests, std::int64_t pods) {
    for (const auto& [name, amount] : requests)
        resources_.id_of(name);
    resources_.id_of("pods");
    Amounts amounts;
    add_to(amounts, known_amounts_of(requests), pods);
    return amounts;
}

/// Of one pod. A resource that no node and no pod ever had stays out: see need_of.
Amounts TopologyBook::known_amounts_of(const Resources& requests) const {
    Amounts amounts(resources_.limit());
    for (const auto& [name, amount] : requests) {
        const auto id = resources_.find(name);
        if (id && amount.value > 0) amounts[index(*id)] = amount;
    }
    if (const auto pods = resources_.find("pods")) amounts[index(*pods)] = {1};
    return amounts;
}

void TopologyBook::bind(const std::string& pod, const std::string& node, const PodShape& shape,
                        const std::string& workload) {
    unbind(pod);
    PodEntry entry{node, workload, amounts_of(shape.requests, 1)};
    if (workload.empty() || !holds(workload)) count_other(entry, 1);
    if (!workload.empty()) pods_of_[workload].insert(pod);
    pods_.insert(pod, std::move(entry));
}

TopologyBook::Concerned TopologyBook::unbind(const std::string& pod) {
    Concerned concerned;
    const PodEntry* known = pods_.find(pod);
    if (known == nullptr) return concerned;
    const PodEntry entry = *known;
    pods_.erase(pod);
    if (entry.workload.empty() || !holds(entry.workload)) concerned = count_other(entry, -1);
    if (entry.workload.empty()) return concerned;
    std::set<std::string>& siblings = pods_of_[entry.workload];
    siblings.erase(pod);
    if (siblings.empty()) pods_of_.erase(entry.workload);
    return concerned;
}

TopologyBook::Concerned TopologyBook::count_other(const PodEntry& pod, std::int64_t times) {
    Concerned concerned;
    NodeEntry& entry = nodes_[pod.node];
    add_to(entry.others, pod.amounts, times);
    if (entry.node == nullptr) {
        if (is_zero(entry.others)) nodes_.erase(pod.node);
        return concerned;
    }
    for (auto& [name, flavor] : flavors_) {
        const auto path = path_in(flavor, *entry.node);
        if (!path) continue;
        const auto leaf = flavor.forest->find(*path);
        VERIFY(leaf.has_value());
        flavor.forest->change_given(*leaf, pod.amounts, -times);
        concerned.insert(name);
    }
    changed();
    return concerned;
}

void TopologyBook::hold(const std::string& workload, const std::vector<TopologyAsk>& asks,
                        const Assignments& assignments) {
    VERIFY(asks.size() == assignments.size());
    release(workload);
    std::vector<Held> held;
    for (std::size_t i = 0; i < asks.size(); ++i) {
        for (const TopologyAssignment::Domain& domain : assignments[i].domains) {
            if (domain.values.empty()) continue;
            held.push_back({place_of(asks[i].flavor, assignments[i].levels, domain.values),
                            amounts_of(asks[i].pod->requests, domain.count)});
        }
    }
    if (held.empty()) return;
    if (const auto* pods = pods_of_.find(workload)) {
        for (const std::string& pod : *pods)
            count_other(*pods_.find(pod), -1);
    }
    for (const Held& part : held) {
        count_held(part, 1);
        holders_[part.place].insert(workload);
    }
    held_.insert(workload, std::move(held));
}

void TopologyBook::release(const std::string& workload) {
    const std::vector<Held>* known = held_.find(workload);
    if (known == nullptr) return;
    const std::vector<Held> held = *known;
    held_.erase(workload);
    for (const Held& part : held) {
        count_held(part, -1);
        std::set<std::string>& sharing = holders_[part.place];
        sharing.erase(workload);
        if (sharing.empty()) holders_.erase(part.place);
    }
    if (const auto* pods = pods_of_.find(workload)) {
        for (const std::string& pod : *pods)
            count_other(*pods_.find(pod), 1);
    }
}

void TopologyBook::count_out(const std::string& workload) {
    const std::vector<Held>* held = held_.find(workload);
    if (held == nullptr) return;
    for (const Held& part : *held)
        count_held(part, -1);
}

void TopologyBook::count_in(const std::string& workload) {
    const std::vector<Held>* held = held_.find(workload);
    if (held == nullptr) return;
    for (const Held& part : *held)
        count_held(part, 1);
}

std::optional<std::string> TopologyBook::node_of(const std::string& pod) const {
    const PodEntry* entry = pods_.find(pod);
    if (entry == nullptr) return std::nullopt;
    return entry->node;
}

std::vector<std::string> TopologyBook::failed_hosts(const std::string& workload) const {
    std::set<std::string> failed;
    const std::vector<Held>* held = held_.find(workload);
    if (held == nullptr) return {};
    for (const Held& part : *held) {
        if (!part.place.first.empty()) continue;
        const std::string& host = part.place.second.front();
        const std::set<std::string>* sharing = hosts_.find(host);
        const bool lives =
            sharing != nullptr &&
            std::any_of(sharing->begin(), sharing->end(), [&](const std::string& name) {
                return nodes_.find(name)->node->condition == Node::Condition::ready ||
                       has_pod_on(workload, name);
            });
        if (!lives) failed.insert(host);
    }
    return {failed.begin(), failed.end()};
}

bool TopologyBook::has_pod_on(const std::string& workload, const std::string& node) const {
    const std::set<std::string>* pods = pods_of_.find(workload);
    if (pods == nullptr) return false;
    return std::any_of(pods->begin(), pods->end(),
                       [&](const std::string& pod) { return pods_.find(pod)->node == node; });
}

void TopologyBook::count_held(const Held& held, std::int64_t times) {
    Amounts& sum = taken_[held.place];
    add_to(sum, held.amounts, times);
    if (is_zero(sum)) taken_.erase(held.place);
    for (auto& [name, flavor] : flavors_) {
        if (const auto leaf = leaf_at(flavor, held.place)) {
            flavor.forest->change_taken(*leaf, held.amounts, times);
        }
    }
    changed();
}

std::optional<TopologyForest::Index> TopologyBook::leaf_at(const FlavorEntry& flavor,
                                                           const Place& place) const {
    if (!flavor.forest) return std::nullopt;
    if (!flavor.forest->leaves_are_nodes()) {
        if (place.first != flavor.spec.name) return std::nullopt;
        return flavor.forest->find(place.second);
    }
    if (!place.first.empty()) return std::nullopt;
    const std::set<std::string>* sharing = hosts_.find(place.second.front());
    if (sharing == nullptr) return std::nullopt;
    for (const std::string& name : *sharing) {
        const auto path = path_in(flavor, *nodes_.find(name)->node);
        if (path) return flavor.forest->find(*path);
    }
    return std::nullopt;
}

TopologyBook::Place TopologyBook::place_of(const std::string& flavor,
                                           const std::vector<std::string>& levels,
                                           const Path& values) {
    if (!levels.empty() && levels.back() == hostname_level) return {"", {values.back()}};
    return {flavor, values};
}

std::vector<std::string> TopologyBook::workloads_on(const std::string& hostname) const {
    const std::set<std::string>* found = holders_.find(Place{"", {hostname}});
    if (found == nullptr) return {};
    return {found->begin(), found->end()};
}

std::vector<std::string> TopologyBook::broken_invariants() const {
    std::vector<std::string> broken;
    std::map<Place, Amounts> sums;
    for (const auto& entry : held_) {
        for (const Held& part : entry.value)
            add_to(sums[part.place], part.amounts);
    }
    const auto says = [](const Place& place) {
        return place.first + "/" + (place.second.empty() ? "" : place.second.back());
    };
    const auto equal = [](const Amounts& a, const Amounts& b) {
        Amounts difference = a;
        add_to(difference, b, -1);
        return is_zero(difference);
    };
    for (const auto& [place, sum] : sums) {
        const Amounts* taken = taken_.find(place);
        if (!equal(sum, taken == nullptr ? Amounts{} : *taken)) {
            broken.push_back("topology: " + says(place) + " is not what its workloads hold");
        }
    }
    if (taken_.size() > sums.size()) broken.emplace_back("topology: something is taken by nobody");
    for (const auto& [name, flavor] : flavors_) {
        if (!flavor.forest) continue;
        FlavorEntry anew{flavor.spec, TopologyForest(flavor.forest->levels())};
        TopologyBook copy = *this;
        for (const auto& entry : nodes_)
            copy.enter(anew, entry.value);
        bool same = anew.forest->leaves().size() == flavor.forest->leaves().size();
        for (TopologyForest::Index leaf = 0; same && leaf < anew.forest->leaves().size(); ++leaf) {
            for (std::size_t i = 0; i < resources_.limit(); ++i) {
                same &= anew.forest->given(leaf, i) == flavor.forest->given(leaf, i) &&
                        anew.forest->taken(leaf, i) == flavor.forest->taken(leaf, i);
            }
        }
        if (!same) broken.push_back("topology: the forest of " + name + " is not what it would be");
    }
    return broken;
}

std::vector<std::string> TopologyBook::overfull() const {
    std::vector<std::string> found;
    for (const auto& [name, flavor] : flavors_) {
        if (!flavor.forest) continue;
        for (TopologyForest::Index leaf = 0; leaf < flavor.forest->leaves().size(); ++leaf) {
            for (std::size_t i = 0; i < resources_.limit(); ++i) {
                if (flavor.forest->taken(leaf, i) <=
                    std::max(Amount{}, flavor.forest->given(leaf, i)))
                    continue;
                found.push_back("topology: " + flavor.forest->leaves()[leaf].path->back() +
                                " of flavor " + name + " has given more " +
                                resources_.name_of(static_cast<ResourceId>(i)) + " than it has");
            }
        }
    }
    return found;
}

}  // namespace muster::decide
