// kube/lease.cpp - what a Lease says, and the rounds of asking and writing.
#include "kube/lease.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "kube/request.h"

namespace muster::kube {
namespace {

using api::Value;

const Target leases{{"coordination.k8s.io", "leases"}, "v1"};
constexpr Duration look_at_clock = milliseconds(200);
constexpr int release_tries = 3;
/// So long after its end something of a former leader may still come true: twice as long as an API
/// server works on a request.
constexpr Duration late_writes_max = minutes(2);
/// Whoever may not watch asks for it again after so long.
constexpr Duration follow_pause = minutes(1);

/// Rounded up: whoever leads counts by the exact time, and nobody may take over before that.
std::int64_t seconds_rounded_up(Duration span) {
    return (span.nanoseconds + 999'999'999) / 1'000'000'000;
}

}  // namespace

LeaseSight see_lease(const std::optional<LeaseSight>& before, const Value& lease, Time now) {
    const Value& spec = lease["spec"];
    LeaseSight sight;
    sight.holder = spec["holderIdentity"].text();
    sight.renewed = spec["renewTime"].text();
    sight.version = lease["metadata"]["resourceVersion"].text();
    sight.transitions = spec["leaseTransitions"].integer_or(0);
    sight.lease = seconds(spec["leaseDurationSeconds"].integer_or(0));
    const bool same = before && before->holder == sight.holder &&
                      before->renewed == sight.renewed && before->version == sight.version;
    sight.since = same ? before->since : now;
    return sight;
}

LeaseSight see_no_lease(const LeaseSight& before, Time now) {
    LeaseSight sight = before;
    if (before.version.empty()) return sight;  // It has been gone for a while.
    sight.version.clear();
    sight.since = now;
    return sight;
}

bool may_take(const LeaseSight& sight, const std::string& identity, Time now) {
    return sight.holder.empty() || sight.holder == identity || now - sight.since >= sight.lease;
}

Value held_lease(const LeaseOptions& options, const std::string& identity, const Value& lease,
                 Time now, const std::optional<LeaseSight>& last) {
    const Value& before = lease["spec"];
    const bool is_first = lease.is_null() && !last;
    const bool same = before["holderIdentity"].text_or("") == identity;
    const bool goes_on = same || (lease.is_null() && last && last->holder == identity);
    const std::int64_t transitions =
        lease.is_null() && last ? last->transitions : before["leaseTransitions"].integer_or(0);
    const std::string present = to_rfc3339_micro(now);
    Value spec = Value::object(
        {{"holderIdentity", identity},
         {"leaseDurationSeconds", identity.empty() ? 1 : seconds_rounded_up(options.lease)},
         {"acquireTime", same ? before["acquireTime"] : Value(present)},
         {"renewTime", present},
         {"leaseTransitions", transitions + (goes_on || is_first || identity.empty() ? 0 : 1)}});
    Value metadata = Value::object({{"name", options.name}, {"namespace", options.ns}});
    if (!lease.is_null()) metadata = lease["metadata"];
    return Value::object({{"apiVersion", "coordination.k8s.io/v1"},
                          {"kind", "Lease"},
                          {"metadata", std::move(metadata)},
                          {"spec", std::move(spec)}});
}

Elector::Elector(Transport& transport, Loop& loop, LeaseOptions options, Events events)
    : transport_(transport),
      loop_(loop),
      options_(std::move(options)),
      events_(std::move(events)) {}

std::function<void(net::Response)> Elector::guarded(void (Elector::*take)(const net::Response&)) {
    return [this, take, alive = std::weak_ptr<int>(alive_)](const net::Response& response) {
        if (!alive.expired() && !over_) (this->*take)(response);
    };
}

/// For how long things last; what is written into the Lease is the loop's time.
Time Elector::local() const {
    return options_.stopwatch ? Time{} + options_.stopwatch() : loop_.now();
}

Elector::~Elector() {
    unfollow();
}

void Elector::ask() {
    ++round_;
    waiting_ = heard_ = false;
    transport_.send(get(leases, options_.ns, options_.name), guarded(&Elector::take_lease));
}

void Elector::take_lease(const net::Response& response) {
    const Time now = loop_.now();
    if (response.status == 404) {
        lease_ = {};
        if (sight_) sight_ = see_no_lease(*sight_, local());
        if (sight_ && !may_take(*sight_, options_.identity, local())) return again();
        return write(held_lease(options_, options_.identity, lease_, now, sight_));
    }
    if (response.status != 200) {
        log_warning("election", "the Lease cannot be read: " + std::to_string(response.status) +
                                    (response.body ? " " + *response.body : ""));
        return again();
    }
    lease_ = body_of(response);
    const std::string before = sight_ ? sight_->holder : "";
    sight_ = see_lease(sight_, lease_, local());
    if (may_take(*sight_, options_.identity, local()))
        return write(held_lease(options_, options_.identity, lease_, now));
    if (sight_->holder != before && events_.following) events_.following(sight_->holder);
    // Somebody has written over it.
    if (leading_) return lose();
    follow();
    again();
}

void Elector::write(const Value& lease) {
    const bool is_new = lease_.is_null();
    const api::Key key{leases.resource, options_.ns, options_.name};
    net::Request request = is_new ? create(leases, options_.ns, options_.name, "", lease)
                                  : update(leases, key, "", lease);
    writing_ = true;
    transport_.send(std::move(request), [this, sent = local(), alive = std::weak_ptr<int>(alive_)](
                                            const net::Response& response) {
        if (alive.expired()) return;
        writing_ = false;
        if (over_) return take_too_late(response);
        take_written(response, sent);
    });
}

void Elector::take_written(const net::Response& response, Time sent) {
    if (response.status != 200 && response.status != 201) {
        // Somebody else was quicker, or the server is away: what it has now decides. Anything else
        // is told, for who asks again in vain never leads, or ends.
        if (response.status != 409 && response.status != 0) {
            log_warning("election",
                        "the Lease cannot be written: " + std::to_string(response.status) +
                            (response.body ? " " + *response.body : ""));
        }
        return again();
    }
    lease_ = body_of(response);
    sight_ = see_lease(sight_, lease_, local());
    held_since_ = sent;
    // An answer that has waited for long says nothing of now: it is renewed before anything else.
    if (!leading_ && local() - sent < options_.renew_within) {
        leading_ = true;
        leads_since_ = local();
        unfollow();
        check_time();
        events_.leading();
    }
    again();
}

/// It has ended since. What it has taken all the same is given back.
void Elector::take_too_late(const net::Response& response) {
    auto done = std::exchange(after_write_, nullptr);
    if (!done) return;
    if (response.status != 200 && response.status != 201) return done();
    lease_ = body_of(response);
    give_back(std::move(done), release_tries);
}

void Elector::again() {
    Duration wait = options_.retry;
    // Who works writes every `retry`, and each time the watch says so: asking comes a little later.
    if (stream_) wait = wait + nanoseconds(wait.nanoseconds / 2);
    // A Lease of somebody who has gone is taken when its time is over, not a round later.
    // When that could not be done, the server needs no hurry.
    if (sight_ && sight_->holder != options_.identity) {
        const Duration left = sight_->since + sight_->lease - local();
        if (left > Duration()) wait = std::clamp(left, milliseconds(10), wait);
    }
    waiting_ = true;
    loop_.after(heard_ ? Duration{} : wait,
                [this, round = ++round_, alive = std::weak_ptr<int>(alive_)] {
                    if (!alive.expired() && !over_ && round == round_) ask();
                });
}

/// Whatever a watch says of the Lease, it is asked for: what it says counts from then on.
void Elector::follow() {
    if (stream_ || local() < follow_again_) return;
    follow_again_ = local() + options_.retry;
    net::Request request = list(leases, options_.ns);
    request.query.emplace_back("watch", "true");
    request.query.emplace_back("fieldSelector", "metadata.name=" + options_.name);
    request.query.emplace_back("resourceVersion", lease_["metadata"]["resourceVersion"].text());
    const std::weak_ptr<int> alive = alive_;
    Transport::Stream stream;
    stream.on_head = [this, alive](const net::Response& head) {
        if (!alive.expired() && head.status != 200) follow_again_ = local() + follow_pause;
    };
    stream.on_piece = [this, alive](std::string_view) {
        if (!alive.expired()) hear();
    };
    stream.on_closed = [this, alive] {
        if (!alive.expired()) stream_.reset();
    };
    stream_ = transport_.open(std::move(request), std::move(stream));
}

void Elector::unfollow() {
    if (stream_) transport_.cancel(*std::exchange(stream_, std::nullopt));
}

void Elector::hear() {
    if (over_ || leading_) return;
    heard_ = true;
    if (waiting_) again();
}

bool Elector::had_predecessor() const {
    return leading_ && lease_["spec"]["leaseTransitions"].integer_or(0) > 0 &&
           local() - leads_since_ < late_writes_max;
}

bool Elector::may_act() {
    if (over_ || !leading_) return false;
    if (local() - held_since_ < options_.renew_within) return true;
    over_ = true;
    leading_ = false;
    loop_.post([this, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) events_.lost();
    });
    return false;
}

