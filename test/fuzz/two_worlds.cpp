// test/fuzz/two_worlds.cpp - what happens in one world of queues changes nothing in another one on
// the same server, whose queues, flavors and nodes are others.
#include "test/fuzz/two_worlds.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/verify.h"
#include "decide/state_text.h"
#include "test/fuzz/names_of_world.h"
#include "test/fuzz/queue_life.h"

namespace muster::fuzz {

namespace {

constexpr std::size_t steps_max = 80;

/// What was decided about one world, sorted by workload: which tree has its turn first says
/// nothing.
std::string words_of(const decide::Decision& decision, const std::string& world) {
    std::vector<std::string> lines;
    const auto add = [&](const std::string& workload, const std::string& words) {
        if (workload.starts_with(world)) lines.push_back(workload + words);
    };
    for (const auto& admit : decision.admits)
        add(admit.workload, " starts" + decide::text_of(admit.assignment));
    for (const auto& move : decision.moves)
        add(move.workload, " moves" + decide::text_of(move.assignment));
    for (const auto& evict : decision.evicts) {
        add(evict.workload, " goes, " + std::to_string(static_cast<int>(evict.reason)) + " " +
                                evict.queue + " for " + evict.preemptor + " " + evict.node);
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines)
        text += line + "\n";
    return text;
}

decide::Decision named(decide::Decision decision, const std::string& world) {
    const NamesOfWorld names{world};
    for (auto& admit : decision.admits) {
        admit.workload = names.of(admit.workload);
        admit.assignment = names.of(admit.assignment);
    }
    for (auto& move : decision.moves) {
        move.workload = names.of(move.workload);
        move.assignment = names.of(move.assignment);
    }
    for (auto& evict : decision.evicts) {
        for (std::string* name : {&evict.workload, &evict.queue, &evict.preemptor, &evict.node})
            *name = names.of(*name);
    }
    return decision;
}

struct Half {
    std::string world;
    Life life;
    bool has_news = true;
    std::optional<Time> look_again{};
};

struct TwoWorlds {
    Choices choices;
    std::array<Half, 2> halves;
    decide::State both{};
    decide::ScenarioWriter told{};
    Time now = decide::scenario_start;
    Duration gathering{};
    std::optional<std::string> wrong{};

    explicit TwoWorlds(std::string_view bytes)
        : choices(bytes),
          halves{Half{"a-", Life{Choices(bytes)}}, Half{"b-", Life{Choices(bytes)}}} {}

    /// What `half` chooses is chosen here.
    template <class Call>
    void let(Half& half, const Call& call) {
        std::swap(choices, half.life.choices);
        half.life.now = now;
        call(half.life);
        now = std::max(now, half.life.now);
        std::swap(choices, half.life.choices);
    }

    void hear(Half& half) {
        half.has_news |= !half.life.changes.empty();
        for (const decide::Change& change : half.life.changes) {
            const decide::Change as_named = NamesOfWorld{half.world}.of(change);
            told.write(as_named, now);
            apply(both, as_named);
        }
        half.life.hear();
    }

    // Pods that no flavor binds to nodes would share all of them: there are none.
    void begin() {
        if (choices.below(2) == 1) gathering = milliseconds(40);
        for (Half& half : halves) {
            let(half, [](Life& life) { life.choose_kind(); });
            half.life.options = halves[0].life.options;
            half.life.has_topology = choices.below(2) == 1;
            half.life.has_nodes = false;
            let(half, [](Life& life) { life.make_ground(); });
            hear(half);
        }
    }

    void step() {
        const std::int64_t who = choices.below(3);
        for (std::size_t i = 0; i < halves.size(); ++i) {
            if (who == static_cast<std::int64_t>(1 - i)) continue;
            const std::int64_t actions = 1 + choices.below(3);
            let(halves[i], [&](Life& life) {
                for (std::int64_t k = 0; k < actions; ++k)
                    life.act();
            });
            hear(halves[i]);
        }
        decide_all();
        static constexpr std::array pauses = {seconds(1), milliseconds(10), seconds(41)};
        now = now + pauses[static_cast<std::size_t>(choices.below(3))];
    }

    // Of one to which nothing has happened nothing is asked.
    void decide_all() {
        told.cycle(now);
        const decide::Decision together = decide::decide(both, now, gathering);
        for (Half& half : halves) {
            decide::Decision alone;
            const bool is_due = half.look_again && *half.look_again <= now;
            if (std::exchange(half.has_news, false) || is_due) {
                alone = decide::decide(half.life.state, now, gathering);
                half.look_again = alone.look_again;
            }
            const std::string want = words_of(named(alone, half.world), half.world);
            const std::string have = words_of(together, half.world);
            if (want != have) {
                wrong = "alone:\n" + want + "beside another:\n" + have;
                return;
            }
            check_reasons(half);
            if (wrong) return;
            let(half, [&](Life& life) {
                life.check_admits(alone);
                wrong = life.wrong;
                if (wrong) return;
                for (const auto& evict : alone.evicts)
                    life.world.jobs.at(evict.workload).state = Life::Job::State::evicting;
                life.show(alone);
            });
            if (wrong) return;
            hear(half);
        }
    }

    void check_reasons(const Half& half) {
        for (const auto& [id, job] : half.life.world.jobs) {
            const auto alone = decide::wait_reason(half.life.state, id);
            const auto beside = decide::wait_reason(both, half.world + id);
            if (alone.has_value() == beside.has_value() &&
                (!alone || (alone->rule == beside->rule && alone->named == beside->named))) {
                continue;
            }
            const auto words = [](const auto& reason) {
                return reason ? std::to_string(static_cast<int>(reason->rule)) : "none";
            };
            wrong = half.world + id + " waits for " + words(alone) + " alone, for " +
                    words(beside) + " beside another";
        }
    }

    void play() {
        begin();
        decide_all();
        for (std::size_t i = 0; i < steps_max && choices.has() && !wrong; ++i)
            step();
    }
};

}  // namespace

std::optional<LifeFailure> play_two_worlds(std::string_view bytes) {
    TwoWorlds worlds(bytes);
    worlds.play();
    if (!worlds.wrong) return std::nullopt;
    return LifeFailure{*worlds.wrong, worlds.told.text()};
}

std::string shortest_failure_of_two(const std::string& bytes) {
    const std::string shortest =
        shrunk(bytes, [](const std::string& fewer) { return play_two_worlds(fewer).has_value(); });
    const auto failure = play_two_worlds(shortest);
    return failure->words + "\nbytes: " + numbers_of(shortest) + "\n" + failure->scenario;
}

}  // namespace muster::fuzz
