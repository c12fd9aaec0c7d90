// sim/scenario_ground.h - scenarios in the simulated world: what is said is written as objects
// through the server, and what came of it is read from their status.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/scenario.h"
#include "sim/world.h"

namespace muster::sim {

/// The simulated world as a ground for scenarios. Between cycles the queues see but do not decide:
/// all that is said arrives as one. With faults they strike while things are said and while it is
/// decided; what came of a cycle is read when the sky is calm and nothing moves any more.
///
/// Time in the world is never before the scenario's clock, and with faults far behind it: then only
/// what does not hang on time comes out as written.
class SimGround : public decide::ScenarioGround {
public:
    SimGround(std::uint64_t seed, const Faults& faults);

    std::string_view name() const override { return "sim"; }
    std::optional<std::string> refuses(const decide::Step& step) override;
    std::optional<std::string> take(const decide::Change& change, Time now) override;
    decide::ScenarioCycle cycle(Time now) override;
    std::vector<std::string> why(const std::string& workload, Time now) override;
    std::optional<decide::QueueReport> show(const std::string& queue) override;
    std::vector<std::string> order(const std::string& queue, Time now) override;
    std::optional<std::string> broken() override { return std::nullopt; }  // The world throws.

    /// Every workload and queue as its status says, a line each.
    std::string rest();
    /// From here on all that is written is told, as `World::record` has it, nodes as {"node"},
    /// other options as {"options"}, the documents of a configuration file, the scenario's clock
    /// when it has gone on as {"at"}, its seconds; and after each cycle {"cycle"}: by path, the
    /// status of each workload
    /// ("workload" of an AppWrapper) and of each queue.
    void record(std::function<void(api::Value line)> tell);
    World& world() { return world_; }

private:
    /// Something submitted, and what it is here.
    struct Submitted {
        decide::Workload said;
        bool wrapped = false;  // An AppWrapper; else a Workload of nobody.
        std::string path;      // Of its object.
    };
    /// What an object's status says of a workload.
    struct Shown {
        enum class State { none, waiting, admitted, evicting, finished };
        State state = State::none;
        std::string text;  // Why it waits or must go.
        std::string evicted_at;
        decide::Assignment assignment;
    };

    void catch_up(Time now);
    void settle();
    void ensure_namespace(const std::string& ns);
    void put(const std::string& path, const api::Value& object);
    std::optional<std::string> submit(const decide::Workload& workload);
    std::optional<std::string> alter(Submitted& known, const decide::Workload& workload, Time now);
    void end(const Submitted& known, const std::function<void(api::Value&)>& status);
    void pass_checks(const Submitted& known, decide::Workload::Stage stage, Time now);
    void release(const Submitted& known);
    void bind(const decide::PodBound& pod);
    void lose_pod(const std::string& name);
    const Submitted& submitted(const std::string& id) const;
    std::map<std::string, Shown> shown();
    /// Of an AppWrapper in a queue; null when none yet.
    api::Value workload_of(const Submitted& wrapper);
    std::string eviction_text(const api::Value& status);
    Shown show_workload(const Submitted& known, const api::Value& object);
    Shown show_wrapper(const Submitted& known, const api::Value& object);
    void tell_cycle();
    std::string own_words(std::string text, const Submitted* about) const;
    /// Objects that the change says, and a refusal.
    struct Writer;

    World world_;
    std::function<void(api::Value line)> told_;
    Time told_at_ = decide::scenario_start;
    bool faulty_ = false;
    bool changed_ = false;  // Since the last cycle.
    std::map<std::string, Submitted> submitted_;
    std::map<std::string, std::string> queue_behind_;  // "ns/local queue" -> cluster queue.
    std::map<std::string, std::string> pods_;          // As said -> path.
    std::map<std::string, Shown> shown_;               // As of the last cycle.
    std::vector<std::string> queues_;
};

/// The expectations of a scenario in the form in which they show on any ground: what one cycle
/// admits, evicts and keeps waiting in the order of names, and without `look`, which no object
/// shows.
std::string comparable(std::string_view printed);

}  // namespace muster::sim
