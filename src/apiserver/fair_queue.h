// apiserver/fair_queue.h - whose request is next: the client's that has had the least of the
// server's time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/time.h"

namespace muster::apiserver {

/// Requests that wait for their turn, in one line for each client. Of the clients that wait, the
/// one is next that has used the least of the server's time since it began to wait; one that comes
/// anew begins with those that are there, so that it cannot save time up. Pure: time is given.
class FairQueue {
public:
    struct Waiting {
        std::function<void()> run;
        std::function<void()> refuse;  // In place of `run` when it has waited for too long.
        /// False: there is no room for its answer yet, and others go first.
        std::function<bool()> has_room;
        Time until;
        /// The parts of a line take turns, and when it is full the longest gives way: so nobody who
        /// shares a line with others fills it.
        std::string part{};
    };
    /// What is to be called next, and for whom.
    struct Turn {
        std::string client;
        std::function<void()> call;
    };

    /// False: the client has too many in its line already.
    [[nodiscard]] bool push(const std::string& client, Waiting waiting);
    /// Absent: nobody waits, or there is room for nobody who does.
    std::optional<Turn> next(Time now);
    /// The client has had so much of the server's time.
    void spent(const std::string& client, Duration time);
    bool empty() const { return ready_.empty() && displaced_.empty(); }
    /// `next` would give something.
    bool has_next(Time now) const;

    static constexpr std::size_t line_max = 5000;

private:
    struct Line {
        std::map<std::string, std::deque<Waiting>> parts;  // None of them is empty.
        std::deque<std::string> order;                     // The parts, as their turns come.
        std::size_t size = 0;
        std::int64_t used = 0;  // Nanoseconds, counted from where everybody began.

        const Waiting& first() const { return parts.at(order.front()).front(); }
        Waiting take_first();
        std::optional<Waiting> make_room(const std::string& part);
    };
    void forget_idle();

    std::map<std::string, Line> lines_;
    std::set<std::pair<std::int64_t, std::string>> ready_;  // Lines in which somebody waits.
    std::deque<Turn> displaced_;                            // Refused for others of their line.
    std::int64_t begin_ = 0;                                // What the last one served had used.
};

}  // namespace muster::apiserver
