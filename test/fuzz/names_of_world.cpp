// test/fuzz/names_of_world.cpp - renames what changes of random lives name.
#include "test/fuzz/names_of_world.h"

#include <variant>
#include <vector>

#include "base/verify.h"

namespace muster::fuzz {

namespace {

struct Rename {
    const NamesOfWorld& names;

    void name(std::string& text) const { text = names.of(text); }

    void values(decide::Labels& labels) const {
        for (auto& [key, value] : labels)
            name(value);
    }

    void groups(std::vector<decide::ResourceGroup>& all) const {
        for (decide::ResourceGroup& group : all) {
            for (decide::FlavorQuotas& flavor : group.flavors)
                name(flavor.flavor);
        }
    }

    void operator()(decide::OptionsSet&) const {}
    void operator()(decide::QueueSet& change) const {
        name(change.queue.name);
        name(change.queue.cohort);
        groups(change.queue.groups);
        for (decide::CheckRule& rule : change.queue.checks) {
            name(rule.name);
            for (std::string& flavor : rule.flavors)
                name(flavor);
        }
    }
    void operator()(decide::CohortSet& change) const {
        name(change.cohort.name);
        name(change.cohort.parent);
        groups(change.cohort.groups);
    }
    void operator()(decide::LocalQueueSet& change) const {
        name(change.queue.ns);
        name(change.queue.name);
        name(change.queue.cluster_queue);
    }
    void operator()(decide::FlavorSet& change) const {
        name(change.flavor.name);
        name(change.flavor.topology);
        values(change.flavor.node_labels);
    }
    void operator()(decide::TopologySet& change) const { name(change.topology.name); }
    void operator()(decide::AdmissionCheckSet& change) const { name(change.check.name); }
    void operator()(decide::NodeSet& change) const {
        name(change.node.name);
        values(change.node.labels);
    }
    void operator()(decide::WorkloadSet& change) const {
        name(change.workload.id);
        name(change.workload.ns);
        name(change.workload.local_queue);
        for (decide::PodSet& set : change.workload.pod_sets)
            values(set.pod.node_selector);
    }
    void operator()(decide::WorkloadAdmitted& change) const {
        name(change.id);
        change.assignment = names.of(std::move(change.assignment));
    }
    void operator()(decide::QueueRemoved& change) const { name(change.name); }
    void operator()(decide::CohortRemoved& change) const { name(change.name); }
    void operator()(decide::NodeRemoved& change) const { name(change.name); }
    void operator()(decide::WorkloadRemoved& change) const { name(change.id); }
    void operator()(decide::WorkloadEvicted& change) const { name(change.id); }
    void operator()(decide::WorkloadReleased& change) const { name(change.id); }
    void operator()(decide::WorkloadFinished& change) const { name(change.id); }
    void operator()(decide::WorkloadFailed& change) const { name(change.id); }
    template <class Other>
    void operator()(Other&) const {
        VERIFY(!"random lives do not do this");
    }
};

}  // namespace

decide::Assignment NamesOfWorld::of(decide::Assignment assignment) const {
    assignment.cluster_queue = of(assignment.cluster_queue);
    for (decide::PodSetAssignment& set : assignment.pod_sets) {
        for (auto& [resource, flavor] : set.flavors)
            flavor = of(flavor);
        if (!set.topology) continue;
        for (auto& domain : set.topology->domains) {
            for (std::string& value : domain.values)
                value = of(value);
        }
    }
    return assignment;
}

decide::Change NamesOfWorld::of(const decide::Change& change) const {
    decide::Change renamed = change;
    std::visit(Rename{*this}, renamed);
    return renamed;
}

}  // namespace muster::fuzz
