// decide/queue/pending.cpp - order among waiting workloads; blocked classes are not tried again
// until they are woken.
#include "decide/queue/pending.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace muster::decide {

namespace {

constexpr std::int64_t rank_scale = 1'000'000;                  // Slopes are millionths a second,
constexpr std::int64_t nanoseconds_per_second = 1'000'000'000;  // times are nanoseconds.

// Unequal reasons that name the same obstacles.
bool differ_in_numbers(const WaitReason& a, const WaitReason& b) {
    const auto same_obstacle = [](const Obstacle& x, const Obstacle& y) {
        return std::tie(x.rule, x.pod_set, x.resource, x.flavor) ==
               std::tie(y.rule, y.pod_set, y.resource, y.flavor);
    };
    return a.rule == b.rule && std::equal(a.obstacles.begin(), a.obstacles.end(),
                                          b.obstacles.begin(), b.obstacles.end(), same_obstacle);
}

}  // namespace

Rank rank_of(std::int64_t priority, std::int64_t slope_millionths, Time created) {
    return Rank{priority} * rank_scale * nanoseconds_per_second -
           Rank{slope_millionths} * created.since_epoch;
}

Rank rank_at(Rank rank, std::int64_t slope_millionths, Time now) {
    return rank + Rank{slope_millionths} * now.since_epoch;
}

void Pending::set_strategy(ClusterQueue::Strategy strategy) {
    strategy_ = strategy;
    if (is_strict()) stop_leading();
}

bool Pending::set_uses(std::map<LocalQueueId, Fraction> uses) {
    const bool same = std::equal(uses.begin(), uses.end(), uses_.begin(), uses_.end(),
                                 [](const auto& a, const auto& b) {
                                     return a.first == b.first && compare(a.second, b.second) == 0;
                                 });
    uses_ = std::move(uses);
    return !same;
}

void Pending::insert(ClassKey key, const Turn& turn) {
    Class& which = classes_[key];
    const bool leads_class = which.members.empty() || turn < *which.members.begin();
    if (leads_class && !which.members.empty()) take_head(key, which);
    const bool added = which.members.insert(turn);
    VERIFY(added);
    if (leads_class) add_head(key, which);
    ++size_;
    if (which.blocked) ++blocked_size_;
}

void Pending::erase(ClassKey key, const Turn& turn) {
    const auto found = classes_.find(key);
    VERIFY(found != classes_.end());
    if (leads(turn.workload)) stop_leading();
    Class& which = found->second;
    const bool led_class = which.members.begin()->workload == turn.workload;
    Head head = led_class ? take_head(key, which) : Head();
    const bool gone = which.members.erase(turn);
    VERIFY(gone);
    --size_;
    if (which.blocked) --blocked_size_;
    if (which.members.empty()) {
        if (which.blocked) --blocked_classes_;
        classes_.erase(found);
        for (Heads* heads : {&open_, &blocked_}) {
            const auto group = heads->find(group_of(key));
            if (group != heads->end() && group->second.empty()) heads->erase(group);
        }
    } else if (led_class) {
        head.key() = *which.members.begin();
        put_head(key, which, std::move(head));
    }
}

std::optional<Pending::Candidate> Pending::next(Time now) const {
    if (is_strict()) return head(now);
    const auto open = first(open_, now);
    // Who waits for its victims goes first among those of queues that have used no less.
    if (leader_ && (!open || compare_uses(open->key, leader_->key) >= 0)) return leader_;
    return open;
}

std::optional<Pending::Candidate> Pending::head(Time now) const {
    if (leader_) return leader_;
    const auto open = first(open_, now);
    const auto blocked = first(blocked_, now);
    if (!open || !blocked) return open ? open : blocked;
    return before(*blocked, *open, now) ? blocked : open;
}

Pending::News Pending::block(ClassKey key, WaitReason reason, std::uint64_t version) {
    set_blocked(key, classes_.at(key), true);
    return note(key, std::move(reason), version);
}

bool Pending::lacks_quota(ClassKey key, std::uint64_t version) const {
    const Class& which = classes_.at(key);
    return which.reason != nullptr && which.reason_version == version &&
           which.reason->rule == WaitReason::Rule::quota;
}

Pending::News Pending::note(ClassKey key, WaitReason reason, std::uint64_t version) {
    Class& which = classes_.at(key);
    which.reason_version = version;
    if (which.reason != nullptr && *which.reason == reason) return News::none;
    const bool numbers = which.reason != nullptr && differ_in_numbers(*which.reason, reason);
    which.reason = std::make_shared<const WaitReason>(std::move(reason));
    return numbers ? News::numbers : News::all;
}

void Pending::lead(ClassKey key, const Turn& turn, WaitReason reason) {
    leader_ = Candidate{key, turn};
    if (leaders_reason_ == nullptr || *leaders_reason_ != reason) {
        leaders_reason_ = std::make_shared<const WaitReason>(std::move(reason));
    }
}

