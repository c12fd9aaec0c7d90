// decide/evaluate.cpp - the one place where quota and nodes are asked about a waiting workload.
#include "decide/evaluate.h"

#include <algorithm>
#include <utility>

#include "decide/fit/places.h"

namespace muster::decide {

namespace {

using Mode = Attempt::Mode;

Fit fit_without_quota(const Shape& shape) {
    Fit fit;
    for (const PodSetNeed& pod_set : shape.pod_sets)
        fit.pod_sets.push_back({pod_set.count, {}});
    return fit;
}

WaitReason reason_of(GangRefusal refusal) {
    WaitReason reason;
    reason.rule = refusal.never ? WaitReason::Rule::exceeds_nodes : WaitReason::Rule::nodes;
    reason.pod_set = std::move(refusal.pod_set);
    reason.placed = refusal.placed;
    reason.pods = refusal.pods;
    reason.refusals = std::move(refusal.refusals);
    reason.lacks = std::move(refusal.lacks);
    return reason;
}

/// What the topologies say to a fit.
struct Placing {
    PlaceWants wants{};
    std::optional<TopologyRefusal> now{};   // As things are.
    std::optional<TopologyRefusal> ever{};  // Even if nobody held a place.
};

/// The work on one try.
struct Evaluation {
    const Scene& scene;
    Ledger& ledger;
    const Try& what;
    const Shape& shape;
    // Whom the last search for one resource found: most workloads need no other.
    std::optional<Preemptor> asked{};
    std::vector<Victim> answered{};
    std::optional<FlavorPlan> own_plan{};  // Where the queue has none ready.

