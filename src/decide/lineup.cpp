// decide/lineup.cpp - rounds of a tree in which nobody preempts, played on numbers.
#include "decide/lineup.h"

#include <algorithm>
#include <optional>

#include "decide/deciding.h"
#include "decide/world.h"

namespace muster::decide {

Lineup::Lineup(const World& world, QuotaNode root)
    : root_(root),
      version_(world.plans_version),
      tells_(world.options.reasons == Options::Reasons::told),
      queues_(world.queues_by_root.at(root)),
      lines_(queues_.size()),
      outlines_(queues_.size()) {
    for (Line& line : lines_)
        line.is_simple = true;
    for (std::size_t slot = 0; slot < lines_.size(); ++slot)
        touch(slot);
}

bool Lineup::is_of_now(const World& world) const {
    return version_ == world.plans_version &&
           tells_ == (world.options.reasons == Options::Reasons::told);
}

void Lineup::touch(std::size_t slot) {
    if (std::exchange(lines_[slot].is_touched, true)) return;
    touched_.push_back(slot);
}

bool Lineup::refresh(const World& world) {
    for (const std::size_t slot : std::exchange(touched_, {}))
        read(world, slot);
    return awkward_ == 0;
}

void Lineup::read(const World& world, std::size_t slot) {
    Line& line = lines_[slot];
    line.is_touched = false;
    const QueueEntry& queue = world.queue(queues_[slot]);
    line.node = queue.plan.node;
    line.may_start_while_borrowing =
        queue.plan.preemption.borrow_within_cohort != Preemption::WhileBorrowing::never;
    line.sources.clear();
    line.entries.clear();
    awkward_ -= line.is_simple ? 0 : 1;
    line.is_simple = read_entries(world, queues_[slot], line);
    awkward_ += line.is_simple ? 0 : 1;
    read_sources(world.tree, line);
    outline(slot);
}

bool Lineup::read_entries(const World& world, QueueId id, Line& line) {
    const QueueEntry& queue = world.queue(id);
    const Pending& pending = queue.pending;
    if (pending.size() == 0) return true;
    if (!queue.is_plain || pending.is_strict() || pending.leader() || world.goes_by_use(id) ||
        pending.blocked_classes() != pending.class_count()) {
        return false;
    }
    bool is_simple = true;
    pending.visit_classes([&](const ClassKey& key, const Turn& first) {
        const FlavorPlan* plan = pending.plan_of(key, version_);
        is_simple = is_simple && plan != nullptr && key.slope_millionths == 0 &&
                    key.binds == Workload::Binds::quota &&
                    (!tells_ || pending.lacks_quota(key, version_)) &&
                    add_entry(world, line, {key, first, {}, {}}, *plan);
    });
    std::sort(line.entries.begin(), line.entries.end(),
              [](const Entry& a, const Entry& b) { return a.turn < b.turn; });
    return is_simple;
}

bool Lineup::add_entry(const World& world, Line& line, Entry entry, const FlavorPlan& plan) {
    const auto& sets = world.shapes.of(entry.key.shape).pod_sets;
    if (!plan.has_one_choice() || std::any_of(sets.begin(), sets.end(), [](const PodSetNeed& set) {
            return set.min_count < set.count;
        })) {
        return false;
    }
    const FlavorPlan::Choice& choice = plan.joints.front().choices.front();
    const FlavorPlan::Option& option = choice.options.front();
    entry.is_barred = !option.allowed;
    for (std::size_t i = 0; i < choice.resources.size(); ++i) {
        const std::size_t source = source_of(world, line, {option.flavor, choice.resources[i]});
        if (source == most_sources) return false;
        entry.needs[source] = choice.least[i];
        entry.asks[source] = true;
    }
    line.entries.push_back(entry);
    return true;
}

std::size_t Lineup::source_of(const World& world, Line& line, FlavorResource what) {
    for (std::size_t i = 0; i < line.sources.size(); ++i) {
        if (line.sources[i].what == what) return i;
    }
    const auto cohort = world.tree.parent_of(line.node);
    if (line.sources.size() == most_sources || !cohort) return most_sources;
    const auto known = std::find_if(gates_.begin(), gates_.end(), [&](const Gate& gate) {
        return gate.cohort == *cohort && gate.what == what;
    });
    Source source;
    source.what = what;
    source.gate = static_cast<std::size_t>(known - gates_.begin());
    if (known == gates_.end()) gates_.push_back({*cohort, what, {}});
    line.sources.push_back(source);
    return line.sources.size() - 1;
}

void Lineup::read_sources(const QuotaTree& tree, Line& line) {
    for (Source& source : line.sources) {
        source.reach = tree.reach(line.node, source.what);
        source.usage = tree.usage(line.node, source.what);
        source.subtree = tree.subtree(line.node, source.what);
        source.potential = tree.potential(line.node, source.what);
        source.quota = tree.quota(line.node, source.what);
    }
}

void Lineup::outline(std::size_t slot) {
    const Line& line = lines_[slot];
    Outline& outline = outlines_[slot];
    outline = {};
    outline.entries = static_cast<std::uint32_t>(line.entries.size());
    if (line.sources.empty()) return;
    outline.reach = line.sources.front().reach;
    outline.gate = static_cast<std::uint32_t>(line.sources.front().gate);
    outline.least = unlimited();
    for (const Entry& entry : line.entries)
        outline.least = std::min(outline.least, entry.asks[0] ? entry.needs[0] : Amount{});
}

void Lineup::read_gates(const QuotaTree& tree) {
    for (Gate& gate : gates_)
        gate.free = tree.available(gate.cohort, gate.what);
}

void Lineup::wake() {
    round_ = 0;
    started_.clear();
    for (Outline& outline : outlines_)
        outline.late = 0;
}

std::optional<Lineup::Starting> Lineup::next(const World& world, QuotaTree& tree) {
    go_on(world);
    read_gates(tree);
    if (!go_to_round_with_hope()) return std::nullopt;
    started_ = play(tree);
    Starting starting;
    for (const std::size_t slot : started_)
        starting.emplace_back(queues_[slot], lines_[slot].entries[position(slot)].key);
    ++round_;
    return starting;
}

// Whoever has started is followed by the next of its class, where it belongs among those that had
// not come to their turn.
void Lineup::go_on(const World& world) {
    for (const std::size_t slot : std::exchange(started_, {})) {
        Line& line = lines_[slot];
        const std::size_t at = round_ - 1 - outlines_[slot].late;
        const Pending& pending = world.queue(queues_[slot]).pending;
        line.entries.erase(line.entries.begin(),
                           line.entries.begin() + static_cast<std::ptrdiff_t>(at));
        Entry& first = line.entries.front();
        if (pending.has(first.key)) {
            first.turn = *pending.members_of(first.key).begin();
            const auto from = line.entries.begin() + 1;
            const auto place = std::find_if(from, line.entries.end(),
                                            [&](const Entry& e) { return first.turn < e.turn; });
            std::rotate(line.entries.begin(), from, place);
        } else {
            line.entries.erase(line.entries.begin());
        }
        read_sources(world.tree, line);
        outline(slot);
        outlines_[slot].late = round_;
    }
}

Amount Lineup::free_of(const QuotaTree::Reach& reach, std::size_t gate) const {
    return std::max(Amount{}, reach.unused + std::min(reach.most, gates_[gate].free));
}

bool Lineup::fits(const Line& line, const Entry& entry) const {
    for (std::size_t i = 0; i < line.sources.size(); ++i) {
        const Source& source = line.sources[i];
        if (entry.asks[i] && entry.needs[i] > free_of(source.reach, source.gate)) return false;
    }
    return !entry.is_barred;
}

// Rounds in which nobody may start pass without effect: each queue goes on to its next class.
bool Lineup::go_to_round_with_hope() {
    std::optional<std::size_t> wait;
    for (std::size_t slot = 0; slot < outlines_.size(); ++slot) {
        const Outline& outline = outlines_[slot];
        const std::size_t from = position(slot);
        if (from >= outline.entries) continue;
        const Line& line = lines_[slot];
        if (!line.sources.empty() && outline.least > free_of(outline.reach, outline.gate)) continue;
        const std::size_t to =
            wait ? std::min<std::size_t>(outline.entries, from + *wait) : outline.entries;
        for (std::size_t at = from; at < to; ++at) {
            if (!fits(line, line.entries[at])) continue;
            wait = at - from;
            break;
        }
        if (wait == 0U) break;
    }
    if (wait) round_ += static_cast<std::uint32_t>(*wait);
    return wait.has_value();
}

const Lineup::Entry& Lineup::entry_of(const Player& player) const {
    return lines_[player.slot].entries[position(player.slot)];
}

std::vector<Lineup::Player> Lineup::players(const QuotaTree& tree) const {
    std::vector<Player> all;
    for (std::size_t slot = 0; slot < outlines_.size(); ++slot) {
        const std::size_t at = position(slot);
        if (at >= outlines_[slot].entries) continue;
        Player player{slot};
        if (grade(tree, lines_[slot], lines_[slot].entries[at], player)) all.push_back(player);
    }
    return all;
}

// As the search for flavors grades its only choice: false when nothing can come of it.
bool Lineup::grade(const QuotaTree& tree, const Line& line, const Entry& entry,
                   Player& player) const {
    if (entry.is_barred) return false;
    player.fits = true;
    for (std::size_t i = 0; i < line.sources.size(); ++i) {
        if (!entry.asks[i]) continue;
        const Source& source = line.sources[i];
        const Amount need = entry.needs[i];
        QuotaTree::Room room{0, true};
        if (source.usage + need > source.subtree) {
            room = tree.lowest_room(gates_[source.gate].cohort, source.what,
                                    need - source.reach.unused);
        }
        player.level = std::max(player.level, room.height);
        if (need <= free_of(source.reach, source.gate)) continue;
        if (need > source.potential) return false;
        if (source.quota.nominal < need && !room.below_root && !line.may_start_while_borrowing) {
            return false;
        }
        player.fits = false;
    }
    return true;
}

bool Lineup::goes_before(const Player& a, const Player& b) const {
    if (a.level != b.level) return a.level < b.level;
    return entry_of(a).turn < entry_of(b).turn;
}

// Whoever starts takes all that it needs. Who does not fit keeps, until the round ends, as much as
// its quota and its borrowing limit leave it.
std::vector<std::pair<FlavorResource, Amount>> Lineup::taken_by(const Player& player) const {
    const Line& line = lines_[player.slot];
    const Entry& entry = entry_of(player);
    std::vector<std::pair<FlavorResource, Amount>> taken;
    for (std::size_t i = 0; i < line.sources.size(); ++i) {
        if (!entry.asks[i]) continue;
        const Source& source = line.sources[i];
        Amount amount = entry.needs[i];
        if (!player.fits)
            amount = within_limits(amount, source.quota, source.usage, player.level > 0);
        if (amount > Amount{}) taken.emplace_back(source.what, amount);
    }
    return taken;
}

// One round: the slots of those who start, in the order of their turns. Who would have fitted but
// for others stays where it is, all others go on.
std::vector<std::size_t> Lineup::play(QuotaTree& tree) {
    std::vector<Player> waiting = players(tree);
    const auto later = [this](const Player& a, const Player& b) { return goes_before(b, a); };
    auto hopeful = std::count_if(waiting.begin(), waiting.end(),
                                 [](const Player& player) { return player.fits; });
    std::vector<std::size_t> started;
    std::vector<std::pair<QuotaNode, std::pair<FlavorResource, Amount>>> taken;
    // Mostly the first one takes what there is.
    const auto first =
        std::min_element(waiting.begin(), waiting.end(),
                         [this](const Player& a, const Player& b) { return goes_before(a, b); });
    std::iter_swap(first, waiting.begin());
    std::reverse(waiting.begin(), waiting.end());
    for (bool is_heap = false; hopeful > 0;) {
        const Player player = waiting.back();
        waiting.pop_back();
        const Line& line = lines_[player.slot];
        bool plays = true;
        if (player.fits) {
            --hopeful;
            plays = fits(line, entry_of(player));
            if (plays) started.push_back(player.slot);
            if (!plays) ++outlines_[player.slot].late;
        }
        if (plays) {
            for (const auto& share : taken_by(player)) {
                tree.add_usage(line.node, share.first, share.second);
                taken.emplace_back(line.node, share);
            }
            read_gates(tree);
        }
        if (!is_heap) {
            // Who has no hope any more need not come to its turn.
            std::erase_if(waiting, [&](const Player& other) {
                if (!other.fits || fits(lines_[other.slot], entry_of(other))) return false;
                ++outlines_[other.slot].late;
                --hopeful;
                return true;
            });
            std::make_heap(waiting.begin(), waiting.end(), later);
            is_heap = true;
        }
        if (hopeful > 0) std::pop_heap(waiting.begin(), waiting.end(), later);
    }
    for (const auto& [node, share] : taken)
        tree.remove_usage(node, share.first, share.second);
    return started;
}

Lineup& Lineups::of(const World& world, QuotaNode root) {
    if (!by_root_.empty() && !by_root_.begin()->second->is_of_now(world)) clear();
    std::unique_ptr<Lineup>& lineup = by_root_[root];
    if (lineup != nullptr) return *lineup;
    lineup = std::make_unique<Lineup>(world, root);
    places_.resize(std::max(places_.size(), world.queues.size()));
    for (std::size_t slot = 0; slot < lineup->queues().size(); ++slot)
        places_[index(lineup->queues()[slot])] = {lineup.get(), slot};
    return *lineup;
}

void Lineups::clear() {
    by_root_.clear();
    places_.clear();
}

// Where the first in order starts first, whatever it takes, and nobody stands in front.
Lineup* Deciding::lineup_of(QuotaNode root) {
    if (world.lining_up == World::LiningUp::nowhere || world.hopeless == World::Hopeless::tried ||
        !is_large_tree(root) || world.options.fair_sharing ||
        world.options.blocking != Options::Blocking::never) {
        return nullptr;
    }
    const auto is_here = [&](QueueId id) {
        return world.tree.root_of(std::as_const(world).queue(id).plan.node) == root;
    };
    if (std::any_of(world.standing.begin(), world.standing.end(), is_here)) return nullptr;
    for (const auto& [workload, memory] : world.turning) {
        const auto queue = std::as_const(world).workload(workload).enqueued;
        if (queue && is_here(*queue)) return nullptr;
    }
    Lineup& lineup = world.lineups.of(world, root);
    return lineup.refresh(world) ? &lineup : nullptr;
}

const std::vector<Deciding::Starting>& Deciding::take_from_lineups() {
    std::erase_if(lined_up, [&](const auto& tree) {
        const auto next = tree.second->next(world, world.tree);
        if (!next) return true;
        for (const auto& [id, key] : *next) {
            Pending& pending = world.queue(id).pending;
            pending.open(key);
            starting.push_back({tree.first, id, *pending.next(now)});
        }
        return false;
    });
    return starting;
}

void Deciding::close_lineups() {
    for (const Starting& one : std::exchange(starting, {})) {
        VERIFY(admitted.contains(one.candidate.turn.workload));
        Pending& pending = world.queue(one.queue).pending;
        if (pending.has(one.candidate.key)) pending.shut(one.candidate.key);
    }
}

}  // namespace muster::decide