void Pending::wake() {
    if (blocked_classes_ == 0) return;
    for (auto& [key, which] : classes_)
        which.blocked = false;
    for (auto& [group, by_turn] : blocked_)
        open_[group].merge(by_turn);
    blocked_.clear();
    blocked_size_ = 0;
    blocked_classes_ = 0;
}

bool Pending::wake_bound_to_nodes() {
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    constexpr ClassKey first{Workload::Binds::quota_and_nodes, least, least, ShapeId{}};
    const auto from = classes_.lower_bound(first);
    for (auto at = from; at != classes_.end(); ++at)
        set_blocked(at->first, at->second, false);
    return from != classes_.end();
}

Pending::Reason Pending::reason_of(ClassKey key) const {
    return classes_.at(key).reason;
}

const FlavorPlan* Pending::plan_of(ClassKey key, std::uint64_t version) const {
    const auto known = classes_.find(key);
    if (known == classes_.end() || known->second.plan_version != version) return nullptr;
    return known->second.plan.get();
}

void Pending::know_plan(ClassKey key, FlavorPlan plan, std::uint64_t version) {
    Class& which = classes_.at(key);
    which.plan = std::make_shared<const FlavorPlan>(std::move(plan));
    which.plan_version = version;
}

bool Pending::is_blocked(ClassKey key) const {
    return classes_.at(key).blocked;
}

const PersistentSet<Turn>& Pending::members_of(ClassKey key) const {
    return classes_.at(key).members;
}

std::vector<ClassKey> Pending::classes() const {
    std::vector<ClassKey> keys;
    for (const auto& [key, which] : classes_)
        keys.push_back(key);
    return keys;
}

std::vector<Turn> Pending::in_order(Time now) const {
    std::vector<Candidate> all;
    for (const auto& [key, which] : classes_) {
        for (const Turn& turn : which.members)
            all.push_back({key, turn});
    }
    std::sort(all.begin(), all.end(),
              [&](const Candidate& a, const Candidate& b) { return before(a, b, now); });
    std::stable_partition(all.begin(), all.end(),
                          [&](const Candidate& c) { return leads(c.turn.workload); });
    std::vector<Turn> turns;
    for (const Candidate& candidate : all)
        turns.push_back(candidate.turn);
    return turns;
}

std::optional<Pending::Candidate> Pending::first(const Heads& heads, Time now) const {
    std::optional<Candidate> best;
    for (const auto& [group, by_turn] : heads) {
        if (by_turn.empty()) continue;
        const auto& [turn, key] = *by_turn.begin();
        if (const Candidate here{key, turn}; !best || before(here, *best, now)) best = here;
    }
    return best;
}

std::strong_ordering Pending::compare_uses(const ClassKey& a, const ClassKey& b) const {
    if (uses_.empty() || a.local_queue == b.local_queue) return std::strong_ordering::equal;
    const auto use_of = [this](LocalQueueId id) {
        const auto found = uses_.find(id);
        return found == uses_.end() ? Fraction{} : found->second;
    };
    return compare(use_of(a.local_queue), use_of(b.local_queue));
}

bool Pending::before(const Candidate& a, const Candidate& b, Time now) const {
    const auto uses = compare_uses(a.key, b.key);
    if (uses != 0) return uses < 0;
    const Rank left = rank_at(a.turn.rank, a.key.slope_millionths, now);
    const Rank right = rank_at(b.turn.rank, b.key.slope_millionths, now);
    if (left != right) return left > right;
    if (a.turn.queued != b.turn.queued) return a.turn.queued < b.turn.queued;
    return a.turn.name < b.turn.name;
}

void Pending::add_head(ClassKey key, const Class& which) {
    heads_of(which)[group_of(key)].emplace(*which.members.begin(), key);
}

// Mostly it is the first, who was just tried: then nobody's members are looked for.
Pending::Head Pending::take_head(ClassKey key, const Class& which) {
    auto& by_turn = heads_of(which).find(group_of(key))->second;
    const auto first = by_turn.begin();
    return by_turn.extract(first->second == key ? first : by_turn.find(*which.members.begin()));
}

void Pending::put_head(ClassKey key, const Class& which, Head head) {
    heads_of(which)[group_of(key)].insert(std::move(head));
}

void Pending::set_blocked(ClassKey key, Class& which, bool blocked) {
    if (which.blocked == blocked) return;
    Head head = take_head(key, which);
    which.blocked = blocked;
    put_head(key, which, std::move(head));
    const auto members = static_cast<std::int64_t>(which.members.size());
    blocked_size_ += blocked ? members : -members;
    blocked_classes_ += blocked ? 1 : -1;
}

}  // namespace muster::decide