/// Whoever could not renew in time must not act: others will soon think that it has gone.
void Elector::check_time() {
    if (over_) return;
    if (local() - held_since_ >= options_.renew_within) return lose();
    loop_.after(look_at_clock, [this, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) check_time();
    });
}

void Elector::lose() {
    over_ = true;
    leading_ = false;  // What is in the Lease now is not ours to give back.
    events_.lost();
}

void Elector::release(std::function<void()> done) {
    over_ = true;
    unfollow();
    if (!leading_ && writing_) {
        after_write_ = std::move(done);
        return;
    }
    if (!leading_) return done();
    give_back(std::move(done), release_tries);
}

void Elector::give_back(std::function<void()> done, int tries) {
    const api::Key key{leases.resource, options_.ns, options_.name};
    transport_.send(update(leases, key, "", held_lease(options_, "", lease_, loop_.now())),
                    [this, tries, done = std::move(done),
                     alive = std::weak_ptr<int>(alive_)](const net::Response& response) mutable {
                        if (response.status == 200 || alive.expired()) return done();
                        // A renewal was on its way, and has been written since.
                        if (response.status == 409 && tries > 1)
                            return give_back_newer(std::move(done), tries - 1);
                        tell_not_given_back(response);
                        done();
                    });
}

void Elector::tell_not_given_back(const net::Response& response) const {
    if (response.status == 404) return;  // It went before us, and nobody else has it.
    log_warning("election", "the Lease could not be given back: another operator waits " +
                                std::to_string(seconds_rounded_up(options_.lease)) +
                                " s from its last renewal on. The server says " +
                                std::to_string(response.status) +
                                (response.body ? " " + *response.body : ""));
}

/// What the server has now, when that is still ours.
void Elector::give_back_newer(std::function<void()> done, int tries) {
    transport_.send(get(leases, options_.ns, options_.name),
                    [this, tries, done = std::move(done),
                     alive = std::weak_ptr<int>(alive_)](const net::Response& response) mutable {
                        if (alive.expired()) return done();
                        if (response.status != 200) {
                            tell_not_given_back(response);
                            return done();
                        }
                        lease_ = body_of(response);
                        if (lease_["spec"]["holderIdentity"].text_or("") != options_.identity)
                            return done();
                        give_back(std::move(done), tries);
                    });
}

}  // namespace muster::kube
