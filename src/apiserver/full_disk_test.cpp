// apiserver/full_disk_test.cpp - the disk gets full and has room again: what is refused meanwhile,
// and in which words.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string maps = "/api/v1/namespaces/default/configmaps";

std::string config_map(const std::string& name, const std::string& more = "") {
    return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + "\"" + more +
           R"(},"data":{"a":"b"}})";
}

TEST_CASE(
    "on a full disk nothing is written but what removes, reads go on, and it ends by itself") {
    const auto disk = std::make_shared<store::MemoryDisk>();
    TestServer server({}, disk);
    for (const char* name : {"a", "b", "c"})
        CHECK(server.post(maps, config_map(name))->status == 201);
    CHECK(server.post(maps, config_map("held", R"(,"finalizers":["example.com/x"])"))->status ==
          201);
    const ReplyPtr watch = server.get(maps + "?watch=1");
    const std::string seen = watch->story();
    const store::Revision before = server.store.revision();

    disk->room = store::Room::removals_only;
    const ReplyPtr refused = server.post(maps, config_map("d"));
    CHECK(refused->status == 503);
    CHECK(refused->reason() == "ServiceUnavailable");
    CHECK(refused->message() ==
          "the disk of the server's data folder is full: only deletes are taken until there is "
          "room again; free some space on that disk");
    const std::string change = R"({"data":{"a":"c"}})";
    CHECK(server.merge(maps + "/a", change)->status == 503);
    CHECK(server.apply(maps + "/new?fieldManager=me", config_map("new"))->status == 503);
    CHECK(server.put(maps + "/a", config_map("a", R"(,"labels":{"x":"y"})"))->status == 503);
    // Nothing is written by these.
    CHECK(server.merge(maps + "/a", R"({"data":{"a":"b"}})")->status == 200);
    CHECK(server.post(maps + "?dryRun=All", config_map("d"))->status == 201);
    CHECK(server.get(maps + "/a")->json()["data"]["a"].text() == "b");
    CHECK(server.store.revision() == before);
    CHECK(watch->story() == seen);

    // Two go: one at once, one when its finalizer has.
    CHECK(server.remove(maps + "/b")->status == 200);
    CHECK(server.remove(maps + "/held")->status == 200);
    CHECK(server.merge(maps + "/held", R"({"metadata":{"finalizers":null}})")->status == 200);
    CHECK(server.get(maps + "/held")->status == 404);

    disk->room = store::Room::none;
    const ReplyPtr kept = server.remove(maps + "/c");
    CHECK(kept->status == 503);
    CHECK(kept->message().find("no writes are taken") != std::string::npos);
    CHECK(server.get(maps + "/c")->status == 200);
    CHECK(server.send(server.request("DELETE", maps))->status == 503);
    CHECK(server.get(maps + "/c")->status == 200);

    disk->room = store::Room::plenty;
    CHECK(server.post(maps, config_map("d"))->status == 201);
    CHECK(server.merge(maps + "/a", change)->status == 200);
    CHECK(server.remove(maps + "/c")->status == 200);
    CHECK(watch->story() == seen + (seen.empty() ? "" : ", ") +
                                "DELETED b, MODIFIED held, DELETED held, ADDED d, MODIFIED a, "
                                "DELETED c");
}

TEST_CASE("events that are too old stay while not even removals have room, and go then") {
    const auto disk = std::make_shared<store::MemoryDisk>();
    TestServer server({}, disk);
    const std::string events = "/api/v1/namespaces/default/events";
    CHECK(server
              .post(events, R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},)"
                            R"("involvedObject":{"kind":"Pod","name":"p","namespace":"default"},)"
                            R"("reason":"R","type":"Normal"})")
              ->status == 201);
    disk->room = store::Room::none;
    server.loop.advance(minutes(70));
    CHECK(server.get(events + "/e")->status == 200);
    disk->room = store::Room::removals_only;
    server.loop.advance(minutes(2));
    CHECK(server.get(events + "/e")->status == 404);
}

}  // namespace
}  // namespace muster::apiserver
