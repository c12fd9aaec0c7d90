// kube/watcher_test.cpp - a watcher against a scripted server: what it asks, and that nothing is
// lost or told twice whatever happens to its streams.
#include "kube/watcher.h"

#include <doctest/doctest.h>

#include "kube/watcher_ground_test.h"

namespace muster::kube {
namespace {

/// As kube-apiserver 1.36 says that it has not come so far.
constexpr const char* not_reached =
    R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
    R"("message":"Timeout: Too large resource version: 6, current: 3","reason":"Timeout",)"
    R"("details":{"causes":[{"reason":"ResourceVersionTooLarge",)"
    R"("message":"Too large resource version"}],"retryAfterSeconds":1},"code":504})";

/// Plays the same on both.
void for_both(const std::function<void(Ground&)>& play) {
    for (const Holds holds : {Holds::no, Holds::yes}) {
        CAPTURE(static_cast<int>(holds));
        Ground ground(holds);
        play(ground);
    }
}

}  // namespace

TEST_CASE("all objects, then changes, each once, over any number of broken streams") {
    for_both([](Ground& ground) {
        ScriptedServer& server = ground.server;
        CHECK(server.query("sendInitialEvents") == "true");
        server.say(event("ADDED", "a", 1) + event("ADDED", "b", 2));
        CHECK(ground.news() == "");  // Not before all of them are there.
        server.say(listed_until(5));
        CHECK(ground.news() == "+a1+b2.");
        server.say(event("MODIFIED", "a", 6));
        server.end();
        ground.loop.pass(milliseconds(100));
        CHECK(server.query("resourceVersion") == "6");
        CHECK(server.query("sendInitialEvents") == "");
        // A server that tells the last one again is not believed twice.
        server.say(event("MODIFIED", "a", 6) + event("DELETED", "b", 7) + event("ADDED", "c", 8));
        CHECK(ground.news() == "+a6-b+c8");
    });
}

TEST_CASE("a line cut at any byte is told once, by whichever stream brings it whole") {
    const std::string line = event("MODIFIED", "a", 6);
    for (std::size_t cut = 0; cut <= line.size(); ++cut) {
        Ground ground;
        ground.server.say(event("ADDED", "a", 1) + listed_until(5));
        ground.server.say(line.substr(0, cut));
        ground.server.end();
        ground.loop.pass(milliseconds(100));
        REQUIRE(ground.server.live);
        const bool whole = cut == line.size();
        CHECK(ground.server.query("resourceVersion") == (whole ? "6" : "5"));
        if (!whole) ground.server.say(line);
        CHECK(ground.news() == "+a1.+a6");
    }
}

TEST_CASE("a line in two halves, and several in one piece, are read alike") {
    const std::string text = event("ADDED", "a", 1) + listed_until(5) + event("ADDED", "b", 6);
    for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        Ground ground;
        ground.server.say(text.substr(0, cut));
        ground.server.say(text.substr(cut));
        CHECK(ground.news() == "+a1.+b6");
    }
}

TEST_CASE("what an answer has shown is passed, and not told again by a later list") {
    Ground ground(Holds::yes);
    ground.server.say(event("ADDED", "own", 1) + listed_until(5));
    CHECK(ground.news() == "+own1.");
    ground.held["own"] = 7;
    ground.server.say(event("MODIFIED", "own", 6) + event("MODIFIED", "own", 7));
    CHECK(ground.news().empty());
    CHECK(ground.passed == "=6=7");
    ground.server.end();
    ground.loop.pass(milliseconds(100));
    CHECK(ground.server.query("resourceVersion") == "7");
    ground.server.refuse(410);
    ground.loop.pass(seconds(1));
    ground.server.say(event("ADDED", "own", 7) + listed_until(7));
    CHECK(ground.news().empty());
    ground.server.say(event("MODIFIED", "own", 8) + event("DELETED", "own", 9));
    CHECK(ground.news() == "+own8-own");
}

TEST_CASE("a listing that breaks off tells nothing; the next one tells only differences") {
    for_both([](Ground& ground) {
        ground.server.say(event("ADDED", "a", 1) + listed_until(5));
        CHECK(ground.news() == "+a1.");
        ground.server.say(
            R"({"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old"}})"
            "\n");
        ground.loop.pass(seconds(1));
        CHECK(ground.server.query("sendInitialEvents") == "true");
        ground.server.say(event("ADDED", "z", 9));
        ground.server.end();
        ground.loop.pass(seconds(1));
        ground.server.say(event("ADDED", "a", 1) + event("ADDED", "c", 7) + listed_until(8));
        CHECK(ground.news() == "+c7");
        ground.server.refuse(410);
        ground.loop.pass(seconds(1));
        CHECK(ground.server.query("sendInitialEvents") == "true");
        ground.server.say(event("ADDED", "c", 9) + listed_until(10));
        CHECK(ground.news() == "-a+c9");
    });
}

