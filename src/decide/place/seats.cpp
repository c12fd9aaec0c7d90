// decide/place/seats.cpp - the rules of kube-scheduler's filters, and a score that packs GPUs.
#include "decide/place/seats.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace muster::decide {

namespace {

const Taint cordon_taint{"node.kubernetes.io/unschedulable", "", Taint::Effect::no_schedule};

bool port_conflict(const HostPort& a, const HostPort& b) {
    const auto all = [](const HostPort& p) { return p.address.empty() || p.address == "0.0.0.0"; };
    return a.port == b.port && a.protocol == b.protocol &&
           (all(a) || all(b) || a.address == b.address);
}

bool ports_free(const std::vector<std::shared_ptr<const PodShape>>& pods, const PodShape& shape) {
    for (const HostPort& wanted : shape.host_ports) {
        for (const auto& pod : pods) {
            const auto& taken = pod->host_ports;
            if (std::any_of(taken.begin(), taken.end(),
                            [&](const HostPort& p) { return port_conflict(p, wanted); })) {
                return false;
            }
        }
    }
    return true;
}

bool term_matches(const PodTerm& term, const std::string& own_ns, const PodShape& pod) {
    const bool in_namespace = term.namespaces.empty()
                                  ? pod.ns == own_ns
                                  : std::find(term.namespaces.begin(), term.namespaces.end(),
                                              pod.ns) != term.namespaces.end();
    return in_namespace && matches(term.selector, pod.labels);
}

const std::string* label(const Labels& labels, const std::string& key) {
    const auto found = labels.find(key);
    return found == labels.end() ? nullptr : &found->second;
}

}  // namespace

bool is_accelerator(std::string_view resource) {
    return resource != "cpu" && resource != "memory" && resource != "pods" &&
           resource != "storage" && resource != "ephemeral-storage" &&
           !resource.starts_with("hugepages-");
}

NodeId Seats::node_id(std::string_view name) {
    const NodeId id = names_.id_of(name);
    if (slots_.size() < names_.limit()) slots_.resize(names_.limit());
    return id;
}

bool Seats::set_node(const Node& node) {
    Slot& slot = slots_[index(node_id(node.name))];
    if (slot.node && *slot.node == node) return false;
    slot.node = node;
    slot.allocatable.clear();
    slot.pod_limit = std::numeric_limits<std::int64_t>::max();
    slot.has_accelerators = false;
    for (const auto& [name, amount] : node.allocatable) {
        if (name == "pods") {
            slot.pod_limit = amount.value;
            continue;
        }
        const ResourceId resource = resources_.id_of(name);
        if (slot.allocatable.size() <= index(resource)) {
            slot.allocatable.resize(index(resource) + 1);
        }
        slot.allocatable[index(resource)] = amount;
        slot.has_accelerators |= is_accelerator(name) && amount.value > 0;
    }
    return true;
}

void Seats::remove_node(std::string_view name) {
    if (const auto id = names_.find(name)) slots_[index(*id)].node.reset();
}

Need Seats::need_of(std::shared_ptr<const PodShape> shape) {
    Need need;
    for (const auto& [name, amount] : shape->requests) {
        if (name == "pods" || amount.value <= 0) continue;
        const ResourceId resource = resources_.id_of(name);
        need.requests.emplace_back(resource, amount);
        if (is_accelerator(name)) need.accelerators.push_back(resource);
    }
    need.shape = std::move(shape);
    return need;
}

std::optional<NodeId> Seats::best(const Need& need, std::string_view only) const {
    const auto cpu = resources_.find("cpu");
    const auto memory = resources_.find("memory");
    using Score = std::tuple<Amount, bool, Amount, Amount>;
    std::optional<std::pair<Score, NodeId>> best;
    // In the order of names, so that the first name wins a tie.
    for (const auto& [name, id] : names_.by_name()) {
        const Slot& slot = slots_[index(id)];
        if (!takes(slot, need, only)) continue;
        const auto left = [&](ResourceId r) { return at(slot.allocatable, r) - at(slot.used, r); };
        Amount accelerators;
        for (const ResourceId r : need.accelerators)
            accelerators += left(r);
        const Score score{accelerators, need.accelerators.empty() && slot.has_accelerators,
                          cpu ? left(*cpu) : Amount{}, memory ? left(*memory) : Amount{}};
        if (!best || score < best->first) best.emplace(score, id);
    }
    if (!best) return std::nullopt;
    return best->second;
}

