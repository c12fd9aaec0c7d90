// control/runner_test.cpp - the runner against a small real server: overlays, retries, relists, no
// key twice at once.
#include "control/runner.h"

#include <map>
#include <memory>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "control/small_server.h"

namespace muster::control {
namespace {

/// A controller that keeps one Secret for each ConfigMap and counts how often it would create it.
struct Mirror {
    int creates = 0;
    Controller controller() {
        Controller mirror;
        mirror.name = "mirror";
        mirror.watches = {
            watch_self(maps, "v1"),
            Watch{secrets, "v1",
                  [](const kube::Cache&, const kube::Object* b, const kube::Object* a) {
                      const api::Key& key = (a != nullptr ? a : b)->key;
                      return std::vector<api::Key>{{maps, key.ns, key.name}};
                  }}};
        mirror.reconcile = [this](const kube::Cache& seen, const api::Key& key, Time) {
            Reconciled result;
            const api::Key secret{secrets, key.ns, key.name};
            const bool wanted = seen.find(key) != nullptr;
            const kube::ObjectPtr present = seen.find(secret);
            if (wanted && present == nullptr) {
                ++creates;
                Value body = config_map(key.name);
                body.set("kind", "Secret");
                result.writes.push_back({Write::Verb::create, secret, "v1", "", body, 0, "", ""});
            } else if (!wanted && present != nullptr) {
                result.writes.push_back(
                    {Write::Verb::remove, secret, "v1", "", {}, 0, present->uid, ""});
            }
            return result;
        };
        return mirror;
    }
};

/// Plans a Secret for each ConfigMap that has none, all in one round.
struct MirrorPlanner : Planner {
    std::string name() const override { return "planner"; }
    std::vector<std::pair<api::GroupResource, std::string>> watches() const override {
        return {{maps, "v1"}, {secrets, "v1"}};
    }
    void observe(const kube::Object*, const kube::Object*) override {}
    void failed(const Write&) override {}
    Reconciled plan(const kube::Cache& seen, Time) override {
        Reconciled result;
        for (const kube::ObjectPtr& map : seen.list(maps)) {
            const api::Key secret{secrets, map->key.ns, map->key.name};
            if (seen.find(secret) != nullptr) continue;
            Value body = config_map(map->key.name);
            body.set("kind", "Secret");
            result.writes.push_back({Write::Verb::create, secret, "v1", "", body, 0, "", ""});
        }
        return result;
    }
};

/// Plans every ten milliseconds to mark each ConfigMap with what is wanted.
struct MarkPlanner : Planner {
    std::string wanted = "1";
    bool asks_again = false;  // What is under way as well.
    std::set<api::Key> under_way;

    std::string name() const override { return "planner"; }
    std::vector<std::pair<api::GroupResource, std::string>> watches() const override {
        return {{maps, "v1"}};
    }
    void observe(const kube::Object*, const kube::Object* after) override {
        if (after != nullptr) under_way.erase(after->key);
    }
    void failed(const Write& write) override { under_way.erase(write.key); }
    void unchanged(const Write& write) override { under_way.erase(write.key); }
    Reconciled plan(const kube::Cache& seen, Time) override {
        Reconciled result;
        result.look_again = milliseconds(10);
        for (const kube::ObjectPtr& map : seen.list(maps)) {
            if (map->value["data"]["mark"].text_or("") == wanted) continue;
            if (!under_way.insert(map->key).second && !asks_again) continue;
            Value body = map->value;
            body.at("data").set("mark", wanted);
            result.writes.push_back(
                {Write::Verb::update, map->key, "v1", "", body, map->version, "", ""});
        }
        return result;
    }
};

struct World {
    ManualLoop loop;
    SmallServer server{loop};
    Mirror mirror;
    Runner runner{server, loop, [](const Call&, const std::function<void(int, std::string)>& done) {
                      done(0, "");
                  }};

