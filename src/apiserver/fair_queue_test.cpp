// apiserver/fair_queue_test.cpp - who is served before whom.
#include "apiserver/fair_queue.h"

#include <map>

#include <doctest/doctest.h>

namespace muster::apiserver {
namespace {

/// A server that is only a queue: a turn takes as long as the client's requests do.
struct Counter {
    FairQueue queue;
    std::map<std::string, Duration> takes;
    std::string served;  // First letters of the clients, in order.
    Time now;

    void push(const std::string& client, int count, Duration patience = seconds(10)) {
        for (int i = 0; i < count; ++i) {
            FairQueue::Waiting waiting;
            waiting.run = [this, client] { served += client[0]; };
            waiting.refuse = [this] { served += '!'; };
            waiting.until = now + patience;
            REQUIRE(queue.push(client, std::move(waiting)));
        }
    }
    void serve(int count) {
        for (int i = 0; i < count; ++i) {
            const auto turn = queue.next(now);
            if (!turn) return;
            turn->call();
            queue.spent(turn->client, takes[turn->client]);
        }
    }
};

}  // namespace

TEST_CASE("one with a thousand requests does not keep another from the second turn") {
    Counter counter;
    counter.takes = {{"many", milliseconds(1)}, {"few", milliseconds(1)}};
    counter.push("many", 1000);
    counter.serve(100);
    counter.push("few", 2);
    counter.served.clear();
    counter.serve(5);
    CHECK(counter.served.find('f') <= 1);
    CHECK(counter.served.rfind('f') <= 3);
}

TEST_CASE("the parts of a line take turns, and the longest gives way when the line is full") {
    FairQueue queue;
    std::string served;
    const auto push = [&](const std::string& part) {
        FairQueue::Waiting waiting;
        waiting.run = [&served, part] { served += part; };
        waiting.refuse = [&served] { served += '!'; };
        waiting.until = Time{} + seconds(10);
        waiting.part = part;
        return queue.push("line", std::move(waiting));
    };
    for (std::size_t i = 0; i < FairQueue::line_max; ++i)
        REQUIRE(push("b"));
    CHECK_FALSE(push("b"));
    CHECK(push("g"));
    CHECK(push("g"));
    for (int i = 0; i < 7; ++i)
        queue.next(Time{})->call();
    CHECK(served == "!!bgbgb");
}

TEST_CASE("time counts, not requests: long ones wait for as much of short ones") {
    Counter counter;
    counter.takes = {{"long", milliseconds(100)}, {"short", milliseconds(1)}};
    counter.push("long", 100);
    counter.push("short", 1000);
    counter.serve(505);
    CHECK(std::count(counter.served.begin(), counter.served.end(), 'l') <= 6);
    CHECK(std::count(counter.served.begin(), counter.served.end(), 's') >= 499);
}

TEST_CASE("who was away for long has saved nothing up") {
    Counter counter;
    counter.takes = {{"a", milliseconds(10)}, {"b", milliseconds(10)}};
    counter.push("b", 1);
    counter.push("a", 1000);
    counter.serve(500);
    counter.push("b", 100);
    counter.served.clear();
    counter.serve(20);
    CHECK(std::count(counter.served.begin(), counter.served.end(), 'a') >= 9);
}

TEST_CASE("who has no room is passed over until it has, and is refused when that takes too long") {
    Counter counter;
    bool room = false;
    FairQueue::Waiting waiting;
    waiting.run = [&] { counter.served += 'w'; };
    waiting.refuse = [&] { counter.served += '!'; };
    waiting.has_room = [&] { return room; };
    waiting.until = Time{} + seconds(5);
    REQUIRE(counter.queue.push("w", waiting));
    counter.push("other", 1);
    counter.serve(5);
    CHECK(counter.served == "o");
    CHECK_FALSE(counter.queue.empty());
    SUBCASE("room comes") {
        room = true;
        counter.serve(1);
        CHECK(counter.served == "ow");
    }
    SUBCASE("room does not come") {
        counter.now = Time{} + seconds(5);
        counter.serve(1);
        CHECK(counter.served == "o!");
    }
    CHECK(counter.queue.empty());
}

TEST_CASE("a line has an end") {
    FairQueue queue;
    FairQueue::Waiting waiting;
    waiting.until = Time{} + seconds(1);
    for (std::size_t i = 0; i < FairQueue::line_max; ++i)
        REQUIRE(queue.push("a", waiting));
    CHECK_FALSE(queue.push("a", waiting));
    CHECK(queue.push("b", waiting));
}

}  // namespace muster::apiserver
