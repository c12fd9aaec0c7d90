// apiserver/watch_test.cpp - watches: from now, from a version, with selectors, and their end.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string maps = "/api/v1/namespaces/default/configmaps";

std::string map_named(const std::string& name, const std::string& labels = "{}") {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name +
           R"(","labels":)" + labels + "}}";
}

TEST_CASE("a watch tells what happens, once and in order") {
    TestServer server;
    const std::string since = std::to_string(server.store.revision());
    const ReplyPtr watch = server.get(maps + "?watch=1&resourceVersion=" + since);
    server.post(maps, map_named("a"));
    server.merge(maps + "/a", R"({"data":{"x":"y"}})");
    server.remove(maps + "/a");
    CHECK(watch->story() == "ADDED a, MODIFIED a, DELETED a");
    const auto events = watch->events();
    CHECK(events[2]["object"]["metadata"]["resourceVersion"].text() ==
          std::to_string(server.store.revision()));
    const ReplyPtr replay = server.get(maps + "?watch=1&resourceVersion=" + since);
    CHECK(replay->text == watch->text);
}

TEST_CASE("without a version the present comes first") {
    TestServer server;
    server.post(maps, map_named("a"));
    CHECK(server.get(maps + "?watch=1")->story() == "ADDED a");
    CHECK(server.get(maps + "?watch=1&resourceVersion=0")->story() == "ADDED a");
}

TEST_CASE("a WatchList ends the initial events with a bookmark") {
    TestServer server;
    server.post(maps, map_named("a"));
    const ReplyPtr watch =
        server.get(maps +
                   "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                   "allowWatchBookmarks=true");
    CHECK(watch->story() == "ADDED a, BOOKMARK ");
    const api::Value bookmark = watch->events()[1]["object"];
    CHECK(bookmark["kind"].text() == "ConfigMap");
    CHECK(bookmark["metadata"]["annotations"]["k8s.io/initial-events-end"].text() == "true");
    server.post(maps, map_named("b"));
    CHECK(watch->story() == "ADDED a, BOOKMARK , ADDED b");
    CHECK(server.get(maps + "?watch=true&sendInitialEvents=true")->status == 422);
}

TEST_CASE("a change of labels is an arrival or a departure for who selects by them") {
    TestServer server;
    const ReplyPtr watch = server.get(maps + "?watch=1&labelSelector=in%3Dyes");
    server.post(maps, map_named("a"));
    server.merge(maps + "/a", R"({"metadata":{"labels":{"in":"yes"}}})");
    server.merge(maps + "/a", R"({"data":{"x":"y"}})");
    server.merge(maps + "/a", R"({"metadata":{"labels":{"in":"no"}}})");
    server.remove(maps + "/a");
    CHECK(watch->story() == "ADDED a, MODIFIED a, DELETED a");
    CHECK(watch->events()[2]["object"]["metadata"]["labels"]["in"].text() == "yes");
}

TEST_CASE("a watch of one object hears of no other") {
    TestServer server;
    const ReplyPtr watch = server.get(maps + "?watch=1&fieldSelector=metadata.name%3Da");
    server.post(maps, map_named("a"));
    server.post(maps, map_named("aa"));
    CHECK(watch->story() == "ADDED a");
}

TEST_CASE("bookmarks come every minute, the end at the time asked for") {
    TestServer server;
    const ReplyPtr watch =
        server.get(maps + "?watch=1&resourceVersion=" + std::to_string(server.store.revision()) +
                   "&allowWatchBookmarks=true&timeoutSeconds=90");
    server.loop.advance(seconds(61));
    CHECK(watch->story() == "BOOKMARK ");
    CHECK(!watch->finished);
    server.loop.advance(seconds(30));
    CHECK(watch->finished);
    server.post(maps, map_named("late"));
    CHECK(watch->story() == "BOOKMARK ");
}

TEST_CASE("a version that is forgotten is told as expired") {
    const auto disk = std::make_shared<store::MemoryDisk>();
    {
        TestServer server({}, disk);
        server.post(maps, map_named("a"));
    }
    TestServer server({}, disk);
    const ReplyPtr watch = server.get(maps + "?watch=1&resourceVersion=1");
    CHECK(watch->events()[0]["type"].text() == "ERROR");
    CHECK(watch->events()[0]["object"]["code"].integer_or(0) == 410);
    CHECK(watch->events()[0]["object"]["reason"].text() == "Expired");
    CHECK(watch->finished);
    CHECK(server.get(maps + "?resourceVersion=1&resourceVersionMatch=Exact")->status == 410);
}

TEST_CASE("a watcher that does not read is ended, the others go on") {
    Options options;
    options.watch_buffer_limit = 1000;
    TestServer server(std::move(options));
    const ReplyPtr slow = server.get(maps + "?watch=1");
    const ReplyPtr quick = server.get(maps + "?watch=1");
    slow->unread = 2000;
    server.post(maps, map_named("a"));
    CHECK(slow->is_cut);
    server.post(maps, map_named("b"));
    CHECK(quick->story() == "ADDED a, ADDED b");
    CHECK(!quick->finished);
    CHECK(!quick->is_cut);
}

TEST_CASE("a watcher in this program is left to catch up") {
    Options options;
    options.watch_buffer_limit = 1000;
    TestServer server(std::move(options));
    net::Request request = server.request("GET", maps + "?watch=1");
    request.peer.trusted = true;
    const ReplyPtr watch = server.send(std::move(request));
    watch->unread = 2000;
    server.post(maps, map_named("a"));
    server.post(maps, map_named("b"));
    CHECK(watch->story() == "ADDED a, ADDED b");
    CHECK(!watch->finished);
    CHECK(!watch->is_cut);
}

TEST_CASE("a watcher that is gone is forgotten") {
    TestServer server;
    const ReplyPtr watch = server.get(maps + "?watch=1");
    watch->closed();
    server.post(maps, map_named("a"));
    CHECK(watch->text.empty());
}

TEST_CASE("watches end with the server") {
    TestServer server;
    const ReplyPtr watch = server.get(maps + "?watch=1");
    server.server.stop();
    CHECK(watch->finished);
    CHECK(server.get(maps)->status == 503);
}

TEST_CASE("a table watch shows the columns once") {
    TestServer server;
    net::Request request = server.request("GET", maps + "?watch=1");
    request.headers.set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    const ReplyPtr watch = server.send(std::move(request));
    server.post(maps, map_named("a"));
    server.post(maps, map_named("b"));
    const auto events = watch->events();
    REQUIRE(events.size() == 2);
    CHECK(events[0]["object"]["columnDefinitions"].size() > 0);
    CHECK(events[1]["object"]["columnDefinitions"].size() == 0);
    CHECK(events[1]["object"]["rows"][0]["cells"][0].text() == "b");
}

TEST_CASE("events are forgotten after an hour") {
    TestServer server;
    const std::string events = "/api/v1/namespaces/default/events";
    server.post(events,
                R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"involvedObject":)"
                R"({"kind":"Pod","name":"p","namespace":"default"},"reason":"R","message":"m",)"
                R"("type":"Normal"})");
    server.loop.advance(minutes(59));
    CHECK(server.get(events)->json()["items"].size() == 1);
    CHECK(server.get(events + "?fieldSelector=involvedObject.name%3Dp")->json()["items"].size() ==
          1);
    server.loop.advance(minutes(3));
    CHECK(server.get(events)->json()["items"].size() == 0);
}