TEST_CASE("an event that cannot be read is asked for again") {
    Ground ground;
    ground.server.say(listed_until(5) + event("ADDED", "a", 6));
    ground.server.say("{\"type\":\"ADDED\",\"obj\n");
    CHECK(!ground.server.live);
    ground.loop.pass(milliseconds(200));
    CHECK(ground.server.live);
    CHECK(ground.server.query("resourceVersion") == "6");
}

TEST_CASE("a bookmark moves the place to go on from") {
    Ground ground;
    ground.server.say(listed_until(5));
    ground.server.say(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"99"}}})"
                      "\n");
    ground.server.end();
    ground.loop.pass(milliseconds(100));
    CHECK(ground.server.query("resourceVersion") == "99");
}

TEST_CASE("a server that refuses to stream all objects is asked for pages, then watched") {
    Ground ground;
    ScriptedServer& server = ground.server;
    server.refuse(422);
    ground.loop.pass(seconds(1));
    CHECK(server.query("watch") == "");
    CHECK(server.query("limit") == "500");
    const auto page = [&](const std::string& items, const std::string& token) {
        net::Response response;
        response.body = make_bytes(R"({"kind":"JobList","apiVersion":"batch/v1","metadata":{)"
                                   R"("resourceVersion":"21","continue":")" +
                                   token + R"("},"items":[)" + items + "]}");
        server.answer(response);
    };
    page(object("a", 3), "more");
    CHECK(server.query("continue") == "more");
    CHECK(ground.news() == "");
    page(object("b", 4), "");
    CHECK(ground.news() == "+a3+b4.");
    CHECK(server.query("watch") == "true");
    CHECK(server.query("resourceVersion") == "21");
    server.say(event("MODIFIED", "a", 21));
    server.refuse(410);
    ground.loop.pass(seconds(1));
    CHECK(server.query("limit") == "500");
    page(object("a", 21), "");
    CHECK(ground.news() == "+a21-b");
}

TEST_CASE("a continue token that has grown old starts the pages anew") {
    Ground ground;
    ground.server.refuse(400);
    ground.loop.pass(seconds(1));
    net::Response old;
    old.status = 410;
    old.body = make_bytes("{}");
    ground.server.answer(old);
    ground.loop.pass(seconds(1));
    CHECK(ground.server.query("limit") == "500");
    CHECK(ground.server.query("continue") == "");
}

TEST_CASE("a server that streams but never says that these are all is asked for pages") {
    Ground ground;
    ground.server.say(event("ADDED", "a", 1));
    ground.loop.pass(seconds(29));
    CHECK(ground.server.live);
    ground.loop.pass(seconds(90));
    CHECK(!ground.server.live);
    CHECK(ground.server.query("limit") == "500");
    CHECK(ground.news() == "");
}

TEST_CASE("the server says when to come back") {
    Ground ground;
    ground.server.refuse(429, "7");
    ground.loop.pass(seconds(6));
    CHECK(!ground.server.live);
    ground.loop.pass(seconds(2));
    CHECK(ground.server.live);
    ground.server.refuse(503);
    ground.loop.pass(seconds(1));
    CHECK(ground.server.live);
    CHECK(ground.news() == "");
}

TEST_CASE("a server that is back with an older state is listed anew, and all of it is told") {
    using Refuse = std::function<void(Ground&)>;
    const std::vector<std::pair<const char*, Refuse>> ways = {
        {"the watch is refused",
         [](Ground& ground) { ground.server.refuse(504, "", not_reached); }},
        {"an event says so",
         [](Ground& ground) {
             ground.server.say(R"({"type":"ERROR","object":)" + std::string(not_reached) + "}\n");
         }},
        {"the server was away, and is asked before the watch goes on",
         [](Ground& ground) {
             ground.server.refuse(503);
             ground.loop.pass(seconds(1));
             CHECK(!ground.server.live);
             CHECK(ground.server.query("watch").empty());
             CHECK(ground.server.query("resourceVersion") == "6");
             CHECK(ground.server.query("resourceVersionMatch") == "NotOlderThan");
             ground.server.reply(504, not_reached);
         }},
        {"an old server says it in words only", [](Ground& ground) {
             ground.server.refuse(504, "",
                                  R"({"kind":"Status","reason":"Timeout",)"
                                  R"("message":"Too large resource version: 6, current: 3"})");
         }}};
    for (const auto& [name, refuse] : ways) {
        CAPTURE(name);
        for_both([&refuse = refuse](Ground& ground) {
            ScriptedServer& server = ground.server;
            server.say(event("ADDED", "a", 1) + event("ADDED", "b", 2) + listed_until(4));
            server.say(event("MODIFIED", "a", 5) + event("ADDED", "c", 6));
            CHECK(ground.news() == "+a1+b2.+a5+c6");
            server.end();
            ground.loop.pass(milliseconds(100));
            CHECK(server.query("resourceVersion") == "6");
            refuse(ground);
            ground.loop.pass(seconds(1));
            REQUIRE(server.live);
            CHECK(server.query("sendInitialEvents") == "true");
            CHECK(server.query("resourceVersion").empty());
            // The backup is from before "a" was changed; "b" has been changed since, and has a
            // version that it has had before.
            server.say(event("ADDED", "a", 1) + event("ADDED", "b", 2) + listed_until(3));
            const std::string told = ground.news();
            CHECK(told == "-c+a1+b2");
            server.say(event("MODIFIED", "a", 4) + event("ADDED", "c", 5));
            CHECK(ground.news() == "+a4+c5");
        });
    }
}

