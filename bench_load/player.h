// bench_load/player.h - plays a load against an API server: creates it, is each job in place of a
// real one, and writes down what it sees.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/loop.h"
#include "bench_load/plan.h"
#include "kube/transport.h"
#include "kube/watcher.h"

namespace muster::load {

/// What came of one class.
struct ClassFigures {
    std::int64_t workloads = 0;
    Duration to_admission;  // Sum over all; from creation to the last admission.
};

/// What came of a load.
struct LoadFigures {
    Duration wall;          // From the first creation to the last end that was seen.
    std::int64_t held = 0;  // cpu-nanoseconds that were admitted and not yet ended.
    std::int64_t evictions = 0;
    std::int64_t own_writes = 0;    // To Workloads, by this program: creations and ends included.
    std::int64_t other_writes = 0;  // To Workloads, by everybody else: changes seen, less our own.
    std::int64_t conflicts = 0;     // Of our own writes; each was made again.
    std::vector<ClassFigures> classes;
};

/// Creates a plan's objects and then, as its moments come, its workloads; ends what is admitted
/// after its time, gives back the quota of what is evicted. Lives on one loop.
class LoadPlayer {
public:
    using OnDone = std::function<void(LoadFigures)>;
    /// `on_failed` gets a sentence; nothing is done after it.
    using OnFailed = std::function<void(std::string)>;
    /// `on_progress` gets how many are created and ended, once a second.
    using OnProgress = std::function<void(std::int64_t created, std::int64_t ended)>;

    LoadPlayer(kube::Transport& transport, Loop& loop, LoadPlan plan);
    void start(OnDone on_done, OnFailed on_failed, OnProgress on_progress);

private:
    struct Playing {
        std::size_t kind = 0;
        Time created;
        std::optional<Time> admitted;  // Holds quota as far as was seen.
        bool ended = false;
        bool writing = false;    // One write of ours at a time.
        kube::ObjectPtr latest;  // As last seen.
        std::int64_t stale = 0;  // The version that a write met a conflict on.
        Loop::TimerId timer{};
        bool timed = false;
        bool is_over = false;  // Its time has come.
    };

    void build();
    void begin();
    void create_due();
    void send_waiting();
    void take(const kube::ObjectPtr& object);
    void act_on(Playing& playing);
    void end(Playing& playing);
    void give_back(Playing& playing);
    void write_status(Playing& playing, const api::Value& status);
    void note_admission(Playing& playing);
    void note_release(Playing& playing);
    void tell_progress();
    void fail(const std::string& text);
    void finish();

    kube::Transport& transport_;
    Loop& loop_;
    LoadPlan plan_;
    OnDone on_done_;
    OnFailed on_failed_;
    OnProgress on_progress_;
    kube::Watcher watcher_;
    std::vector<Creation> structure_;
    std::size_t built_ = 0;
    std::vector<Arrival> arrivals_;
    std::size_t next_ = 0;                                 // Of the arrivals.
    std::int64_t in_flight_ = 0;                           // Creations.
    std::map<std::string, Playing, std::less<>> playing_;  // By name.
    Time started_;
    std::int64_t ended_ = 0;
    std::int64_t seen_writes_ = 0;
    bool over_ = false;
    LoadFigures figures_;
};

}  // namespace muster::load