    World() { runner.add(mirror.controller()); }
    void rest() { loop.advance(milliseconds(20)); }
};

TEST_CASE("what was there before the start and what comes later is mirrored") {
    World world;
    world.server.put("configmaps", config_map("a"));
    world.runner.start();
    world.rest();
    CHECK(world.server.find("secrets", "a") != nullptr);
    world.server.put("configmaps", config_map("b"));
    world.rest();
    CHECK(world.server.find("secrets", "b") != nullptr);
    world.server.remove("configmaps", "a");
    world.rest();
    CHECK(world.server.find("secrets", "a") == nullptr);
    CHECK(world.runner.at_rest());
}

TEST_CASE("a write is seen at once, also when the watch is late") {
    World world;
    world.runner.start();
    world.rest();
    world.server.put("configmaps", config_map("a"));
    world.server.watch_is_late = true;
    world.rest();
    REQUIRE(world.mirror.creates == 1);
    // Something unrelated to the secret changes: the controller must not create it again.
    world.server.put("configmaps", config_map("a"));
    world.server.deliver();
    world.rest();
    CHECK(world.mirror.creates == 1);
}

TEST_CASE("our removal is not undone by an older watch event") {
    World world;
    world.server.put("configmaps", config_map("a"));
    world.runner.start();
    world.rest();
    world.server.watch_is_late = true;
    Value touched = *world.server.find("secrets", "a");
    world.server.put("secrets", touched);  // A late MODIFIED.
    Value gone = *world.server.find("configmaps", "a");
    world.server.remove("configmaps", "a");
    world.server.deliver();
    world.rest();
    CHECK(world.server.find("secrets", "a") == nullptr);
    CHECK(world.runner.seen().find({secrets, "team", "a"}) == nullptr);
    CHECK(world.runner.at_rest());
}

TEST_CASE("conflicts and failures come back until they succeed") {
    World world;
    world.runner.start();
    world.rest();
    world.server.conflicts_left = 2;
    world.server.put("configmaps", config_map("a"));
    world.rest();
    CHECK(world.server.find("secrets", "a") == nullptr);
    world.loop.advance(seconds(1));
    CHECK(world.server.find("secrets", "a") != nullptr);
    CHECK(world.runner.counts().failed_writes == 2);
}

TEST_CASE("a write that the server has no time for is tried again when it said") {
    World world;
    world.runner.start();
    world.rest();
    world.server.busy_left = 1;
    world.server.put("configmaps", config_map("a"));
    world.loop.advance(milliseconds(3000));
    Value touched = config_map("a");  // News do not make the wait shorter.
    touched.set("data", Value::object({{"k", "v"}}));
    world.server.put("configmaps", touched);
    world.loop.advance(milliseconds(3900));
    CHECK(world.server.writes == 1);
    world.loop.advance(milliseconds(200));
    CHECK(world.server.find("secrets", "a") != nullptr);
    CHECK(world.server.writes == 2);
}

TEST_CASE("a planner whose writes the server has no time for plans again when it said") {
    ManualLoop loop;
    SmallServer server{loop};
    Runner runner{server, loop, nullptr};
    runner.add(std::make_unique<MirrorPlanner>());
    server.put("configmaps", config_map("a"));
    server.put("configmaps", config_map("b"));
    server.conflicts_left = 1;  // Of the same round, with a shorter pause.
    server.busy_left = 1;
    runner.start();
    loop.advance(milliseconds(6900));  // The server said seven; all others wait for this one.
    CHECK(server.writes == 2);
    loop.advance(milliseconds(200));
    CHECK(server.find("secrets", "a") != nullptr);
    CHECK(server.find("secrets", "b") != nullptr);
}

TEST_CASE("a webhook that asks for a long wait keeps a planner for five seconds only") {
    ManualLoop loop;
    SmallServer server{loop};
    Runner runner{server, loop, nullptr};
    runner.add(std::make_unique<MirrorPlanner>());
    server.put("configmaps", config_map("a"));
    server.busy_left = 1;
    server.busy_because = "admission webhook \"a.b\" denied the request: later";
    runner.start();
    loop.advance(milliseconds(4900));
    CHECK(server.writes == 1);
    loop.advance(milliseconds(200));
    CHECK(server.find("secrets", "a") != nullptr);
}

TEST_CASE("many conflicts in one round of a planner are one pause, not one after the other") {
    ManualLoop loop;
    SmallServer server{loop};
    Runner runner{server, loop, nullptr};
    runner.add(std::make_unique<MirrorPlanner>());
    constexpr int count = 20;
    for (int i = 0; i < count; ++i)
        server.put("configmaps", config_map("m" + std::to_string(i)));
    server.conflicts_left = count;
    runner.start();
    loop.advance(milliseconds(50));
    REQUIRE(runner.counts().failed_writes == count);
    CHECK(server.find("secrets", "m0") == nullptr);
    loop.advance(milliseconds(100));
    for (int i = 0; i < count; ++i)
        CHECK(server.find("secrets", "m" + std::to_string(i)) != nullptr);
}

TEST_CASE("a planner's write that was overtaken waits for what was written instead, nobody else") {
    ManualLoop loop;
    SmallServer server{loop};
    Runner runner{server, loop, nullptr};
    auto owned = std::make_unique<MarkPlanner>();
    MarkPlanner& planner = *owned;
    runner.add(std::move(owned));
    server.put("configmaps", config_map("a"));
    runner.start();
    loop.advance(milliseconds(50));
    const Value marked = *server.find("configmaps", "a");
    REQUIRE(marked["data"]["mark"].text_or("") == "1");

    server.watch_is_late = true;
    server.put("configmaps", marked);
    planner.wanted = "2";
    const int writes = server.writes;
    const std::int64_t plans = runner.counts().plans;
    loop.advance(milliseconds(100));
    CHECK(server.writes == writes + 1);
    CHECK(runner.counts().plans >= plans + 9);
    server.deliver();
    loop.advance(milliseconds(15));
    CHECK((*server.find("configmaps", "a"))["data"]["mark"].text_or("") == "2");
    CHECK(runner.at_rest());
}

TEST_CASE("a planner that asks for the same again before the news have come is not asked at once") {
    ManualLoop loop;
    SmallServer server{loop};
    Runner runner{server, loop, nullptr};
    auto owned = std::make_unique<MarkPlanner>();
    MarkPlanner& planner = *owned;
    planner.asks_again = true;
    runner.add(std::move(owned));
    server.put("configmaps", config_map("a"));
    runner.start();
    loop.advance(milliseconds(50));

    server.watch_is_late = true;
    server.put("configmaps", *server.find("configmaps", "a"));
    planner.wanted = "2";
    const int writes = server.writes;
    loop.advance(milliseconds(100));
    CHECK(server.writes <= writes + 11);  // One for each time it planned.
    server.watch_is_late = false;
    server.deliver();
    loop.advance(milliseconds(50));
    CHECK((*server.find("configmaps", "a"))["data"]["mark"].text_or("") == "2");
    loop.advance(seconds(2));
    CHECK(runner.at_rest());
}

TEST_CASE("a planner hears that its write changed nothing, for no event will say so") {
    ManualLoop loop;
    SmallServer server{loop};
    Runner runner{server, loop, nullptr};
    runner.add(std::make_unique<MarkPlanner>());
    server.put("configmaps", config_map("a"));
    server.changes_nothing = true;
    runner.start();
    loop.advance(milliseconds(50));
    CHECK((*server.find("configmaps", "a"))["data"]["mark"].is_null());
    server.changes_nothing = false;
    loop.advance(milliseconds(50));
    CHECK((*server.find("configmaps", "a"))["data"]["mark"].text_or("") == "1");
}

TEST_CASE("a planner hears of a conflict also when nothing else is ever seen") {
    ManualLoop loop;
    SmallServer server{loop};
    Runner runner{server, loop, nullptr};
    runner.add(std::make_unique<MarkPlanner>());
    server.put("configmaps", config_map("a"));
    server.conflicts_left = 1;
    runner.start();
    loop.advance(milliseconds(500));
    CHECK((*server.find("configmaps", "a"))["data"]["mark"].is_null());
    loop.advance(seconds(1));
    CHECK((*server.find("configmaps", "a"))["data"]["mark"].text_or("") == "1");
}

TEST_CASE("nobody waits longer because the clock was set back") {
    World world;
    world.runner.add(std::make_unique<MirrorPlanner>());
    world.runner.start();
    world.rest();
    world.server.conflicts_left = 2;  // One of the controller, one of the planner.
    world.server.put("configmaps", config_map("a"));
    world.rest();
    REQUIRE(world.server.find("secrets", "a") == nullptr);
    world.loop.set_clock(seconds(-3600));
    world.loop.advance(milliseconds(500));
    CHECK(world.server.find("secrets", "a") != nullptr);
    CHECK(world.runner.at_rest());
}

TEST_CASE("a refused write is on record until a later one succeeds") {
    World world;
    world.runner.start();
    world.rest();
    world.server.refusals_left = 1;
    world.server.put("configmaps", config_map("a"));
    world.rest();
    const api::Key secret{secrets, "team", "a"};
    REQUIRE(find_refusal(world.runner.seen(), "mirror", secret) != nullptr);
    CHECK(find_refusal(world.runner.seen(), "mirror", secret)->value["code"].integer_or(0) == 422);
    world.loop.advance(seconds(1));
    CHECK(find_refusal(world.runner.seen(), "mirror", secret) == nullptr);
}

TEST_CASE("a broken watch loses nothing, with and without an expired version") {
    for (const bool expired : {false, true}) {
        CAPTURE(expired);
        World world;
        world.server.put("configmaps", config_map("a"));
        world.server.put("configmaps", config_map("b"));
        world.runner.start();
        world.rest();
        world.server.break_watches(true);
        world.server.remove("configmaps", "a");
        world.server.put("configmaps", config_map("c"));
        world.loop.advance(seconds(10));
        CHECK(world.server.find("secrets", "a") == nullptr);
        CHECK(world.server.find("secrets", "b") != nullptr);
        CHECK(world.server.find("secrets", "c") != nullptr);
    }
}

TEST_CASE("a server that was restored from a backup is believed, whatever was seen before") {
    World world;
    world.server.put("configmaps", config_map("kept"));
    world.server.put("configmaps", config_map("back"));
    world.runner.start();
    world.rest();
    const SmallServer::Backup backup = world.server.backup();
    Value later = config_map("kept");
    later.at("data").set("text", "later");
    world.server.put("configmaps", later);
    world.server.remove("configmaps", "back");
    world.server.put("configmaps", config_map("lost"));
    world.rest();
    CHECK(world.server.find("secrets", "lost") != nullptr);
    CHECK(world.server.find("secrets", "back") == nullptr);
    world.server.restore(backup);
    world.loop.advance(seconds(5));
    const kube::Cache& seen = world.runner.seen();
    const kube::ObjectPtr kept = seen.find({maps, "team", "kept"});
    REQUIRE(kept != nullptr);
    CHECK(!kept->value.has("data"));
    CHECK(seen.find({maps, "team", "lost"}) == nullptr);
    CHECK(seen.find({secrets, "team", "lost"}) == nullptr);
    // What was removed is there again, under the uid that it had.
    CHECK(seen.find({maps, "team", "back"}) != nullptr);
    CHECK(seen.find({secrets, "team", "back"}) != nullptr);
    world.server.put("configmaps", config_map("new"));
    world.rest();
    CHECK(world.server.find("secrets", "new") != nullptr);
}

TEST_CASE("a create that collides with its own first try is a success, a stranger's is not") {
    World world;
    Value strangers = config_map("a");
    strangers.at("metadata")
        .set("ownerReferences",
             Value::array({Value::object({{"uid", "x"}, {"controller", true}})}));
    world.runner.start();
    world.rest();
    world.server.watch_is_late = true;
    world.server.put("secrets", strangers);
    world.server.watch_is_late = false;
    world.server.put("configmaps", config_map("a"));
    world.rest();
    CHECK(find_refusal(world.runner.seen(), "mirror", {secrets, "team", "a"}) != nullptr);
}

TEST_CASE("kinds that users add are followed as they come and go") {
    struct Follower : MirrorPlanner {
        std::vector<std::string>& told;
        explicit Follower(std::vector<std::string>& where) : told(where) {}
        bool watches_added() const override { return true; }
        void observe(const kube::Object* before, const kube::Object* after) override {
            const kube::Object& any = after != nullptr ? *after : *before;
            if (any.key.resource.plural == "tabs")
                told.push_back((after != nullptr ? "+" : "-") + any.key.name);
        }
    };
    World world;
    std::vector<std::string> told;
    world.runner.add(std::make_unique<Follower>(told));
    world.runner.start();
    const auto put = [&](const std::string& plural, const std::string& text) {
        world.server.put(plural, std::get<api::Parsed>(api::parse_json(text)).value);
        world.rest();
    };
    put("tabs", R"({"apiVersion":"e.io/v1","kind":"Tab","metadata":{"name":"before"}})");
    put("customresourcedefinitions", R"({"metadata":{"name":"tabs.e.io"},"spec":{"group":"e.io",
        "scope":"Cluster","names":{"plural":"tabs","kind":"Tab"},"versions":[{"name":"v1","served":true,
        "storage":true}]},"status":{"conditions":[{"type":"Established","status":"True"}]}})");
    CHECK(world.runner.seen().kinds().find("e.io", "tabs") != nullptr);
    put("tabs", R"({"apiVersion":"e.io/v1","kind":"Tab","metadata":{"name":"later"}})");
    CHECK(told == std::vector<std::string>{"+before", "+later"});
    world.server.remove("customresourcedefinitions", "tabs.e.io");
    world.rest();
    CHECK(told == std::vector<std::string>{"+before", "+later", "-before", "-later"});
    CHECK(world.runner.seen().kinds().find("e.io", "tabs") == nullptr);
    CHECK(world.runner.at_rest());
}

