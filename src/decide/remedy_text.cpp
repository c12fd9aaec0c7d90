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

std::string change_text(const Remedy& remedy) {
    switch (remedy.kind) {
        case Remedy::Kind::none:
            return {};
        case Remedy::Kind::raise_quota:
            return "raise the quota of " + remedy.resource + " in flavor " + remedy.flavor +
                   " of cluster queue " + remedy.queue + " by " +
                   amount_text(remedy.resource, remedy.amount);
        case Remedy::Kind::raise_borrowing_limit:
            return "raise the borrowing limit of " + remedy.resource + " in flavor " +
                   remedy.flavor + " of cluster queue " + remedy.queue + " by " +
                   amount_text(remedy.resource, remedy.amount);
        case Remedy::Kind::cover_resource:
            return "give cluster queue " + remedy.queue + " a quota of " +
                   amount_text(remedy.resource, remedy.amount) + " " + remedy.resource +
                   " in flavor " + remedy.flavor;
        case Remedy::Kind::raise_priority:
            return "raise its priority to " + std::to_string(remedy.priority);
        case Remedy::Kind::tolerate_taint:
            return "let resource flavor " + remedy.flavor + " tolerate the taint " + remedy.taint;
        case Remedy::Kind::add_node:
            return "add a node like " + remedy.node + " with room for " +
                   std::to_string(remedy.amount.value) +
                   (remedy.amount.value == 1 ? " of its pods" : " of its pods together");
        case Remedy::Kind::end_workload:
            return "end " + remedy.workload;
        case Remedy::Kind::resume_queue:
            return "set stopPolicy of " + remedy.queue + " to None";
        case Remedy::Kind::activate:
            return "set spec.active to true";
        case Remedy::Kind::create_queue:
            return remedy.queue.empty() ? "name a queue" : "create queue " + remedy.queue;
        case Remedy::Kind::create_flavor:
            return "create resource flavor " + remedy.flavor;
        case Remedy::Kind::add_capacity:
            return "add " + amount_text(remedy.resource, remedy.amount) + " " + remedy.resource +
                   (remedy.node.empty() ? " of node capacity" : " to node " + remedy.node);
    }
    return {};
}

}  // namespace

std::string remedy_text(const Explanation& explanation) {
    const std::string help = change_text(explanation.remedy);
    if (help.empty()) return "would start it now: " + no_remedy_text(explanation);
    return (explanation.remedy.starts_it ? "would start it now: " : "needs first: ") + help;
}

}  // namespace muster::decide
