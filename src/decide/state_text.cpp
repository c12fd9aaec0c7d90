// decide/state_text.cpp - writes out a state, from the objects to the books behind them.
#include "decide/state_text.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "decide/structure_text.h"
#include "decide/world.h"

namespace muster::decide {

namespace {

/// The work on one state.
struct Writer {
    const World& world;
    std::string out{};

    void line(const std::string& words) { out += words + "\n"; }
    std::string name(QueueId id) const { return "q:" + world.queue_names.name_of(id); }
    std::string name(LocalQueueId id) const { return world.local_queue_names.name_of(id); }
    std::string name(WorkloadId id) const { return world.name_of(id); }
    template <class Ids>
    std::string names(const Ids& ids) const;
    std::string name(FlavorResource what) const;

    void book();
    void cohorts();
    void queues();
    void local_queues();
    void workloads();
    void unfinished();
    void tree_node(QuotaNode node);
    void pending(QueueId queue);
    std::string class_text(QueueId queue, const ClassKey& key) const;
    bool has_to_go(WorkloadId id) const;
    std::vector<WorkloadId> waiting(const ToDo<WorkloadId>& ids) const;
    std::string held_text(const Held& held) const;
};

std::string memory_text(const FlavorMemory& memory) {
    std::string text;
    for (const auto& [which, flavor] : memory) {
        text += " " + std::to_string(which.first) + "." + std::to_string(which.second) + ":" +
                std::to_string(flavor);
    }
    return text;
}

std::string shape_text(const Shape& shape) {
    std::string text = shape.binds == Workload::Binds::quota ? "quota" : "quota and nodes";
    for (const PodSetNeed& need : shape.pod_sets) {
        text += " [" + need.name + " " + std::to_string(need.count) +
                ">=" + std::to_string(need.min_count) + " " + need.group + " " +
                structure_text(need.topology) + " only " + muster::join(need.only_flavors, ",") +
                " " + structure_text(*need.pod) + " counts " + std::to_string(need.requests.size());
        for (const auto& [resource, amount] : need.requests)
            text += " " + std::to_string(amount.value);
        text += "]";
    }
    return text;
}

template <class Ids>
std::string Writer::names(const Ids& ids) const {
    std::vector<std::string> all;
    for (const auto id : ids)
        all.push_back(name(id));
    std::sort(all.begin(), all.end());
    return muster::join(all, " ");
}

std::string Writer::name(FlavorResource what) const {
    return world.book.flavors.name_of(what.flavor) + "/" +
           world.book.resources.name_of(what.resource);
}

void Writer::book() {
    line("options " + structure_text(world.options));
    for (const auto& [name, id] : world.book.flavors.by_name()) {
        if (const auto& spec = world.book.spec(id)) line("flavor " + structure_text(*spec));
    }
    for (const auto& [name, labels] : world.namespaces) {
        if (!labels.empty()) line("namespace " + name + " " + structure_text(labels));
    }
    for (const auto& [name, state] : world.checks)
        line("check " + name + " " + std::to_string(static_cast<int>(state)));
    for (const std::string& words : world.ledger.lines())
        line("ledger " + words);
    for (const std::string& words : world.topologies.lines())
        line("topology " + words);
}

// What nothing is known of looks as if it had never been named.
void Writer::tree_node(QuotaNode node) {
    const auto parent = world.tree.parent_of(node);
    line("  under " + (parent ? world.name_at(*parent) : "-") + " weight " +
         std::to_string(world.tree.weight_of(node).nanos) +
         (world.tree.in_circle(node) ? " in a circle" : ""));
    std::vector<std::string> cells;
    for (const FlavorResource what : world.tree.known(node)) {
        const Quota quota = world.tree.quota(node, what);
        const Amount usage = world.tree.usage(node, what);
        const Amount subtree = world.tree.subtree(node, what);
        if (quota == Quota{} && usage.value == 0 && subtree.value == 0) continue;
        cells.push_back("  " + name(what) + " " + structure_text(quota) + " subtree " +
                        std::to_string(subtree.value) + " used " + std::to_string(usage.value));
    }
    for (const auto& [resource, id] : world.book.resources.by_name()) {
        const Amount lendable = world.tree.lendable(node, id);
        if (lendable.value != 0)
            cells.push_back("  lends " + std::string(resource) + " " +
                            std::to_string(lendable.value));
    }
    std::sort(cells.begin(), cells.end());
    for (const std::string& cell : cells)
        line(cell);
}

void Writer::cohorts() {
    for (const auto& [name, id] : world.cohort_names.by_name()) {
        const CohortEntry& entry = world.cohorts[index(id)];
        if (!entry.spec && world.tree.children_of(entry.node).empty() &&
            !world.tree.parent_of(entry.node)) {
            continue;
        }
        line("cohort " + std::string(name) + " " +
             (entry.spec ? structure_text(*entry.spec) : "implicit"));
        tree_node(entry.node);
    }
}

std::string Writer::class_text(QueueId queue, const ClassKey& key) const {
    return std::to_string(key.slope_millionths) + " " + std::to_string(key.priority) + " " +
           (world.goes_by_use(queue) ? name(key.local_queue) : "-") + " " +
           (key.gate == Workload::PreemptionGate::closed ? "gated " : "") +
           shape_text(world.shapes.of(key.shape));
}

void Writer::pending(QueueId queue) {
    const Pending& pending = world.queue(queue).pending;
    const auto head = pending.head(Time{});
    std::vector<std::string> classes;
    for (const ClassKey& key : pending.classes()) {
        std::string text = "  class " + class_text(queue, key) +
                           (pending.is_blocked(key) ? " blocked" : " open") + ":";
        for (const Turn& turn : pending.members_of(key))
            text += " " + *turn.name.text;
        // The last reason of those behind the one in front is nobody's: they are tried anew.
        const bool counts =
            head && (head->key == key || (pending.is_blocked(key) && !pending.is_strict()));
        const auto reason = counts ? pending.reason_of(key) : nullptr;
        if (reason != nullptr) text += " " + structure_text(*reason);
        classes.push_back(std::move(text));
    }
    std::sort(classes.begin(), classes.end());
    for (const std::string& text : classes)
        line(text);
    line("  pending " + std::to_string(pending.size()) + " blocked " +
         std::to_string(pending.blocked_size()) + " in " +
         std::to_string(pending.blocked_classes()) + (pending.is_strict() ? " strict" : ""));
    if (!pending.leader()) return;
    line("  leader " + *pending.leader()->turn.name.text + " " +
         structure_text(*pending.leaders_reason()));
}

void Writer::queues() {
    for (const auto& [name, id] : world.queue_names.by_name()) {
        const QueueEntry& entry = world.queue(id);
        if (!entry.spec && entry.local_queues.empty() && entry.holders.empty() &&
            entry.pending.size() == 0) {
            continue;
        }
        line("queue " + std::string(name) + " " +
             (entry.spec ? structure_text(*entry.spec) : "unknown") + " is " +
             std::to_string(static_cast<int>(entry.active)) + " " + entry.detail);
        tree_node(entry.plan.node);
        line("  local queues " + names(entry.local_queues));
        line("  reserved " + names(entry.reserved));
        std::string order = "  holders";
        for (const HolderTurn& turn : entry.holders)
            order += " " + *turn.name.text + "@" + std::to_string(turn.reserved.since_epoch);
        line(order);
        pending(id);
        if (entry.told_head) line("  told head " + world.name_of(*entry.told_head));
    }
}

void Writer::local_queues() {
    for (const auto& [name, id] : world.local_queue_names.by_name()) {
        const LocalQueueEntry& entry = world.local_queue(id);
        const auto use = world.consumptions.find(id);
        if (!entry.spec && entry.members.empty() && use == world.consumptions.end()) continue;
        line("local " + std::string(name) + " " +
             (entry.spec ? structure_text(*entry.spec) : "unknown"));
        line("  members " + names(entry.members));
        if (use == world.consumptions.end()) continue;
        std::string text = "  used " + std::to_string(use->second.updated.since_epoch) +
                           (use->second.in_use ? " in use" : "");
        for (const auto& [resource, thousandths] : use->second.thousandths)
            text +=
                " " + world.book.resources.name_of(resource) + "=" + std::to_string(thousandths);
        line(text);
    }
}

std::string Writer::held_text(const Held& held) const {
    std::string text = "holds in " + name(held.queue) + " since " +
                       std::to_string(held.reserved.since_epoch) +
                       (held.listed.stage == HolderTurn::Stage::leaving ? " leaving" : "");
    for (std::size_t i = 0; i < held.pod_sets.size(); ++i) {
        const PodSetFit& fit = held.pod_sets[i];
        text += " [" + (*held.names)[i] + " " + std::to_string(fit.count) + " live " +
                std::to_string(held.live[i]);
        std::vector<std::string> shares;
        for (const Share& share : fit.shares)
            shares.push_back(name(share.what) + "=" + std::to_string(share.amount.value));
        std::sort(shares.begin(), shares.end());
        text += " " + muster::join(shares, " ");
        if (fit.places) text += " on " + structure_text(*fit.places);
        text += "]";
    }
    return text;
}

void Writer::workloads() {
    for (const auto& [name, id] : world.workload_names.by_name()) {
        const WorkloadEntry& e = world.workload(id);
        std::string text = "workload " + std::string(name);
        std::vector<int> words = {static_cast<int>(e.phase),  static_cast<int>(e.seen),
                                  static_cast<int>(e.object), static_cast<int>(e.activity),
                                  static_cast<int>(e.gate),   static_cast<int>(e.barrier)};
        // Stage and readiness are of who holds something.
        if (e.held != nullptr) words.push_back(static_cast<int>(e.stage));
        if (e.held != nullptr) words.push_back(static_cast<int>(e.pods_ready));
        for (const int word : words)
            text += " " + std::to_string(word);
        text += " in " + (e.local_queue ? this->name(*e.local_queue) : "-") + " priority " +
                std::to_string(e.priority) + "+" + std::to_string(e.slope_millionths) + " times " +
                std::to_string(e.created.since_epoch) + " " + std::to_string(e.queued.since_epoch) +
                " " + std::to_string(e.not_before.since_epoch);
        if (e.enqueued) text += " waits in " + this->name(*e.enqueued);
        if (const auto gates = world.barred_by.find(id); gates != world.barred_by.end())
            text += " barred by " + gates->second;
        line(text);
        if (e.phase != WorkloadEntry::Phase::unknown)
            line("  " + shape_text(world.shapes.of(e.shape)));
        if (e.held != nullptr) line("  " + held_text(*e.held));
        if (e.told != nullptr) line("  told " + structure_text(*e.told));
    }
}

bool Writer::has_to_go(WorkloadId id) const {
    const WorkloadEntry& entry = world.workload(id);
    if (entry.phase != WorkloadEntry::Phase::holding) return false;
    const auto& queue = world.queue(entry.held->queue).spec;
    const auto drains = [](const auto& spec) {
        return spec && spec->stop == StopPolicy::hold_and_drain;
    };
    return entry.activity == Workload::Activity::deactivated || drains(queue) ||
           (entry.local_queue && drains(world.local_queue(*entry.local_queue).spec));
}

// Those that have gone meanwhile, or do not wait any more, are not looked at.
std::vector<WorkloadId> Writer::waiting(const ToDo<WorkloadId>& ids) const {
    std::vector<WorkloadId> all = ids.once_each();
    std::erase_if(all, [this](WorkloadId id) {
        return world.workload(id).phase != WorkloadEntry::Phase::waiting;
    });
    return all;
}

void Writer::unfinished() {
    line("unready " + names(world.unready));
    line("changed " + std::string(world.structure_changed ? "structure " : "") +
         names(world.queues_changed));
    std::set<std::string> changed;
    for (const FlavorId flavor : world.places_changed)
        changed.insert(world.book.flavors.name_of(flavor));
    for (const std::string& flavor : changed)
        line("changed places of " + flavor);
    line("to try " + names(world.to_try) + " standing " + names(world.standing) + " requeued " +
         names(world.requeued) + " resumed " + names(world.resumed));
    line("to place " + names(waiting(world.to_place)) + " tell " + names(waiting(world.to_tell)));
    // Who is looked at again and found in order looks as if nobody had been named.
    for (const WorkloadId id : world.to_check.once_each()) {
        if (has_to_go(id)) line("to check " + name(id));
    }
    for (const WorkloadId id : world.to_repair) {
        if (!world.topologies.failed_hosts(name(id)).empty()) line("to repair " + name(id));
    }
    std::map<std::string, std::string> by_name;
    for (const auto& [id, gifts] : world.to_wake)
        by_name["wake " + name(id)] = std::to_string(gifts.times) + " from " + names(gifts.from) +
                                      " since " +
                                      std::to_string(gifts.since.value_or(Time{}).since_epoch);
    for (const auto& [which, news] : world.classes_to_tell) {
        const bool is_known = world.queue(which.first).pending.has(which.second);
        if (is_known)
            by_name["tell " + name(which.first) + " " + class_text(which.first, which.second)] =
                std::to_string(static_cast<int>(news));
    }
    for (const auto& [at, id] : world.backoffs)
        by_name["backoff " + name(id)] = std::to_string(at.since_epoch);
    for (const auto& [id, until] : world.patience)
        by_name["patience " + name(id)] = std::to_string(until.since_epoch);
    for (const auto& [id, memory] : world.turning)
        by_name["turning " + name(id)] = memory_text(memory);
    for (const auto& [id, at] : world.late_wakes)
        by_name["late wake " + name(id)] = std::to_string(at.since_epoch);
    for (const auto& [root, pairs] : world.preemptions) {
        for (const auto& [who, repeats] : pairs)
            by_name["preempted " + world.name_at(root) + " " + who.first + " " + who.second] =
                std::to_string(repeats.times) + memory_text(repeats.began);
    }
    for (const auto& [key, value] : by_name)
        line(key + " " + value);
    if (world.options.admission_sharing) {
        line("uses " + std::string(world.uses_changed ? "changed " : "") +
             (world.uses_due ? std::to_string(world.uses_due->since_epoch) : "-"));
    }
}

}  // namespace

std::string text_of(const State& state) {
    Writer writer{state.world()};
    writer.book();
    writer.cohorts();
    writer.queues();
    writer.local_queues();
    writer.workloads();
    writer.unfinished();
    return std::move(writer.out);
}

}  // namespace muster::decide
