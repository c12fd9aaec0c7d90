// decide/place/book_text.cpp - what nodes and topologies have given to whom, as text by name: for
// comparing states.
#include <algorithm>

#include "base/text.h"
#include "decide/place/ledger.h"
#include "decide/place/topology_book.h"
#include "decide/structure_text.h"

namespace muster::decide {

namespace {

/// "cpu=3 memory=2", without zeros, by name.
template <class Name>
std::string amounts_text(const std::vector<Amount>& amounts, const Name& name) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < amounts.size(); ++i) {
        if (amounts[i].value != 0)
            words.push_back(name(static_cast<ResourceId>(i)) + "=" +
                            std::to_string(amounts[i].value));
    }
    std::sort(words.begin(), words.end());
    return join(words, " ");
}

}  // namespace

std::vector<std::string> Seats::lines() const {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const Slot& slot = slots_[i];
        const std::string used =
            amounts_text(slot.used, [this](ResourceId id) { return resources_.name_of(id); });
        if (!slot.node && used.empty() && slot.pods.empty()) continue;
        std::vector<std::string> pods;
        for (const auto& pod : slot.pods)
            pods.push_back(structure_text(*pod));
        std::sort(pods.begin(), pods.end());
        all.push_back("node " + names_.name_of(static_cast<NodeId>(i)) + " " +
                      (slot.node ? structure_text(*slot.node) : "unknown") + " used " + used +
                      " by " + join(pods, " "));
    }
    std::sort(all.begin(), all.end());
    return all;
}

std::vector<std::string> Ledger::lines() const {
    std::vector<std::string> all = seats_.lines();
    const auto names_of = [this](const auto& nodes) {
        std::vector<std::string> names;
        for (const NodeId node : nodes)
            names.push_back(seats_.name_of(node));
        std::sort(names.begin(), names.end());
        return join(names, " ");
    };
    for (const auto& [pod, bound] : bound_) {
        all.push_back("pod " + pod + " on " + seats_.name_of(bound.node) + " of " + bound.workload +
                      "/" + bound.pod_set + " " + structure_text(*bound.need.shape));
    }
    visit_promises([&](WorkloadId, const Promise& promise) {
        for (const PromisedSet& set : promise.sets.empty() ? promise.new_sets() : promise.sets) {
            all.push_back("promise " + *promise.name.text + "/" + set.of->name + " " +
                          std::to_string(set.unbound) + " of " + std::to_string(set.count) +
                          " seats " + names_of(set.seats) + " " + structure_text(*set.of->pod));
        }
    });
    for (const auto& [workload, entry] : rebound_)
        all.push_back("rebound " + workload + " " + names_of(entry.nodes));
    // Of nodes that changed only those show where somebody sits who has to move.
    for (const NodeId node : crowded_) {
        bool in_use = false;
        visit_promises([&](WorkloadId, const Promise& promise) {
            for (const PromisedSet& set : promise.sets)
                in_use |= std::find(set.seats.begin(), set.seats.end(), node) != set.seats.end();
        });
        if (in_use && seats_.is_overfull(node)) all.push_back("crowded " + seats_.name_of(node));
    }
    std::sort(all.begin(), all.end());
    return all;
}

std::vector<std::string> TopologyBook::lines() const {
    const auto text = [this](const Amounts& amounts) {
        return amounts_text(amounts, [this](ResourceId id) { return resources_.name_of(id); });
    };
    const auto says = [](const Place& place) {
        return place.first + "/" + join(place.second, "/");
    };
    std::vector<std::string> all;
    for (const auto& [name, topology] : topologies_)
        all.push_back("levels of " + name + " " + join(topology.levels, " "));
    for (const auto& [name, flavor] : flavors_) {
        if (!flavor.forest) continue;
        for (TopologyForest::Index leaf = 0; leaf < flavor.forest->leaves().size(); ++leaf) {
            Amounts given;
            Amounts taken;
            for (std::size_t i = 0; i < resources_.limit(); ++i) {
                given.push_back(flavor.forest->given(leaf, i));
                taken.push_back(flavor.forest->taken(leaf, i));
            }
            all.push_back("leaf of " + name + " " + join(*flavor.forest->leaves()[leaf].path, "/") +
                          " gives " + text(given) + " taken " + text(taken));
        }
    }
    for (const auto& [name, entry] : nodes_) {
        all.push_back("node " + name + " " +
                      (entry.node == nullptr ? "unknown" : structure_text(*entry.node)) +
                      " others " + text(entry.others));
    }
    for (const auto& [pod, entry] : pods_)
        all.push_back("pod " + pod + " on " + entry.node + " of " + entry.workload + " " +
                      text(entry.amounts));
    for (const auto& [workload, parts] : held_) {
        std::string words = "held by " + workload;
        for (const Held& part : parts)
            words += " " + says(part.place) + " " + text(part.amounts);
        all.push_back(std::move(words));
    }
    for (const auto& [place, amounts] : taken_)
        all.push_back("taken " + says(place) + " " + text(amounts));
    for (const auto& [place, workloads] : holders_) {
        if (!workloads.empty())
            all.push_back("holders " + says(place) + " " +
                          join(std::vector<std::string>(workloads.begin(), workloads.end()), " "));
    }
    return all;
}

}  // namespace muster::decide
