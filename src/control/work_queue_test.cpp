// control/work_queue_test.cpp - each key once in line, never while it runs, failures later and
// later.
#include "control/work_queue.h"

#include <doctest/doctest.h>

namespace muster::control {
namespace {

const api::Key a{{"", "pods"}, "default", "a"};
const api::Key b{{"", "pods"}, "default", "b"};
const Time start{1'000'000'000};

TEST_CASE("a key that is woken twice is taken once") {
    WorkQueue queue;
    queue.wake(a);
    queue.wake(b);
    queue.wake(a);
    CHECK(queue.take(start) == a);
    CHECK(queue.take(start) == b);
    CHECK_FALSE(queue.take(start).has_value());
}

TEST_CASE("a key that is woken while it runs comes back when it is done") {
    WorkQueue queue;
    queue.wake(a);
    REQUIRE(queue.take(start) == a);
    queue.wake(a);
    CHECK_FALSE(queue.take(start).has_value());
    queue.done(a);
    CHECK(queue.take(start) == a);
    queue.done(a);
    CHECK(queue.idle());
}

TEST_CASE("when the clock is set, delayed keys wait as long as before") {
    WorkQueue queue;
    queue.wake_at(a, start + seconds(2));
    queue.set_clock(seconds(-3600));
    const Time now = start + seconds(-3600);
    CHECK_FALSE(queue.take(now + seconds(1)).has_value());
    CHECK(queue.next_due() == now + seconds(2));
    CHECK(queue.take(now + seconds(2)) == a);
}

TEST_CASE("failures come back later and later and a success forgets them") {
    WorkQueue queue;
    queue.wake(a);
    Time now = start;
    Duration last{0};
    for (int i = 0; i < 12; ++i) {
        REQUIRE(queue.take(now) == a);
        queue.failed(a, now);
        const Duration wait = *queue.next_due() - now;
        CHECK(wait >= last);
        CHECK(wait <= seconds(30));
        last = wait;
        CHECK_FALSE(queue.take(now).has_value());
        now = *queue.next_due();
    }
    CHECK(last == seconds(30));
    REQUIRE(queue.take(now) == a);
    queue.done(a);
    queue.wake(a);
    REQUIRE(queue.take(now) == a);
    queue.failed(a, now);
    CHECK(*queue.next_due() - now == milliseconds(100));
}

TEST_CASE("a wake cuts a pause short, but not the wait that a server has asked for") {
    WorkQueue queue;
    const auto fail = [&](Time now, Duration wait) {
        queue.wake(a);
        REQUIRE(queue.take(now) == a);
        queue.failed(a, now, wait);
    };
    fail(start, {});
    REQUIRE(queue.next_due().has_value());
    fail(start, seconds(5));  // The wake in it has cut the pause short.
    queue.wake(a);
    queue.wake_at(a, start + seconds(2));
    CHECK_FALSE(queue.take(start + milliseconds(4999)).has_value());
    CHECK(queue.next_due() == start + seconds(5));
    queue.set_clock(seconds(-100));
    CHECK_FALSE(queue.take(start + milliseconds(4999) - seconds(100)).has_value());
    CHECK(queue.take(start + seconds(5) - seconds(100)) == a);
    queue.done(a);
    queue.wake(a);  // Once it is over nothing of it is left.
    CHECK(queue.take(start) == a);
    queue.done(a);
    CHECK(queue.idle());
    CHECK_FALSE(queue.next_due().has_value());
}

TEST_CASE("of several times the earliest counts") {
    WorkQueue queue;
    queue.wake_at(a, start + seconds(5));
    queue.wake_at(a, start + seconds(2));
    queue.wake_at(a, start + seconds(9));
    CHECK_FALSE(queue.take(start + seconds(1)).has_value());
    CHECK(queue.take(start + seconds(2)) == a);
    CHECK_FALSE(queue.next_due().has_value());
}

TEST_CASE("when to look again is as the last run said") {
    WorkQueue queue;
    queue.wake_at(a, start + seconds(5));
    queue.wake(a);
    REQUIRE(queue.take(start) == a);
    queue.done(a);
    CHECK_FALSE(queue.next_due().has_value());
    queue.wake_at(a, start + seconds(9));
    CHECK(queue.next_due() == start + seconds(9));
}

}  // namespace
}  // namespace muster::control