void Seats::take(NodeId node, const Need& need) {
    Slot& slot = slots_[index(node)];
    for (const auto& [resource, amount] : need.requests) {
        if (slot.used.size() <= index(resource)) slot.used.resize(index(resource) + 1);
        slot.used[index(resource)] += amount;
    }
    slot.pods.push_back(need.shape);
    if (!need.shape->anti_affinity.empty()) ++anti_affine_pods_;
}

void Seats::give(NodeId node, const Need& need) {
    Slot& slot = slots_[index(node)];
    const auto pod = std::find(slot.pods.begin(), slot.pods.end(), need.shape);
    VERIFY(pod != slot.pods.end());
    for (const auto& [resource, amount] : need.requests)
        slot.used[index(resource)] -= amount;
    *pod = slot.pods.back();
    slot.pods.pop_back();
    if (!need.shape->anti_affinity.empty()) --anti_affine_pods_;
}

std::vector<Refusal> Seats::refusals(const Need& need, std::string_view only) const {
    std::vector<Refusal> all;
    for (const auto& [name, id] : names_.by_name()) {
        const Slot& slot = slots_[index(id)];
        if (!slot.node) continue;
        if (auto refused = refusal(slot, need, only)) all.push_back(std::move(*refused));
    }
    return all;
}

bool Seats::is_overfull(NodeId node) const {
    const Slot& slot = slots_[index(node)];
    if (!slot.node) return true;
    if (static_cast<std::int64_t>(slot.pods.size()) > slot.pod_limit) return true;
    for (std::size_t i = 0; i < slot.used.size(); ++i) {
        const auto resource = static_cast<ResourceId>(i);
        if (at(slot.used, resource) > at(slot.allocatable, resource)) return true;
    }
    return false;
}

Seats Seats::emptied() const {
    Seats empty = *this;
    for (Slot& slot : empty.slots_) {
        slot.used.clear();
        slot.pods.clear();
    }
    empty.anti_affine_pods_ = 0;
    return empty;
}

Amount Seats::allocatable(ResourceId resource) const {
    Amount sum;
    for (const Slot& slot : slots_) {
        if (!slot.node || slot.node->scheduling == Node::Scheduling::cordoned) continue;
        sum += at(slot.allocatable, resource);
    }
    return sum;
}

Amount Seats::taken(ResourceId resource) const {
    Amount sum;
    for (const Slot& slot : slots_) {
        if (!slot.node || slot.node->scheduling == Node::Scheduling::cordoned) continue;
        sum += at(slot.used, resource);
    }
    return sum;
}

std::optional<ResourceId> Seats::find_resource(std::string_view name) const {
    return resources_.find(name);
}

Amount Seats::free_on(NodeId node, ResourceId resource) const {
    const Slot& slot = slots_[index(node)];
    return at(slot.allocatable, resource) - at(slot.used, resource);
}

Amount Seats::at(const std::vector<Amount>& amounts, ResourceId resource) {
    return index(resource) < amounts.size() ? amounts[index(resource)] : Amount{};
}

// The same rules as `refusal`, the cheap and telling ones first.
bool Seats::takes(const Slot& slot, const Need& need, std::string_view only) const {
    if (!slot.node || static_cast<std::int64_t>(slot.pods.size()) >= slot.pod_limit) return false;
    for (const auto& [resource, amount] : need.requests) {
        if (at(slot.allocatable, resource) - at(slot.used, resource) < amount) return false;
    }
    return !refusal(slot, need, only).has_value();
}

