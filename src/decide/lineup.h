// decide/lineup.h - who of a large tree of queues starts next with what was given back, found
// without waking anybody else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/amount.h"
#include "decide/ids.h"
#include "decide/queue/pending.h"
#include "decide/quota/tree.h"

namespace muster::decide {

struct World;

/// The waiting classes of all queues of a tree, packed, when all of them are blocked and quota
/// alone decides about them: then rounds can be played here, on what they need, as they would be
/// played if everybody had been woken. Most classes only take their turn in a round and are passed
/// over; here that is to count.
class Lineup {
public:
    Lineup(const World& world, QuotaNode root);

    /// Of a queue's books something has changed.
    void touch(std::size_t slot);
    /// What has been touched is read again. False when somebody there has to be tried in earnest.
    bool refresh(const World& world);
    const std::vector<QueueId>& queues() const { return queues_; }
    /// It was made with what still holds.
    bool is_of_now(const World& world) const;

    /// All are woken: who comes next is asked from the first round on.
    void wake();
    /// Those who start in the next round in which anybody might, with their classes: nobody, when
    /// room is kept from them. Absent: nobody can start any more. Requires: those returned before
    /// have started, and that is the only change. The tree is left as it was.
    using Starting = std::vector<std::pair<QueueId, ClassKey>>;
    std::optional<Starting> next(const World& world, QuotaTree& tree);

private:
    static constexpr std::size_t most_sources = 4;

    /// What a queue takes of a flavor and resource: of its own first, then through its cohort.
    struct Source {
        FlavorResource what;
        std::size_t gate = 0;
        QuotaTree::Reach reach;
        Amount usage;
        Amount subtree;
        Amount potential;
        Quota quota;
    };
    struct Entry {
        ClassKey key;
        Turn turn;
        std::array<Amount, most_sources> needs;  // By source.
        std::array<bool, most_sources> asks;     // Also for nothing.
        bool is_barred = false;                  // The only flavor does not take it.
    };
    struct Line {
        QuotaNode node{};
        bool may_start_while_borrowing = false;  // See Chooser::grade_of.
        bool is_simple = false;                  // Everything about it is known here.
        bool is_touched = false;
        std::vector<Source> sources;
        std::vector<Entry> entries;  // In their order, first those that come to their turn first.
    };
    /// Of a line what tells whether there is any hope.
    struct Outline {
        Amount least;  // Of the first source, that anybody needs.
        QuotaTree::Reach reach;
        std::uint32_t gate = 0;
        std::uint32_t entries = 0;
        std::uint32_t late = 0;  // Rounds in which it has not moved on.
    };
    /// What a cohort lets its members take.
    struct Gate {
        QuotaNode cohort{};
        FlavorResource what;
        Amount free;
    };
    /// Who comes to its turn in a round.
    struct Player {
        std::size_t slot = 0;
        std::int64_t level = 0;
        bool fits = false;  // Else it keeps room that it may not use.
    };

    void read(const World& world, std::size_t slot);
    bool read_entries(const World& world, QueueId id, Line& line);
    bool add_entry(const World& world, Line& line, Entry entry, const FlavorPlan& plan);
    std::size_t source_of(const World& world, Line& line, FlavorResource what);
    void read_sources(const QuotaTree& tree, Line& line);
    void outline(std::size_t slot);
    void read_gates(const QuotaTree& tree);
    void go_on(const World& world);

    std::size_t position(std::size_t slot) const { return round_ - outlines_[slot].late; }
    const Entry& entry_of(const Player& player) const;
    Amount free_of(const QuotaTree::Reach& reach, std::size_t gate) const;
    bool fits(const Line& line, const Entry& entry) const;
    bool go_to_round_with_hope();
    std::vector<Player> players(const QuotaTree& tree) const;
    bool grade(const QuotaTree& tree, const Line& line, const Entry& entry, Player& player) const;
    bool goes_before(const Player& a, const Player& b) const;
    std::vector<std::size_t> play(QuotaTree& tree);
    std::vector<std::pair<FlavorResource, Amount>> taken_by(const Player& player) const;

    QuotaNode root_{};
    std::uint64_t version_ = 0;  // Of plans.
    bool tells_ = false;         // Reasons are told.
    std::vector<QueueId> queues_;
    std::vector<Line> lines_;
    std::vector<Outline> outlines_;
    std::vector<Gate> gates_;
    std::vector<std::size_t> touched_;
    std::size_t awkward_ = 0;  // Lines about which not everything is known.
    std::uint32_t round_ = 0;
    std::vector<std::size_t> started_;  // As last returned.
};

/// Those in use, by tree. A copy has none: they are made again when they are needed.
class Lineups {
public:
    Lineups() = default;
    Lineups(const Lineups& /*other*/) {}
    Lineups(Lineups&&) = default;
    Lineups& operator=(const Lineups& /*other*/) {
        clear();
        return *this;
    }
    Lineups& operator=(Lineups&&) = default;
    ~Lineups() = default;

    void touch(QueueId id) {
        if (index(id) >= places_.size()) return;
        const Place& place = places_[index(id)];
        if (place.lineup != nullptr) place.lineup->touch(place.slot);
    }
    Lineup& of(const World& world, QuotaNode root);
    void clear();

private:
    struct Place {
        Lineup* lineup = nullptr;
        std::size_t slot = 0;
    };
    std::map<QuotaNode, std::unique_ptr<Lineup>> by_root_;
    std::vector<Place> places_;  // By QueueId.
};

}  // namespace muster::decide
