// decide/scenario_write.cpp - the inverse of the scenario verbs.
#include "decide/scenario_write.h"

#include "base/text.h"

namespace muster::decide {

namespace {

std::string amount_word(const std::string& resource, Amount amount) {
    return std::to_string(amount.value) + (resource == "cpu" ? "m" : "");
}

std::string weight_word(FairWeight weight) {
    constexpr std::int64_t one = 1'000'000'000;
    std::string digits = std::to_string(one + weight.nanos % one).substr(1);
    return std::to_string(weight.nanos / one) + "." + digits;
}

std::string stop_word(StopPolicy stop) {
    if (stop == StopPolicy::none) return "";
    return stop == StopPolicy::hold ? " stop=hold" : " stop=hold_and_drain";
}

std::string labels_words(const std::string& word, const Labels& labels) {
    std::string text;
    for (const auto& [key, value] : labels)
        text += " " + word + "=" + key + ":" + value;
    return text;
}

std::string level_word(const std::string& label) {
    return label == hostname_level ? "host" : label;
}

std::string resources_words(const Resources& resources) {
    std::string text;
    for (const auto& [resource, amount] : resources)
        text += " " + resource + "=" + amount_word(resource, amount);
    return text;
}

std::string quota_words(const std::vector<ResourceGroup>& groups) {
    std::string text;
    for (const ResourceGroup& group : groups) {
        if (&group != &groups.front()) text += " group";
        for (const FlavorQuotas& flavor : group.flavors) {
            text += " flavor=" + flavor.flavor;
            for (const auto& [resource, quota] : flavor.resources) {
                text += " " + resource + "=" + amount_word(resource, quota.nominal);
                if (quota.borrowing_limit)
                    text += ",borrow=" + amount_word(resource, *quota.borrowing_limit);
                if (quota.lending_limit)
                    text += ",lend=" + amount_word(resource, *quota.lending_limit);
            }
        }
    }
    return text;
}

std::string policy_words(const ClusterQueue& queue) {
    using Search = FlavorFungibility::Search;
    using Preference = FlavorFungibility::Preference;
    const Preemption& policy = queue.preemption;
    std::string text;
    if (policy.within_queue == Preemption::WithinQueue::lower_priority) text += " within=lower";
    if (policy.within_queue == Preemption::WithinQueue::lower_or_newer_equal_priority)
        text += " within=lower_or_newer";
    if (policy.reclaim_within_cohort == Preemption::Reclaim::lower_priority)
        text += " reclaim=lower";
    if (policy.reclaim_within_cohort == Preemption::Reclaim::any) text += " reclaim=any";
    if (policy.borrow_within_cohort != Preemption::WhileBorrowing::never) {
        text += " while_borrowing=lower";
        if (policy.max_priority_threshold)
            text += ":" + std::to_string(*policy.max_priority_threshold);
    }
    if (queue.fungibility.when_can_borrow == Search::try_next_flavor)
        text += " when_can_borrow=next";
    if (queue.fungibility.when_can_preempt == Search::may_stop) text += " when_can_preempt=stop";
    if (queue.fungibility.preference == Preference::borrowing_over_preemption)
        text += " prefer=borrowing";
    if (queue.fungibility.preference == Preference::preemption_over_borrowing)
        text += " prefer=preemption";
    if (queue.weight != FairWeight{}) text += " weight=" + weight_word(queue.weight);
    if (queue.admission_mode == ClusterQueue::AdmissionMode::usage_based) text += " by_use";
    for (const CheckRule& rule : queue.checks)
        text += " check=" + rule.name +
                (rule.flavors.empty() ? "" : ":" + muster::join(rule.flavors, ","));
    return text;
}

std::string pod_set_words(const PodSet& set) {
    std::string text = " set=" + set.name + " count=" + std::to_string(set.count) +
                       resources_words(set.pod.requests) +
                       labels_words("select", set.pod.node_selector);
    if (set.min_count) text += " min=" + std::to_string(*set.min_count);
    if (!set.group.empty()) text += " group=" + set.group;
    if (set.topology.mode == TopologyRequest::Mode::required)
        text += " required=" + level_word(set.topology.level);
    if (set.topology.mode == TopologyRequest::Mode::preferred)
        text += " preferred=" + level_word(set.topology.level);
    if (set.topology.mode == TopologyRequest::Mode::unconstrained) text += " unconstrained";
    for (const auto& slice : set.topology.slices)
        text += " slice=" + level_word(slice.level) + ":" + std::to_string(slice.size);
    return text;
}

}  // namespace

/// A step for each kind of change.
struct StepOf {
    ScenarioWriter& to;

