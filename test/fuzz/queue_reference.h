// test/fuzz/queue_reference.h - the rules of the queues once more, slow and plain: every sum is
// made anew for every question.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "decide/cycle.h"

namespace muster::fuzz {

/// What the objects say. Queues have one resource group; their flavors are tried in its order.
struct QueueReference {
    struct Job {
        decide::Workload spec;
        enum class State { waiting, holding, evicting } state = State::waiting;
        bool removed = false;               // Its object is gone, what it holds is not.
        std::optional<std::string> flavor;  // While it holds something.
        std::int64_t reserved = 0;
    };

    std::map<std::string, decide::Cohort> cohorts;
    std::map<std::string, decide::ClusterQueue> queues;  // Their local queues have their names.
    std::map<std::string, Job> jobs;

    /// The parent of a queue or cohort; absent at the root.
    std::optional<std::string> parent_of(const std::string& node) const;
    std::string root_of(const std::string& node) const;
    std::vector<std::string> children_of(const std::string& node) const;
    decide::Quota quota(const std::string& node, const std::string& flavor,
                        const std::string& resource) const;

    // The definitions, in the words of decide/quota/tree.h.
    std::int64_t subtree(const std::string& node, const std::string& flavor,
                         const std::string& resource) const;
    std::int64_t local(const std::string& node, const std::string& flavor,
                       const std::string& resource) const;
    std::int64_t usage(const std::string& node, const std::string& flavor,
                       const std::string& resource) const;
    std::int64_t available(const std::string& node, const std::string& flavor,
                           const std::string& resource) const;

    /// The first flavor of which it finds all that it needs free.
    std::optional<std::string> fits(const Job& job) const;
    bool fits_flavor(const Job& job, const std::string& flavor) const;

    bool may_start(const Job& job) const;
    /// Those that wait in the queue and may start, first first.
    std::vector<std::string> order(const std::string& queue) const;
    /// The preemptor's queue may take the victim's place.
    bool may_preempt(const Job& preemptor, const Job& victim) const;
    /// No queue of the tree preempts or is strict, and nobody in it is leaving.
    bool is_plain(const std::string& root) const;
};

}  // namespace muster::fuzz
