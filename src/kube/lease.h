// kube/lease.h - leader election: of several programs the one that holds a Lease works.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/value.h"
#include "base/loop.h"
#include "kube/transport.h"

namespace muster::kube {

/// Which Lease, and how long it binds. As in client-go: whoever has not renewed for `renew_within`
/// stops working, before others take over after `lease`.
struct LeaseOptions {
    std::string ns;
    std::string name;
    std::string identity;  // Of this program; no two are the same.
    Duration lease = seconds(15);
    Duration renew_within = seconds(10);
    Duration retry = seconds(2);
    /// A clock that only goes forward. Null: the loop's, which may jump.
    std::function<Duration()> stopwatch = nullptr;
};

/// What was last seen of a Lease, and since when on this machine's own clock: others' clocks do not
/// count.
struct LeaseSight {
    std::string holder;
    std::string renewed;
    std::string version;
    std::int64_t transitions = 0;  // How often it has changed hands.
    Duration lease;
    Time since;
};

/// A Lease as the server has it now; the time stays when nothing has changed.
LeaseSight see_lease(const std::optional<LeaseSight>& before, const api::Value& lease, Time now);

/// The Lease that was seen is there no more. That is a change of its own: its holder may have
/// renewed it right before, and does not know yet.
LeaseSight see_no_lease(const LeaseSight& before, Time now);

/// Whether this program may write itself into what was seen.
bool may_take(const LeaseSight& sight, const std::string& identity, Time now);

/// The Lease to write: taken, renewed, or with an empty identity given back. `lease` is null when
/// there is none, yet or any more; then `last` is what was seen of the one that has gone. It binds
/// for whole seconds, not fewer than the options say: others go by what it says.
api::Value held_lease(const LeaseOptions& options, const std::string& identity,
                      const api::Value& lease, Time now,
                      const std::optional<LeaseSight>& last = std::nullopt);

/// Tries to hold a Lease for as long as it lives. Lives on one loop.
///
/// Who waits asks every `retry`, at the moment when the Lease ends, and as soon as a watch says
/// that it has changed: what is given back is taken at once. Without the right to watch it goes
/// without. A Lease that somebody has deleted binds those who have seen it as if it were there: its
/// holder has not heard of that yet.
class Elector {
public:
    struct Events {
        std::function<void()> leading;  // Once: from now on.
        std::function<void()> lost;  // Once, after `leading`: work must have ended when it returns.
        std::function<void(const std::string& holder)> following;  // Somebody else has it.
    };

    Elector(Transport& transport, Loop& loop, LeaseOptions options, Events events);
    ~Elector();
    Elector(const Elector&) = delete;
    Elector& operator=(const Elector&) = delete;

    void start() { ask(); }
    /// Whether it may act at this moment: it leads, and has renewed in time. Asked before each
    /// write (fence.h), for a program that stood still may go on in the middle of one. With the
    /// first no after a yes it has lost, which is told in a task of its own.
    bool may_act();
    /// Another one led before this one, by what the Lease says, and not so long ago that nothing
    /// of it can come any more.
    bool had_predecessor() const;
    /// Gives the Lease back when it is held; then `done`. Who may not any more says so in the log,
    /// and others wait until the Lease ends: nobody can tell them that this program has stopped.
    void release(std::function<void()> done);

private:
    void ask();
    void take_lease(const net::Response& response);
    void write(const api::Value& lease);
    void take_written(const net::Response& response, Time sent);
    void take_too_late(const net::Response& response);
    void give_back(std::function<void()> done, int tries);
    void give_back_newer(std::function<void()> done, int tries);
    void tell_not_given_back(const net::Response& response) const;
    void again();
    void follow();
    void unfollow();
    void hear();
    void check_time();
    void lose();
    Time local() const;
    std::function<void(net::Response)> guarded(void (Elector::*take)(const net::Response&));

    Transport& transport_;
    Loop& loop_;
    LeaseOptions options_;
    Events events_;
    std::optional<LeaseSight> sight_;
    api::Value lease_;
    Time held_since_;   // When the write went out that the server took last; local.
    Time leads_since_;  // Local.
    std::function<void()> after_write_;          // To be told when a write under way is settled.
    std::optional<Transport::StreamId> stream_;  // Tells a follower of the Lease's changes.
    Time follow_again_;                          // Not before; local.
    std::int64_t round_ = 0;  // Of waiting; timers of an earlier one are ignored.
    bool waiting_ = false;    // Nothing is under way but a timer.
    bool heard_ = false;      // It has changed since it was asked for last.
    bool writing_ = false;
    bool leading_ = false;
    bool over_ = false;
    std::shared_ptr<int> alive_ = std::make_shared<int>(0);
};

}  // namespace muster::kube