    void operator()(const QueueSet& c) const {
        const ClusterQueue& queue = c.queue;
        std::string text = "queue " + queue.name;
        if (queue.strategy == ClusterQueue::Strategy::strict_fifo) text += " strict";
        text += stop_word(queue.stop);
        if (!queue.cohort.empty()) text += " cohort=" + queue.cohort;
        if (!queue.namespaces) text += " namespaces=none";
        if (queue.namespaces) text += labels_words("namespaces", queue.namespaces->labels);
        to.line(text + policy_words(queue) + quota_words(queue.groups));
        // The verb sets the local queue of that name as well.
        const auto local = to.locals_.find("default/" + queue.name);
        if (local != to.locals_.end()) (*this)(LocalQueueSet{local->second});
    }
    void operator()(const QueueRemoved& c) const { to.line("remove queue " + c.name); }
    void operator()(const CohortSet& c) const {
        std::string text = "cohort " + c.cohort.name;
        if (!c.cohort.parent.empty()) text += " parent=" + c.cohort.parent;
        if (c.cohort.weight != FairWeight{}) text += " weight=" + weight_word(c.cohort.weight);
        to.line(text + quota_words(c.cohort.groups));
    }
    void operator()(const CohortRemoved& c) const { to.line("remove cohort " + c.name); }
    void operator()(const LocalQueueSet& c) const {
        to.locals_[c.queue.ns + "/" + c.queue.name] = c.queue;
        std::string text = "local " + c.queue.ns + "/" + c.queue.name + " " +
                           c.queue.cluster_queue + stop_word(c.queue.stop);
        if (c.queue.weight != FairWeight{}) text += " weight=" + weight_word(c.queue.weight);
        to.line(text);
    }
    void operator()(const LocalQueueRemoved& c) const {
        to.line("remove local " + c.ns + "/" + c.name);
    }
    void operator()(const FlavorSet& c) const {
        std::string text = "flavor " + c.flavor.name + labels_words("label", c.flavor.node_labels);
        if (!c.flavor.topology.empty()) text += " topology=" + c.flavor.topology;
        if (!c.flavor.taints.empty() || !c.flavor.tolerations.empty()) text += " # and taints";
        to.line(text);
    }
    void operator()(const FlavorRemoved& c) const { to.line("remove flavor " + c.name); }
    void operator()(const NamespaceSet& c) const {
        to.line("namespace " + c.name + labels_words("label", c.labels));
    }
    void operator()(const NamespaceRemoved& c) const { to.line("namespace " + c.name); }
    void operator()(const TopologySet& c) const {
        std::string text = "topology " + c.topology.name;
        for (const std::string& level : c.topology.levels)
            text += " level=" + level_word(level);
        to.line(text);
    }
    void operator()(const TopologyRemoved& c) const { to.line("remove topology " + c.name); }
    void operator()(const AdmissionCheckSet& c) const {
        const bool active = c.check.state == AdmissionCheck::State::active;
        to.line("check " + c.check.name + (active ? "" : " inactive"));
    }
    void operator()(const AdmissionCheckRemoved& c) const { to.line("remove check " + c.name); }
    void operator()(const NodeSet& c) const {
        Labels labels = c.node.labels;
        labels.erase(std::string(hostname_level));
        std::string text = "node " + c.node.name + resources_words(c.node.allocatable) +
                           labels_words("label", labels);
        if (c.node.scheduling == Node::Scheduling::cordoned) text += " cordoned";
        if (c.node.condition == Node::Condition::not_ready) text += " notready";
        to.line(text + (c.node.taints.empty() ? "" : " # and taints"));
    }
    void operator()(const NodeRemoved& c) const { to.line("remove node " + c.name); }
    void operator()(const PodBound& c) const {
        std::string text = "pod " + c.name + " " + c.node + resources_words(c.shape.requests);
        if (!c.workload.empty()) text += " of=" + c.workload;
        if (!c.pod_set.empty()) text += " set=" + c.pod_set;
        to.line(text);
    }
    void operator()(const PodGone& c) const { to.line("gone " + c.name); }
    void operator()(const WorkloadSet& c) const { workload(c.workload); }
    void operator()(const WorkloadRemoved& c) const { to.line("delete " + c.id); }
    void operator()(const WorkloadAdmitted& c) const {
        for (const PodSetAssignment& set : c.assignment.pod_sets) {
            std::string text = "admitted " + c.id + " " + c.assignment.cluster_queue + " " +
                               set.name + " " + std::to_string(set.count);
            for (const auto& [resource, flavor] : set.flavors)
                text += " " + resource + "=" + amount_word(resource, set.usage.at(resource)) + "@" +
                        flavor;
            to.line((c.assignment.pod_sets.size() > 1 ? "# " : "") + text);
        }
    }
    void operator()(const WorkloadEvicted& c) const { to.line("evicted " + c.id); }
    void operator()(const WorkloadReleased& c) const { to.line("release " + c.id); }
    void operator()(const WorkloadFinished& c) const { to.line("finish " + c.id); }
    void operator()(const WorkloadFailed& c) const { to.line("fail " + c.id); }
    void operator()(const OptionsSet& c) const;

