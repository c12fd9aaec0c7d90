// control/event_recorder_test.cpp - events in a burst: one at a time, in order, none twice.
#include "control/event_recorder.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/manual_loop.h"

namespace muster::control {
namespace {

/// A server that answers when it is told to.
struct SlowServer : kube::Transport {
    std::vector<net::Request> requests;
    std::vector<OnResponse> unanswered;

    void send(net::Request request, OnResponse on_response) override {
        requests.push_back(std::move(request));
        unanswered.push_back(std::move(on_response));
    }
    StreamId open(net::Request, Stream) override { return {}; }
    void cancel(StreamId) override {}

    void answer_all(int status = 201, const std::string& retry_after = "") {
        net::Response response{status, {}, nullptr};
        if (!retry_after.empty()) response.headers.set("Retry-After", retry_after);
        for (const OnResponse& answer : std::exchange(unanswered, {}))
            answer(response);
    }
};

struct Recording {
    ManualLoop loop;
    SlowServer server;
    EventRecorder recorder{server, loop};

    void record(std::size_t number) {
        const Event event{{{"", "pods"}, "team", "p" + std::to_string(number)},
                          "Normal",
                          "Started",
                          "it runs",
                          ""};
        recorder.record(event, nullptr, "v1", "test");
    }
};

TEST_CASE("a burst of events is written one after the other, all of it") {
    Recording world;
    for (std::size_t i = 0; i < 5; ++i)
        world.record(i);
    for (std::size_t i = 0; i < 5; ++i) {
        REQUIRE(world.server.requests.size() == i + 1);
        CHECK(world.server.requests.back().body->find("p" + std::to_string(i)) !=
              std::string::npos);
        world.server.answer_all();
    }
    CHECK(world.server.requests.size() == 5);
}

TEST_CASE("a slow server has pauses between events") {
    Recording world;
    world.record(1);
    world.record(2);
    world.loop.advance(milliseconds(300));
    world.server.answer_all();
    CHECK(world.server.requests.size() == 1);
    world.loop.advance(milliseconds(299));
    CHECK(world.server.requests.size() == 1);
    world.loop.advance(milliseconds(1));
    CHECK(world.server.requests.size() == 2);
}

TEST_CASE("an event that comes again while it waits is counted, not made twice") {
    Recording world;
    for (int i = 0; i < 3; ++i)
        world.record(7);
    while (!world.server.unanswered.empty())
        world.server.answer_all();
    REQUIRE(world.server.requests.size() == 3);
    CHECK(world.server.requests[0].method == "POST");
    CHECK(world.server.requests[2].method == "PATCH");
    CHECK(world.server.requests[2].body->find("\"count\":3") != std::string::npos);
}

TEST_CASE("an event that is gone, or was never made, is made anew when it comes again") {
    Recording world;
    world.record(7);
    world.server.answer_all();
    world.record(7);
    REQUIRE(world.server.requests.back().method == "PATCH");
    world.server.answer_all(404);  // An hour has passed.
    REQUIRE(world.server.requests.size() == 3);
    CHECK(world.server.requests.back().method == "POST");
    world.server.answer_all(503);
    world.record(7);
    REQUIRE(world.server.requests.size() == 4);
    CHECK(world.server.requests.back().method == "POST");
    world.server.answer_all(404);  // Its namespace is gone.
    CHECK(world.server.requests.size() == 4);
}

TEST_CASE(
    "an event that the server has no time for is sent again when it said, before the others") {
    Recording world;
    for (int i = 0; i < 2; ++i)
        world.record(7);
    world.record(8);
    world.server.answer_all();
    REQUIRE(world.server.requests.size() == 2);
    world.server.answer_all(429, "3");
    world.loop.advance(milliseconds(2999));
    CHECK(world.server.requests.size() == 2);
    world.loop.advance(milliseconds(1));
    REQUIRE(world.server.requests.size() == 3);
    CHECK(world.server.requests[2].method == "PATCH");
    CHECK(*world.server.requests[2].body == *world.server.requests[1].body);  // Counted once.
    world.server.answer_all();
    REQUIRE(world.server.requests.size() == 4);
    CHECK(world.server.requests[3].body->find("p8") != std::string::npos);
    for (std::size_t i = 0; i < 4; ++i) {
        world.server.answer_all(429, "100000");
        world.loop.advance(minutes(1));
        REQUIRE(world.server.requests.size() == 5 + i);
    }
    world.server.answer_all(429);
    world.loop.advance(minutes(5));
    CHECK(world.server.requests.size() == 8);  // Lost.
    world.record(8);
    CHECK(world.server.requests.back().method == "POST");
}

TEST_CASE("who ends writes no more events") {
    Recording world;
    world.record(1);
    world.record(2);
    world.recorder.stop();
    world.server.answer_all();
    world.record(3);
    CHECK(world.server.requests.size() == 1);
}

TEST_CASE("what the server does not take for long is lost, and what comes later is not") {
    Recording world;
    constexpr std::size_t kept = 1 + EventRecorder::waiting_max;
    for (std::size_t i = 0; i < kept + 5; ++i)
        world.record(i);
    while (!world.server.unanswered.empty())
        world.server.answer_all();
    CHECK(world.server.requests.size() == kept);
    world.record(kept + 5);
    CHECK(world.server.requests.size() == kept + 1);
}

}  // namespace
}  // namespace muster::control