TEST_CASE("a server that was only behind tells differences, each once") {
    for_both([](Ground& ground) {
        ScriptedServer& server = ground.server;
        server.say(event("ADDED", "a", 1) + listed_until(5) + event("ADDED", "b", 6));
        CHECK(ground.news() == "+a1.+b6");
        server.refuse(504, "", not_reached);
        ground.loop.pass(seconds(1));
        server.say(event("ADDED", "b", 6) + event("ADDED", "c", 7) + listed_until(7));
        CHECK(ground.news() == "-a+c7");
    });
}

TEST_CASE("a list that is refused because the server is behind is asked for in pages") {
    Ground ground;
    ground.server.refuse(504, "", not_reached);
    ground.loop.pass(seconds(1));
    CHECK(!ground.server.live);
    CHECK(ground.server.query("limit") == "500");
    CHECK(ground.server.query("resourceVersion").empty());
    ground.server.reply(504, not_reached);
    ground.loop.pass(seconds(1));
    CHECK(ground.server.query("limit") == "500");
    ground.server.reply(200, R"({"kind":"JobList","metadata":{"resourceVersion":"3"},"items":[]})");
    CHECK(ground.news() == ".");
    CHECK(ground.server.live);
    CHECK(ground.server.query("resourceVersion") == "3");
}

TEST_CASE("a server that was away and has all goes on where the watch was") {
    Ground ground;
    ground.server.say(event("ADDED", "a", 1) + listed_until(5));
    ground.server.refuse(503);
    ground.loop.pass(seconds(1));
    CHECK(ground.server.query("resourceVersionMatch") == "NotOlderThan");
    ground.server.reply(503, "{}");
    ground.loop.pass(seconds(1));
    ground.server.reply(200, R"({"kind":"JobList","metadata":{"resourceVersion":"6"},"items":[]})");
    REQUIRE(ground.server.live);
    CHECK(ground.server.query("watch") == "true");
    CHECK(ground.server.query("resourceVersion") == "5");
    ground.server.say(event("ADDED", "b", 6));
    CHECK(ground.news() == "+a1.+b6");
}

TEST_CASE("a kind that is not there counts as seen, and is found when it comes") {
    Ground ground;
    ground.server.refuse(404);
    CHECK(ground.news() == ".");
    ground.loop.pass(seconds(11));
    REQUIRE(ground.server.live);
    ground.server.say(event("ADDED", "a", 1) + listed_until(5));
    CHECK(ground.news() == "+a1");
}

TEST_CASE("what an ended stream still brings beside its successor counts for nothing") {
    for_both([](Ground& ground) {
        ScriptedServer& server = ground.server;
        server.say(event("ADDED", "a", 1) + listed_until(5));
        server.end();
        ground.loop.pass(milliseconds(100));
        REQUIRE(server.streams.size() == 2);
        server.say(event("MODIFIED", "a", 6) + event("DELETED", "a", 7));
        const Transport::Stream old = server.streams.front();
        old.on_piece(event("MODIFIED", "a", 6) + event("ADDED", "b", 8));
        old.on_piece(R"({"type":"ERROR","object":{"code":410}})"
                     "\n{\"half");
        old.on_closed();
        server.say(event("ADDED", "c", 9));
        CHECK(ground.news() == "+a1.+a6-a+c9");
        CHECK(server.live);
    });
}

TEST_CASE("a stopped watcher is silent, also when an answer comes late") {
    Ground ground;
    ground.server.refuse(422);
    ground.loop.pass(seconds(1));
    ground.watcher.stop();
    net::Response response;
    response.body = make_bytes(R"({"items":[)" + object("a", 3) + "]}");
    ground.server.answer(response);
    ground.loop.pass(minutes(5));
    CHECK(ground.news() == "");
}

}  // namespace muster::kube