    void workload(const Workload& workload) const;
    void submit(const Workload& workload) const;
};

void StepOf::operator()(const OptionsSet& c) const {
    const Options& options = c.options;
    std::string text = "options";
    if (options.capacity == Options::Capacity::aggregate) text += " capacity=aggregate";
    if (options.order == Options::Order::fifo) text += " order=fifo";
    if (options.undeclared == Options::Undeclared::ignore) text += " undeclared=ignore";
    if (options.blocking != Options::Blocking::never) text += " blocking=until_pods_ready";
    if (options.fair_sharing) {
        std::vector<std::string> words;
        for (const Options::Strategy strategy : *options.fair_sharing)
            words.emplace_back(strategy == Options::Strategy::less_than_initial_share ? "initial"
                                                                                      : "final");
        text += " fair_sharing" + (words.empty() ? "" : "=" + muster::join(words, ","));
    }
    if (options.admission_sharing)
        text += " share_use=" + std::to_string(options.admission_sharing->half_life.nanoseconds) +
                "ns," + std::to_string(options.admission_sharing->sampling.nanoseconds) + "ns";
    to.line(text + (options.topologies == TopologyProfile{} ? "" : " # and a topology profile"));
}

void StepOf::submit(const Workload& workload) const {
    std::string text = "submit " + workload.id + " " +
                       (workload.local_queue.empty() ? "-" : workload.local_queue) +
                       " priority=" + std::to_string(workload.priority);
    if (workload.ns != "default") text += " ns=" + workload.ns;
    if (workload.binds == Workload::Binds::quota_and_nodes) text += " gang";
    if (workload.gate == Workload::PreemptionGate::closed) text += " gated";
    if (workload.barrier == Workload::Barrier::admission_gates)
        text += " gates=" + workload.barred_by;
    for (const PodSet& set : workload.pod_sets)
        text += pod_set_words(set);
    to.line(text);
    to.clock_ = to.clock_ + seconds(1);
}

// The language says one thing at a time.
void StepOf::workload(const Workload& workload) const {
    const auto known = to.workloads_.find(workload.id);
    Workload before = known == to.workloads_.end() ? workload : known->second;
    if (known == to.workloads_.end()) {
        submit(workload);
        before.activity = Workload::Activity::active;
        before.barrier = Workload::Barrier::none;
        before.not_before = {};
    }
    if (workload.activity != before.activity)
        to.line((workload.activity == Workload::Activity::active ? "activate " : "deactivate ") +
                workload.id);
    if (workload.priority != before.priority)
        to.line("priority " + workload.id + " " + std::to_string(workload.priority));
    if (workload.not_before != before.not_before && workload.not_before > to.clock_)
        to.line("backoff " + workload.id + " " +
                std::to_string((workload.not_before - to.clock_).nanoseconds) + "ns");
    if (workload.stage != before.stage || workload.barrier != before.barrier) {
        const bool passed = workload.stage == Workload::Stage::admitted;
        to.line("checks " + workload.id +
                (workload.barrier == Workload::Barrier::failed_checks ? " failed"
                 : passed                                             ? " passed"
                                                                      : " pending"));
    }
    if (workload.pods_ready != before.pods_ready)
        to.line(
            (workload.pods_ready == Workload::PodsReady::yes ? "pods_ready " : "pods_not_ready ") +
            workload.id);
    for (std::size_t i = 0; i < workload.pod_sets.size() && i < before.pod_sets.size(); ++i) {
        const PodSet& set = workload.pod_sets[i];
        if (set.reclaimable != before.pod_sets[i].reclaimable)
            to.line("reclaim " + workload.id + " " + set.name + " " +
                    std::to_string(set.reclaimable));
    }
    to.workloads_[workload.id] = workload;
}

void ScenarioWriter::move_clock(Time now) {
    if (now > clock_)
        line("advance " + std::to_string((now - clock_).nanoseconds / 1'000'000'000) + "s");
    clock_ = std::max(clock_, now);
}

void ScenarioWriter::write(const Change& change, Time now) {
    move_clock(now);
    std::visit(StepOf{*this}, change);
}

void ScenarioWriter::cycle(Time now) {
    move_clock(now);
    line("cycle");
}

}  // namespace muster::decide
