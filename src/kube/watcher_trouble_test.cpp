// kube/watcher_trouble_test.cpp - when a watcher says that nothing is heard, and why.
#include <doctest/doctest.h>

#include "kube/watcher_ground_test.h"

namespace muster::kube {

TEST_CASE("a kind that was there and is gone is a trouble until it is back") {
    Ground ground;
    ScriptedServer& server = ground.server;
    server.accept();
    server.say(event("ADDED", "a", 1) + listed_until(5));
    CHECK(ground.watcher.trouble() == "");
    server.say(event("DELETED", "a", 6));
    server.end();
    CHECK(ground.watcher.trouble() == "");  // Streams end all the time.
    ground.loop.pass(milliseconds(100));
    server.refuse(404);
    CHECK(ground.watcher.trouble() == "answered 404: the server does not have them any more");
    ground.loop.pass(seconds(11));
    server.accept();
    CHECK(ground.watcher.trouble() == "");
}

TEST_CASE("a kind that never was there is no trouble") {
    Ground ground;
    ground.server.refuse(404);
    ground.loop.pass(seconds(11));
    ground.server.refuse(404);
    CHECK(ground.watcher.trouble() == "");
}

TEST_CASE("a server that was away, or refused, and has no such kind is no trouble any more") {
    for (const int refusal : {403, 503}) {
        CAPTURE(refusal);
        Ground ground;
        ground.server.refuse(404);
        ground.loop.pass(seconds(11));
        ground.server.refuse(refusal);
        CHECK(ground.watcher.trouble() == "answered " + std::to_string(refusal));
        ground.loop.pass(seconds(11));
        ground.server.refuse(404);
        CHECK(ground.watcher.trouble() == "");
    }
}

TEST_CASE("who may not watch any more says so, until it may again and hears something") {
    Ground ground;
    ScriptedServer& server = ground.server;
    server.say(listed_until(5));
    server.end();
    ground.loop.pass(milliseconds(100));
    server.refuse(403);
    CHECK(ground.watcher.trouble() == "answered 403");
    ground.loop.pass(seconds(1));
    server.reply(403, "{}");
    CHECK(ground.watcher.trouble() == "answered 403");
    ground.loop.pass(seconds(1));
    server.reply(200, "{}");
    CHECK(ground.watcher.trouble() == "answered 403");
    SUBCASE("that its watch is open") {
        server.accept();
        CHECK(ground.watcher.trouble() == "");
    }
    SUBCASE("a change") {
        server.say(event("ADDED", "a", 6));
        CHECK(ground.watcher.trouble() == "");
    }
    SUBCASE("that the version is too old, and then a list") {
        server.accept();
        server.say("{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"too old\"}}\n");
        CHECK(ground.watcher.trouble() == "too old");
        ground.loop.pass(seconds(5));
        server.accept();
        CHECK(ground.watcher.trouble() == "too old");
        server.say(listed_until(7));
        CHECK(ground.watcher.trouble() == "");
    }
}

}  // namespace muster::kube
