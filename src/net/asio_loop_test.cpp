// net/asio_loop_test.cpp - order of tasks and timers, cancelling, and watched descriptors.
#include "net/asio_loop.h"

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <doctest/doctest.h>
#include <unistd.h>

namespace muster::net {

TEST_CASE("tasks run in the order posted, timers in the order due, cancelled ones never") {
    AsioLoop loop;
    std::string seen;
    loop.post([&] { seen += "a"; });
    loop.post([&] { seen += "b"; });
    loop.after(milliseconds(3), [&] { loop.stop(); });
    loop.after(milliseconds(2), [&] { seen += "d"; });
    loop.after(milliseconds(1), [&] { seen += "c"; });
    const auto forgotten = loop.after(milliseconds(1), [&] { seen += "x"; });
    loop.cancel(forgotten);
    loop.run();
    CHECK(seen == "abcd");
}

TEST_CASE("a timer that is due can still be cancelled by a task before it") {
    AsioLoop loop;
    std::string seen;
    Loop::TimerId second{};
    loop.after(milliseconds(0), [&] {
        seen += "a";
        loop.cancel(second);
    });
    second = loop.after(milliseconds(0), [&] { seen += "x"; });
    loop.after(milliseconds(1), [&] { loop.stop(); });
    loop.run();
    CHECK(seen == "a");
}

TEST_CASE("a watched descriptor calls as long as it is ready and wanted, and stays open after") {
    AsioLoop loop;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    REQUIRE(write(ends[1], "abc", 3) == 3);
    std::string seen;
    AsioLoop::WatchId watch{};
    watch = loop.watch(ends[0], {.read = true}, [&](AsioLoop::Interest ready) {
        CHECK(ready.read);
        char c = 0;
        CHECK(read(ends[0], &c, 1) == 1);  // One byte a call: it is level-triggered.
        seen += c;
        if (seen == "ab") {
            loop.unwatch(watch);
            loop.after(milliseconds(1), [&] { loop.stop(); });
        }
    });
    loop.run();
    CHECK(seen == "ab");
    char c = 0;
    CHECK(read(ends[0], &c, 1) == 1);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("a closed other end is readiness to read, and interest can be changed") {
    AsioLoop loop;
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::string seen;
    const auto watch = loop.watch(ends[0], {}, [&](AsioLoop::Interest) {
        seen += "closed";
        loop.stop();
    });
    close(ends[1]);
    loop.after(milliseconds(1), [&] {
        CHECK(seen.empty());
        loop.change(watch, {.read = true});
    });
    loop.run();
    CHECK(seen == "closed");
    loop.unwatch(watch);
    close(ends[0]);
}

TEST_CASE("a started loop runs on its own thread and stop waits for it") {
    AsioLoop loop;
    loop.start("test");
    std::atomic<bool> there{false};
    loop.post([&] { there = loop.on_this_thread(); });
    while (!there)
        std::this_thread::yield();
    CHECK_FALSE(loop.on_this_thread());
    loop.stop();
}

TEST_CASE("a loop that gathers runs in bundles what comes often, and all of it") {
    constexpr int count = 300;
    AsioLoop source;
    AsioLoop loop;
    loop.gather(milliseconds(500));
    loop.start("bundles");
    int tasks = 0;
    int bundles = 0;
    bool in_bundle = false;
    const auto task = [&] {
        if (++tasks == count) source.stop();
        if (std::exchange(in_bundle, true)) return;
        ++bundles;
        loop.post([&] { in_bundle = false; });
    };
    int sent = 0;
    std::function<void()> trickle = [&] {
        loop.post(task);
        if (++sent < count) source.after(milliseconds(1), trickle);
    };
    source.post(trickle);
    source.run();
    loop.stop();
    CHECK(tasks == count);
    CHECK(bundles < count / 3);
}

}  // namespace muster::net