std::optional<Refusal> Seats::refusal(const Slot& slot, const Need& need,
                                      std::string_view only) const {
    const Node& node = *slot.node;
    const PodShape& shape = *need.shape;
    Refusal refused;
    refused.node = node.name;
    const auto because = [&](Refusal::Rule rule) {
        refused.rule = rule;
        return refused;
    };
    if (node.scheduling == Node::Scheduling::cordoned &&
        !tolerates(shape.tolerations, cordon_taint)) {
        return because(Refusal::Rule::cordoned);
    }
    if (!only.empty() && only != node.name) return because(Refusal::Rule::other_node);
    if (const Taint* taint = untolerated(node.taints, shape.tolerations)) {
        refused.taint = *taint;
        return because(Refusal::Rule::untolerated_taint);
    }
    if (!selects_node(shape, node.labels, node.name)) {
        return because(Refusal::Rule::node_affinity);
    }
    if (!ports_free(slot.pods, shape)) return because(Refusal::Rule::host_ports);
    refused.lacks = lacks(slot, need);
    if (static_cast<std::int64_t>(slot.pods.size()) >= slot.pod_limit) {
        return because(Refusal::Rule::too_many_pods);
    }
    if (!refused.lacks.empty()) return because(Refusal::Rule::insufficient);
    if (const auto rule = affinity_refusal(slot, shape)) return because(*rule);
    return std::nullopt;
}

std::vector<Refusal::Lack> Seats::lacks(const Slot& slot, const Need& need) const {
    std::vector<Refusal::Lack> short_of;
    for (const auto& [resource, amount] : need.requests) {
        const Amount free = at(slot.allocatable, resource) - at(slot.used, resource);
        if (free >= amount) continue;
        short_of.push_back({.resource = resources_.name_of(resource),
                            .needed = amount,
                            .free = std::max(free, Amount{}),
                            .allocatable = at(slot.allocatable, resource)});
    }
    return short_of;
}

std::optional<Refusal::Rule> Seats::affinity_refusal(const Slot& slot,
                                                     const PodShape& shape) const {
    for (const PodTerm& term : shape.affinity) {
        if (label(slot.node->labels, term.topology_key) == nullptr) {
            return Refusal::Rule::pod_affinity;
        }
        // The first of a group that wants to be near itself may sit anywhere.
        const bool first = term_matches(term, shape.ns, shape) && !any_match(term, shape.ns);
        if (!first && !near_match(slot, term, shape.ns)) return Refusal::Rule::pod_affinity;
    }
    for (const PodTerm& term : shape.anti_affinity) {
        if (near_match(slot, term, shape.ns)) return Refusal::Rule::pod_anti_affinity;
    }
    if (anti_affine_pods_ == 0) return std::nullopt;
    for (const Slot& other : slots_) {
        if (!other.node) continue;
        for (const auto& pod : other.pods) {
            for (const PodTerm& term : pod->anti_affinity) {
                const std::string* there = label(other.node->labels, term.topology_key);
                const std::string* here = label(slot.node->labels, term.topology_key);
                if (there != nullptr && here != nullptr && *there == *here &&
                    term_matches(term, pod->ns, shape)) {
                    return Refusal::Rule::existing_anti_affinity;
                }
            }
        }
    }
    return std::nullopt;
}

bool Seats::near_match(const Slot& slot, const PodTerm& term, const std::string& own_ns) const {
    const std::string* here = label(slot.node->labels, term.topology_key);
    if (here == nullptr) return false;
    return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& other) {
        if (!other.node) return false;
        const std::string* there = label(other.node->labels, term.topology_key);
        return there != nullptr && *there == *here &&
               std::any_of(other.pods.begin(), other.pods.end(),
                           [&](const auto& pod) { return term_matches(term, own_ns, *pod); });
    });
}

bool Seats::any_match(const PodTerm& term, const std::string& own_ns) const {
    return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
        return std::any_of(slot.pods.begin(), slot.pods.end(),
                           [&](const auto& pod) { return term_matches(term, own_ns, *pod); });
    });
}

}  // namespace muster::decide
