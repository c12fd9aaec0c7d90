// decide/remedy_text.cpp - what would let a waiting workload start, in words.
#include <string>

#include "decide/why_text.h"

namespace muster::decide {

namespace {

using Verdict = Explanation::Verdict;

// Why there is no remedy.
std::string no_remedy_text(const Explanation& explanation) {
    if (explanation.changes_tried > 0) {
        return "none of " + std::to_string(explanation.changes_tried) +
               " single changes that were tried (quotas, limits, priority, ends of others, nodes)";
    }
    if (explanation.verdict == Verdict::starts_by_itself) return "nothing needs to be done";
    return "no change of quotas, priorities or nodes; what is named above must be mended";
}

}  // namespace

std::string change_text(const Remedy& remedy) {
    using Kind = Remedy::Kind;
    const std::string amount = amount_text(remedy.resource, remedy.amount);
    const std::string of_flavor = remedy.resource + " in flavor " + remedy.flavor;
    const auto pods = [&remedy] {
        return std::to_string(remedy.amount.value) + (remedy.amount.value == 1 ? " pod" : " pods");
    };
    switch (remedy.kind) {
        case Kind::none:
            return {};
        case Kind::raise_quota:
            return "raise the quota of " + of_flavor + " of ClusterQueue " + remedy.queue + " by " +
                   amount;
        case Kind::raise_borrowing_limit:
            return "raise the borrowing limit of " + of_flavor + " of ClusterQueue " +
                   remedy.queue + " by " + amount;
        case Kind::cover_resource:
            return "give ClusterQueue " + remedy.queue + " a quota of " + amount + " " + of_flavor;
        case Kind::raise_priority:
            return "raise its priority to " + std::to_string(remedy.priority);
        case Kind::tolerate_taint:
            return "let ResourceFlavor " + remedy.flavor + " tolerate the taint " + remedy.taint;
        case Kind::fit_flavor:
            return "let the pods of " + remedy.pod_set + " select nodes of ResourceFlavor " +
                   remedy.flavor;
        case Kind::fewer_pods:
            return "start " + pods() + " fewer of " + remedy.pod_set;
        case Kind::ask_less:
            return "ask for " + amount + " " + remedy.resource + " less in each pod of " +
                   remedy.pod_set;
        case Kind::open_gate:
            return "open its gate";
        case Kind::add_node:
            return "add a node like " + remedy.node + " with room for " +
                   std::to_string(remedy.amount.value) +
                   (remedy.amount.value == 1 ? " of its pods" : " of its pods together");
        case Kind::add_capacity:
            return "add " + amount + " " + remedy.resource +
                   (remedy.node.empty() ? " of node capacity" : " to node " + remedy.node);
        case Kind::end_workload:
            return "end " + remedy.workload;
        case Kind::resume_queue:
            return "set stopPolicy of " + remedy.queue + " to None";
        case Kind::activate:
            return "set spec.active of its Workload to true";
        case Kind::label_namespace:
            return "label namespace " + remedy.ns + " with " + remedy.label +
                   ", which ClusterQueue " + remedy.queue + " demands";
        case Kind::create_queue:
            return remedy.queue.empty() ? "name a queue" : "create queue " + remedy.queue;
        case Kind::create_flavor:
            return "create ResourceFlavor " + remedy.flavor;
        case Kind::create_topology:
            return "create Topology " + remedy.missing;
        case Kind::create_check:
            return "create AdmissionCheck " + remedy.missing;
    }
    return {};
}

std::string remedy_text(const Explanation& explanation) {
    const std::string help = change_text(explanation.remedy);
    if (help.empty()) return "would start it now: " + no_remedy_text(explanation);
    return (explanation.remedy.starts_it ? "would start it now: " : "needs first: ") + help;
}

}  // namespace muster::decide
