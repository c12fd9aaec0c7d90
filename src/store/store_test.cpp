// store/store_test.cpp - the store's promises: order, preconditions, visibility, watches, restarts.
#include "store/store.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "base/manual_loop.h"
#include "base/random.h"
#include "store/memory_journal.h"

namespace muster::store {
namespace {

/// A store on a disk in memory; writes become durable when the loop runs.
struct World {
    std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
    ManualLoop loop;
    MemoryJournal* journal = nullptr;
    std::unique_ptr<Store> store;
    std::vector<std::string> seen;
    int answered = 0;

    explicit World(HistoryLimits limits = {}) { open(limits); }

    void open(HistoryLimits limits = {}) {
        auto opened = std::make_unique<MemoryJournal>(disk, &loop);
        journal = opened.get();
        store = std::make_unique<Store>(std::move(opened), limits);
    }

    Staged put(const std::string& key, const std::string& value, Revision expected) {
        return store->stage(key, make_bytes(value), expected, [this] { ++answered; });
    }
    Staged remove(const std::string& key, Revision expected) {
        return store->stage(key, nullptr, expected, [this] { ++answered; });
    }
    std::string value(const std::string& key) {
        const Entry* entry = store->find(key);
        return entry ? *entry->value : "-";
    }
    std::optional<Store::WatchId> watch(const std::string& prefix, Revision since) {
        return store->watch(prefix, since, [this](const Change& change) {
            seen.push_back(std::to_string(change.revision) + " " + change.key + " " +
                           (change.before ? *change.before : "-") + ">" +
                           (change.after ? *change.after : "-"));
        });
    }
};

using Seen = std::vector<std::string>;

TEST_CASE("nothing is visible or answered before it is durable") {
    World world;
    world.watch("", 0);
    CHECK(world.put("a", "1", 0) == Staged::accepted);
    CHECK(world.value("a") == "-");
    CHECK(*world.store->newest("a").value == "1");
    CHECK(world.store->staged_under("a") == 1);
    CHECK(world.store->staged_under("b") == 0);
    CHECK(world.store->revision() == 0);
    CHECK(world.store->next_revision() == 2);
    CHECK(world.seen.empty());
    world.loop.run();
    CHECK(world.value("a") == "1");
    CHECK(world.store->revision() == 1);
    CHECK(world.answered == 1);
    CHECK(world.seen == Seen{"1 a ->1"});
}

TEST_CASE("a write holds only on the newest revision, staged writes included") {
    World world;
    CHECK(world.put("a", "1", 0) == Staged::accepted);
    CHECK(world.put("a", "2", 0) == Staged::conflict);
    CHECK(world.put("a", "2", 1) == Staged::accepted);
    CHECK(world.put("a", "3", 1) == Staged::conflict);
    CHECK(world.remove("a", 2) == Staged::accepted);
    CHECK(world.remove("a", 3) == Staged::conflict);
    CHECK(world.remove("a", 0) == Staged::conflict);
    CHECK(world.put("a", "4", 2) == Staged::conflict);
    CHECK(world.put("a", "4", 0) == Staged::accepted);
    world.loop.run();
    CHECK(world.value("a") == "4");
    CHECK(world.store->find("a")->revision == 4);
    CHECK(world.answered == 4);
}

TEST_CASE("changes are told in order, by prefix, with the value before") {
    World world;
    world.watch("pods/", 0);
    world.watch("pods/x/", 0);
    world.watch("po", 0);
    world.watch("nodes/", 0);
    CHECK(world.put("pods/x/a", "1", 0) == Staged::accepted);
    CHECK(world.put("pods/y/a", "1", 0) == Staged::accepted);
    CHECK(world.remove("pods/x/a", 1) == Staged::accepted);
    CHECK(world.put("q", "1", 0) == Staged::accepted);
    world.loop.run();
    CHECK(world.seen == Seen{"1 pods/x/a ->1", "1 pods/x/a ->1", "1 pods/x/a ->1", "2 pods/y/a ->1",
                             "2 pods/y/a ->1", "3 pods/x/a 1>-", "3 pods/x/a 1>-",
                             "3 pods/x/a 1>-"});
}

TEST_CASE("a watch starts from what history holds, and is refused before that") {
    World world(HistoryLimits{3, 1 << 20});
    for (int i = 1; i <= 5; ++i)
        CHECK(world.put("k" + std::to_string(i), "v", 0) == Staged::accepted);
    world.loop.run();
    CHECK(world.store->oldest_watchable() == 2);
    CHECK(!world.watch("", 1));
    REQUIRE(world.watch("", 3));
    CHECK(world.seen == Seen{"4 k4 ->v", "5 k5 ->v"});
    world.seen.clear();
    REQUIRE(world.watch("k", 7));
    CHECK(world.put("k6", "v", 0) == Staged::accepted);
    CHECK(world.put("k7", "v", 0) == Staged::accepted);
    CHECK(world.put("k8", "v", 0) == Staged::accepted);
    world.loop.run();
    CHECK(world.seen == Seen{"6 k6 ->v", "7 k7 ->v", "8 k8 ->v", "8 k8 ->v"});
}

/// A text that cannot be packed.
std::string noise(std::size_t size, std::uint64_t seed) {
    Random random(seed);
    std::string text(size, ' ');
    for (char& c : text)
        c = static_cast<char>(random.below(256));
    return text;
}

TEST_CASE("history is bounded by the memory of what only it holds") {
    World world(HistoryLimits{1000, 30'000});
    CHECK(world.put("a", noise(1000, 1), 0) == Staged::accepted);
    for (Revision i = 1; i <= 99; ++i)
        CHECK(world.put("a", noise(1000, static_cast<std::uint64_t>(i)), i) == Staged::accepted);
    world.loop.run();
    CHECK(world.store->oldest_watchable() >= 100 - 30);
    CHECK(world.store->oldest_watchable() < 100 - 10);
    CHECK(!world.watch("", world.store->oldest_watchable() - 1));
    REQUIRE(world.watch("", world.store->oldest_watchable()));
    CHECK(world.seen.size() == static_cast<std::size_t>(100 - world.store->oldest_watchable()));
}

TEST_CASE("what is packed in history is told as it was, and an object's versions take little") {
    World world(HistoryLimits{10'000, 400'000});
    const std::string object = noise(3000, 7);
    const std::vector<std::string> folders{"k/a/", "k/b/", "q", "k/c/x/"};
    std::map<std::string, Revision> versions;
    Random random(3);
    world.watch("", 0);
    for (Revision revision = 1; revision <= 1000; ++revision) {
        const std::string key =
            folders[random.below(revision < 500 ? 2 : 4)] + std::to_string(random.below(20));
        Revision& version = versions[key];
        const bool gone = version != 0 && random.below(4) == 0;
        const std::string value = random.below(9) == 0 ? "" : object + std::to_string(revision);
        const Staged staged = gone ? world.remove(key, version) : world.put(key, value, version);
        REQUIRE(staged == Staged::accepted);
        version = gone ? 0 : revision;
    }
    world.loop.run();
    const Seen told = std::exchange(world.seen, {});
    REQUIRE(told.size() == 1000);
    CHECK(world.store->oldest_watchable() == 0);
    for (const std::string prefix : {"", "k/", "k/c", "k/c/x/1", "q", "q1", "z"}) {
        for (const Revision since : {0, 1, 63, 64, 65, 500, 990, 1000}) {
            Seen expected;
            for (const std::string& line : told) {
                const std::string key = line.substr(line.find(' ') + 1);
                if (std::stoll(line) > since && key.starts_with(prefix)) expected.push_back(line);
            }
            world.seen.clear();
            REQUIRE(world.watch(prefix, since));
            CHECK(world.seen == expected);
        }
    }
}

TEST_CASE("a watcher may stage, watch and unwatch, and hears of nothing twice") {
    World world;
    std::vector<std::string> heard;
    std::optional<Store::WatchId> other = world.store->watch(
        "a", 0, [&](const Change& change) { heard.push_back("other " + change.key); });
    std::optional<Store::WatchId> late;
    world.store->watch("", 0, [&](const Change& change) {
        heard.push_back("first " + change.key);
        if (change.key != "a1") return;
        CHECK(world.put("a2", "", 0) == Staged::accepted);
        world.store->unwatch(*other);
        late = world.store->watch("", 0,
                                  [&](const Change& told) { heard.push_back("late " + told.key); });
    });
    CHECK(world.put("a1", "", 0) == Staged::accepted);
    world.loop.run();
    // The longest prefix hears first; the late watcher had a1 from history.
    CHECK(heard == Seen{"other a1", "first a1", "late a1", "first a2", "late a2"});
    world.store->unwatch(*late);
    world.store->unwatch(*late);
}

TEST_CASE("a quick journal does not change the order in which watchers hear") {
    Store store(std::make_unique<MemoryJournal>());
    Seen heard;
    store.watch("", 0, [&](const Change& change) {
        heard.push_back("1 " + change.key);
        if (change.key == "a") CHECK(store.stage("b", make_bytes(""), 0, {}) == Staged::accepted);
    });
    store.watch("", 0, [&](const Change& change) { heard.push_back("2 " + change.key); });
    CHECK(store.stage("a", make_bytes(""), 0, {}) == Staged::accepted);
    CHECK(heard == Seen{"1 a", "2 a", "1 b", "2 b"});
}

TEST_CASE("ranges go through a prefix in pages") {
    World world;
    for (const char* key : {"b/3", "a/1", "b/1", "c/1", "b/2"})
        CHECK(world.put(key, key, 0) == Staged::accepted);
    world.loop.run();
    const auto keys = [&](std::string_view after, std::size_t limit) {
        Seen found;
        for (const Entry& entry : world.store->range("b/", after, limit))
            found.push_back(entry.key);
        return found;
    };
    CHECK(keys("", 100) == Seen{"b/1", "b/2", "b/3"});
    CHECK(keys("", 2) == Seen{"b/1", "b/2"});
    CHECK(keys("b/2", 2) == Seen{"b/3"});
    CHECK(keys("b/25", 2) == Seen{"b/3"});
    CHECK(keys("b/3", 2).empty());
    CHECK(world.store->count("b/") == 3);
    CHECK(world.store->count("") == 5);
}

TEST_CASE("a restart finds what was answered, and revisions never repeat") {
    World world;
    CHECK(world.put("a", "1", 0) == Staged::accepted);
    CHECK(world.put("b", "1", 0) == Staged::accepted);
    CHECK(world.remove("b", 2) == Staged::accepted);
    world.loop.run();
    CHECK(world.put("a", "lost", 1) == Staged::accepted);
    world.journal->crash();
    world.loop.run();
    CHECK(world.answered == 3);
    world.open();
    CHECK(world.value("a") == "1");
    CHECK(world.value("b") == "-");
    CHECK(world.store->revision() == 3);
    CHECK(world.store->next_revision() == 4);
    CHECK(!world.watch("", 2));
    CHECK(world.watch("", 3));
}

TEST_CASE("random operations agree with a plain map, across crashes") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Random random(seed);
        World world(HistoryLimits{20, 1 << 20});
        std::map<std::string, std::string> durable;
        std::map<std::string, std::string> told;
        const auto follow = [&] {
            told = durable;
            REQUIRE(world.store->watch("", world.store->revision(), [&](const Change& change) {
                if (change.after) {
                    told[change.key] = *change.after;
                } else {
                    told.erase(change.key);
                }
            }));
        };
        follow();
        for (int round = 0; round < 1000; ++round) {
            const std::string key =
                std::string(1 + random.below(2), 'k') + std::to_string(random.below(10));
            const std::string value = std::to_string(round);
            const Entry newest = world.store->newest(key);
            const Revision expected = newest.value ? newest.revision : 0;
            const bool removal = newest.value && random.below(3) == 0;
            const bool wrong = random.below(4) == 0;
            const Staged staged = world.store->stage(key, removal ? nullptr : make_bytes(value),
                                                     wrong ? expected + 1 : expected,
                                                     [&durable, key, value, removal] {
                                                         durable[key] = value;
                                                         if (removal) durable.erase(key);
                                                     });
            REQUIRE((staged == Staged::conflict) == wrong);
            if (random.below(3) == 0) world.loop.step();
            if (random.below(60) == 0) {
                world.journal->crash();
                world.loop.run();
                world.open();
                follow();
            }
            REQUIRE(told == durable);
            REQUIRE(world.store->count("") == durable.size());
        }
        for (const Entry& entry : world.store->range("", "", 1000))
            REQUIRE(durable[entry.key] == *entry.value);
    }
}

}  // namespace
}  // namespace muster::store