TEST_CASE("a guest kind that is watched by name is known while its definition is there") {
    struct Host : MirrorPlanner {
        bool follows = true;
        bool watches_added() const override { return follows; }
        std::vector<std::pair<api::GroupResource, std::string>> watches() const override {
            return {{{"jobset.x-k8s.io", "jobsets"}, "v1alpha2"}, {maps, "v1"}, {secrets, "v1"}};
        }
    };
    const auto has = [](const World& world) {
        return world.runner.seen().kinds().find("jobset.x-k8s.io", "jobsets") != nullptr;
    };
    World world;
    world.runner.add(std::make_unique<Host>());
    world.runner.start();
    world.rest();
    CHECK_FALSE(has(world));
    world.server.put(
        "customresourcedefinitions",
        std::get<api::Parsed>(api::parse_json(R"({"metadata":{"name":"jobsets"},"spec":{
        "group":"jobset.x-k8s.io","scope":"Namespaced","names":{"plural":"jobsets","kind":"JobSet"},
        "versions":[{"name":"v1alpha2","served":true,"storage":true}]},"status":{"conditions":[
        {"type":"Established","status":"True"}]}})"))
            .value);
    world.rest();
    CHECK(has(world));
    world.server.remove("customresourcedefinitions", "jobsets");
    world.rest();
    CHECK_FALSE(has(world));

    World blind;
    auto host = std::make_unique<Host>();
    host->follows = false;
    blind.runner.add(std::move(host));
    blind.runner.start();
    blind.rest();
    CHECK(has(blind));
}

}  // namespace
}  // namespace muster::control