TEST_CASE("of too many events, or too large ones, the oldest go, and watchers see it") {
    const std::string events = "/api/v1/namespaces/default/events";
    const auto event = [](const std::string& name, std::size_t size) {
        return R"({"apiVersion":"v1","kind":"Event","metadata":{"name":")" + name +
               R"("},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},)" +
               R"("reason":"R","type":"Normal","message":")" + std::string(size, 'm') + R"("})";
    };
    const auto names = [](const api::Value& list) {
        std::string text;
        for (const api::Value& item : list["items"].items())
            text += item["metadata"]["name"].text() + " ";
        return text;
    };
    Options options;
    options.event_bounds = {3, 4'000};
    const auto disk = std::make_shared<store::MemoryDisk>();
    {
        TestServer server(options, disk);
        const ReplyPtr watch = server.get(events + "?watch=1");
        for (const char* name : {"a", "b", "c", "d", "e"})
            CHECK(server.post(events, event(name, 10))->status == 201);
        CHECK(names(server.get(events)->json()) == "a b c d e ");
        server.loop.advance(seconds(2));
        CHECK(names(server.get(events)->json()) == "c d e ");
        const auto seen = watch->events();
        REQUIRE(seen.size() == 7);
        CHECK(seen[5]["type"].text() == "DELETED");
        CHECK(seen[5]["object"]["metadata"]["name"].text() == "a");
        // One that is removed by hand is not counted any more.
        CHECK(server.remove(events + "/d")->status == 200);
        server.post(events, event("f", 10));
        server.loop.advance(seconds(2));
        CHECK(names(server.get(events)->json()) == "c e f ");
    }
    // After a restart they are counted as well; one large one takes the room of many.
    TestServer server(options, disk);
    server.post(events, event("g", 900));
    server.loop.advance(seconds(2));
    CHECK(names(server.get(events)->json()) == "e f g ");
    server.post(events, event("h", 900));
    server.post(events, event("i", 900));
    server.loop.advance(seconds(2));
    CHECK(names(server.get(events)->json()) == "h i ");
}

TEST_CASE("the oldest events go first after a restart too, whatever their names are") {
    const std::string events = "/api/v1/namespaces/default/events";
    const auto event = [](const std::string& name, const std::string& more) {
        return R"({"apiVersion":"v1","kind":"Event","metadata":{"name":")" + name +
               R"("},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"},)" + more +
               R"("reason":"R","type":"Normal"})";
    };
    const auto disk = std::make_shared<store::MemoryDisk>();
    {
        TestServer server({}, disk);
        const Time start = server.loop.now();
        const auto at = [&](int age) {
            return R"("lastTimestamp":")" + to_rfc3339(start - seconds(age)) + R"(",)";
        };
        // The oldest by what they say, then those that say nothing by when they were written.
        for (const auto& [name, more] : {std::pair("c", at(10)),
                                         {"a", at(5)},
                                         {"d", at(20)},
                                         {"e", std::string()},
                                         {"b", std::string()}}) {
            CHECK(server.post(events, event(name, more))->status == 201);
        }
    }
    for (const auto& [bound, kept] :
         {std::pair(4U, "a b c e "), {3U, "a b e "}, {2U, "b e "}, {1U, "b "}}) {
        Options options;
        options.event_bounds.events = bound;
        TestServer server(options, disk);
        server.loop.advance(seconds(2));
        std::string names;
        const api::Value list = server.get(events)->json();
        for (const api::Value& item : list["items"].items())
            names += item["metadata"]["name"].text() + " ";
        CHECK(names == std::string(kept));
    }
}

}  // namespace
}  // namespace muster::apiserver
