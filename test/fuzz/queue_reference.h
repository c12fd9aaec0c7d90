// test/fuzz/queue_reference.h - the rules of the queues once more, slow and plain: every sum is
// made anew for every question.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "decide/cycle.h"

namespace muster::fuzz {

/// What the objects say, and what follows from it by the definitions.
struct QueueReference {
    struct Job {
        decide::Workload spec;
        enum class State { waiting, holding, evicting } state = State::waiting;
        bool removed = false;                         // Its object is gone, what it holds is not.
        std::optional<decide::Assignment> held = {};  // While it holds something.

        std::int64_t pods_of_last() const {
            return spec.pod_sets.back().count - spec.pod_sets.back().reclaimable;
        }
    };
    /// A flavor and a resource, and how much of it.
    using What = std::pair<std::string, std::string>;
    using Needs = std::map<What, std::int64_t>;

    std::map<std::string, decide::Cohort> cohorts;
    std::map<std::string, decide::ClusterQueue> queues;
    std::map<std::string, decide::LocalQueue> locals;  // All in the namespace default.
    std::map<std::string, decide::Flavor> flavors;
    std::map<std::string, decide::AdmissionCheck> checks;
    std::map<std::string, decide::Node> nodes;
    std::map<std::string, Job> jobs;

    /// The parent of a queue or cohort; absent at the root, and where the way up ends in a circle.
    std::optional<std::string> parent_of(const std::string& node) const;
    bool in_circle(const std::string& node) const;
    std::string root_of(const std::string& node) const;
    std::vector<std::string> children_of(const std::string& node) const;
    decide::Quota quota(const std::string& node, const What& what) const;

    // The definitions, in the words of decide/quota/tree.h.
    std::int64_t subtree(const std::string& node, const What& what) const;
    std::int64_t local(const std::string& node, const What& what) const;
    std::int64_t usage(const std::string& node, const What& what) const;
    std::int64_t available(const std::string& node, const What& what) const;

    /// Of the cluster queue of its local queue; empty: it has none.
    std::string queue_of(const Job& job) const;
    /// What an assignment takes, less what is reclaimable since.
    Needs needs_of(const Job& job, const decide::Assignment& assignment) const;
    /// All of it is free.
    bool is_free(const std::string& queue, const Needs& needs) const;
    /// With that much more its queue uses more than its own of something.
    bool borrows(const std::string& queue, const Needs& needs) const;

    /// Whatever flavors its earlier pod sets take, the next one finds one, and in topologies a
    /// place: no way to search can miss it. With so many pods of its last pod set, if said.
    bool always_fits(const Job& job, std::optional<std::int64_t> fewer = {}) const;
    bool flavor_allows(const Job& job, const decide::PodSet& set, const std::string& flavor) const;
    /// Room for the pods in the topology, over all workloads that have places there.
    bool has_places(const decide::PodSet& set, std::int64_t count) const;
    /// What is left of a node, less all places that are held there.
    std::int64_t free_on(const decide::Node& node, const std::string& resource) const;

    /// The queue has admission checks for what is given.
    bool has_checks(const std::string& queue, const decide::Assignment& assignment) const;

    bool is_active(const std::string& queue) const;
    bool may_start(const Job& job) const;
    /// It has to stop, whoever wants its place.
    bool must_go(const Job& job) const;
    /// Those that wait in the queue and may start, first first.
    std::vector<std::string> order(const std::string& queue) const;
    /// The preemptor's queue may take the victim's place.
    bool may_preempt(const Job& preemptor, const Job& victim) const;
    /// No queue of the tree preempts or is strict, and nobody in it is leaving.
    bool is_plain(const std::string& root) const;
};

}  // namespace muster::fuzz