    const FlavorPlan& plan();
    Attempt without_quota();
    Attempt with_counts(const std::vector<std::int64_t>& counts);
    FlavorAnswer flavors(const std::vector<std::int64_t>& counts);
    void check_nodes(Attempt& attempt, const Shape& wanted);
    void explain(Attempt& attempt, FlavorAnswer& answer, Placing& placing) const;
    Placing find_places(FlavorAnswer& answer, const Shape& wanted) const;
    std::set<std::string> out_with(const std::vector<Victim>& victims) const;
    std::vector<Victim> victims(FlavorAnswer& answer, const Shape& wanted, const Placing& placing);
    bool fits_nodes_without(const std::vector<Victim>& gone, const Shape& wanted) const;
    Preemptor preemptor() const;
    bool may_shrink() const;
    std::optional<Attempt> shrink();
};

Attempt Evaluation::without_quota() {
    Attempt attempt;
    attempt.mode = Mode::fit;
    attempt.fit = fit_without_quota(shape);
    check_nodes(attempt, shape);
    return attempt;
}

Preemptor Evaluation::preemptor() const {
    const WorkloadEntry& entry = scene.world.workload(what.workload);
    Preemptor made;
    made.workload = what.workload;
    made.queue = what.queue;
    made.priority = entry.priority;
    made.queued = entry.queued == Time{} ? entry.created : entry.queued;
    return made;
}

const FlavorPlan& Evaluation::plan() {
    if (own_plan) return *own_plan;
    const World& world = scene.world;
    const QueueEntry& entry = world.queue(what.queue);
    if (!world.structure_changed) {
        const FlavorPlan* known = entry.pending.plan_of(what.key, world.plans_version);
        if (known != nullptr) return *known;
    }
    own_plan = plan_flavors(world.book, entry.plan, &world.topologies, shape);
    return *own_plan;
}

FlavorAnswer Evaluation::flavors(const std::vector<std::int64_t>& counts) {
    FlavorSearch search{scene.tree,  scene.world.book,    scene.world.queue(what.queue).plan,
                        plan(),      scene.world.options, {},
                        what.memory, what.pinned,         what.patient};
    if (what.reasons == Try::Reasons::left_out)
        search.obstacles = FlavorSearch::Obstacles::left_out;
    const bool alone = what.preempting == Try::Preempting::left_out;
    search.outlook = [this, alone](FlavorResource contested, Amount amount) {
        if (alone) return PreemptionOutlook{};
        Preemptor asking = preemptor();
        asking.needs = {{contested, amount}};
        asking.contested = {contested};
        answered = find_victims(scene, asking, {});
        asked = std::move(asking);
        return preemption_outlook(scene, *asked, answered);
    };
    return choose_flavors(search, shape, counts);
}

Attempt Evaluation::with_counts(const std::vector<std::int64_t>& counts) {
    FlavorAnswer answer = flavors(counts);
    const bool is_whole = counts == shape.counts;
    const Shape part = is_whole ? Shape{} : decide::with_counts(shape, counts);
    const Shape& wanted = is_whole ? shape : part;
    Placing placing = find_places(answer, wanted);
    Attempt attempt;
    attempt.mode = answer.mode;
    attempt.waits_to_be_free = answer.waits_to_be_free;
    attempt.memory = std::move(answer.memory);
    if (answer.mode == Mode::preempt) attempt.victims = victims(answer, wanted, placing);
    attempt.fit = std::move(answer.fit);
    if (answer.mode == Mode::fit) {
        check_nodes(attempt, wanted);
        return attempt;
    }
    if (what.reasons == Try::Reasons::told || !attempt.victims.empty())
        explain(attempt, answer, placing);
    return attempt;
}

void Evaluation::explain(Attempt& attempt, FlavorAnswer& answer, Placing& placing) const {
    attempt.reason = std::make_unique<WaitReason>();
    WaitReason& reason = *attempt.reason;
    reason.rule = answer.mode == Mode::preempt ? WaitReason::Rule::quota : answer.no_fit.rule;
    if (answer.mode == Mode::no_fit) reason.named = answer.no_fit.named;
    reason.obstacles = std::move(answer.no_fit.obstacles);
    reason.cluster_queue = scene.world.queue_names.name_of(what.queue);
    if (placing.ever) {
        reason.rule = WaitReason::Rule::exceeds_topology;
        reason.named.reset();
        reason.places = std::move(placing.ever);
    } else if (placing.now) {
        reason.rule = WaitReason::Rule::topology;
        reason.places = std::move(placing.now);
    }
}

// Whose quota fits, but who finds no place, may preempt for it; what it then needs of others is all
// that it needs where it wants places. Without hope even in empty topologies it fits nowhere.
Placing Evaluation::find_places(FlavorAnswer& answer, const Shape& wanted) const {
    Placing placing;
    if (answer.mode == Mode::no_fit) return placing;
    const World& world = scene.world;
    if (!world.has_topologies(what.queue) && !wanted.asks_for_places) return placing;
    placing.wants = wants_of(world.book, world.queue(what.queue).plan, wanted, answer.fit);
    if (placing.wants.empty()) return placing;
    const auto& asks = placing.wants.asks;
    if (answer.mode == Mode::fit) {
        PlacesWithout view(world.topologies);
        auto found = view.without(out_with({})).find(asks, TopologyBook::Assume::as_it_is);
        if (const auto* places = std::get_if<TopologyBook::Assignments>(&found)) {
            placing.wants.put_into(answer.fit, *places);
            return placing;
        }
        placing.now = std::get<TopologyRefusal>(std::move(found));
        answer.mode = Mode::preempt;
    }
    auto at_best = world.topologies.find(asks, TopologyBook::Assume::empty);
    if (auto* refusal = std::get_if<TopologyRefusal>(&at_best)) {
        placing.ever = std::move(*refusal);
        answer.mode = Mode::no_fit;
        return placing;
    }
    placing.wants.put_into(answer.fit, std::get<TopologyBook::Assignments>(at_best));
    for (const std::size_t pod_set : placing.wants.pod_sets) {
        for (const Share& share : answer.fit.pod_sets[pod_set].shares)
            answer.contested.push_back(share.what);
    }
    std::sort(answer.contested.begin(), answer.contested.end());
    const auto end = std::unique(answer.contested.begin(), answer.contested.end());
    answer.contested.erase(end, answer.contested.end());
    return placing;
}

std::set<std::string> Evaluation::out_with(const std::vector<Victim>& victims) const {
    std::set<std::string> out;
    for (const WorkloadId gone : scene.gone)
        out.insert(scene.world.name_of(gone));
    for (const Victim& victim : victims)
        out.insert(scene.world.name_of(victim.workload));
    return out;
}

void Evaluation::check_nodes(Attempt& attempt, const Shape& wanted) {
    if (wanted.binds == Workload::Binds::quota) return;
    auto refusal = ledger.refusal(wanted, scene.world.options.capacity);
    if (!refusal) return;
    attempt.mode = Mode::no_fit;
    attempt.reason = std::make_unique<WaitReason>(reason_of(std::move(*refusal)));
    attempt.reason->cluster_queue = scene.world.queue_names.name_of(what.queue);
}

std::vector<Victim> Evaluation::victims(FlavorAnswer& answer, const Shape& wanted,
                                        const Placing& placing) {
    if (what.preempting == Try::Preempting::left_out) return {};
    Preemptor asking = preemptor();
    asking.needs = answer.fit.total();
    asking.contested = answer.contested;
    PlacesWithout view(scene.world.topologies);
    const auto places_without = [&](const std::vector<Victim>& gone) {
        return view.without(out_with(gone))
            .find(placing.wants.asks, TopologyBook::Assume::as_it_is);
    };
    const bool by_nodes = wanted.binds == Workload::Binds::quota_and_nodes;
    Suits suits;
    if (by_nodes || !placing.wants.empty()) {
        suits = [&](const std::vector<Victim>& gone) {
            if (!placing.wants.empty() &&
                std::holds_alternative<TopologyRefusal>(places_without(gone))) {
                return false;
            }
            return !by_nodes || fits_nodes_without(gone, wanted);
        };
    }
    const bool is_known = !suits && asked && asked->contested == asking.contested &&
                          asked->needs.size() == 1 && asking.needs.size() == 1 &&
                          asked->needs.front().amount == asking.needs.front().amount;
    std::vector<Victim> found = is_known ? answered : find_victims(scene, asking, suits);
    if (found.empty() || placing.wants.empty()) return found;
    placing.wants.put_into(answer.fit, std::get<TopologyBook::Assignments>(places_without(found)));
    return found;
}

// Nobody is preempted for quota when the nodes would lack the room all the same.
bool Evaluation::fits_nodes_without(const std::vector<Victim>& gone, const Shape& wanted) const {
    Ledger without = ledger;
    for (const Victim& victim : gone) {
        const std::string& name = scene.world.name_of(victim.workload);
        without.withdraw(victim.workload);
        for (const std::string& pod : without.pods_of(name))
            without.unbind(pod);
    }
    without.settle();
    return !without.refusal(wanted, scene.world.options.capacity);
}

bool Evaluation::may_shrink() const {
    return std::any_of(shape.pod_sets.begin(), shape.pod_sets.end(),
                       [](const PodSetNeed& need) { return need.min_count < need.count; });
}

// The least that must be left out so that it fits, by bisection: whatever fits, fits with less.
std::optional<Attempt> Evaluation::shrink() {
    std::int64_t slack = 0;
    for (const PodSetNeed& need : shape.pod_sets)
        slack += need.count - need.min_count;
    const auto counts_without = [&](std::int64_t left_out) {
        std::vector<std::int64_t> counts;
        for (const PodSetNeed& need : shape.pod_sets) {
            const Amount part = Amount{need.count - need.min_count} * left_out;
            counts.push_back(need.count - part.value / slack);
        }
        return counts;
    };
    std::optional<Attempt> best;
    std::int64_t low = 0;
    std::int64_t high = slack + 1;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (middle > slack) break;
        Attempt attempt = with_counts(counts_without(middle));
        if (attempt.has_way()) {
            best = std::move(attempt);
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return best;
}

}  // namespace

Attempt evaluate(const Scene& scene, Ledger& ledger, const Try& what) {
    Evaluation evaluation{scene, ledger, what, scene.world.shapes.of(what.key.shape)};
    if (what.queue == no_queue) return evaluation.without_quota();
    Attempt whole = evaluation.with_counts(evaluation.shape.counts);
    if (whole.has_way() || !evaluation.may_shrink()) return whole;
    auto part = evaluation.shrink();
    return part ? std::move(*part) : std::move(whole);
}

}  // namespace muster::decide
