// agent/disk_limits_test.cpp - limits of disk space and of inodes.
#include "agent/disk_limits.h"

#include <doctest/doctest.h>

namespace muster::agent {
namespace {

constexpr std::int64_t mebi = std::int64_t{1} << 20;

PodDiskUse use(std::int64_t bytes, std::int64_t files) {
    PodDiskUse made;
    made.containers["main"] = bytes;
    made.files = files;
    return made;
}

TEST_CASE("a disk without free inodes is as full as one without free bytes") {
    DiskSpace space{1'000 * mebi, 900 * mebi, 100'000, 90'000};
    CHECK_FALSE(is_low(space));
    space.inodes_free = 4'000;
    CHECK(is_low(space));
    const auto gone =
        evict_for_space({{"large", use(500 * mebi, 10)}, {"many", use(mebi, 80'000)}}, space);
    REQUIRE(gone);
    CHECK(gone->uid == "many");
    CHECK(gone->verdict.reason == "Evicted");
    CHECK(gone->verdict.message ==
          "The node was low on resource: inodes. Threshold quantity: 5000, available: 4000. The "
          "pod was using 80000, more than any other.");
    space.free = 10 * mebi;  // Both are short: bytes come first.
    CHECK(evict_for_space({{"large", use(500 * mebi, 10)}, {"many", use(mebi, 80'000)}}, space)
              ->uid == "large");
}

TEST_CASE("a file system that makes inodes as it needs them is never short of them") {
    CHECK_FALSE(is_low({1'000 * mebi, 900 * mebi, 0, 0}));
    CHECK(inodes_reserve({0, 0, 100'000'000, 0}) == 10'000);
}

TEST_CASE("nobody is evicted for space that is about to be free, as long as that goes on") {
    const DiskSpace space{10'000 * mebi, 100 * mebi, 0, 0};  // 156 MiB are missing.
    const Freeing enough{200 * mebi, 1'000'000, 0};
    const Time start{};
    FreeingWait nothing;
    CHECK_FALSE(nothing.waits(space, {}, start));
    FreeingWait little;
    CHECK_FALSE(little.waits(space, {100 * mebi, 1'000'000, 0}, start));

    FreeingWait wait;
    CHECK(wait.waits(space, enough, start));
    CHECK(wait.waits(space, enough, start + seconds(4)));
    CHECK_FALSE(wait.waits(space, enough, start + seconds(5)));  // Nothing goes on.
    Freeing going = enough;
    going.removed = 1;
    CHECK(wait.waits(space, going, start + seconds(6)));  // Files go, the disk fills up again.
    DiskSpace more = space;
    more.free += mebi;
    CHECK(wait.waits(more, going, start + seconds(10)));  // One large file shrinks.
    CHECK(wait.waits(more, going, start + seconds(14)));
    CHECK_FALSE(wait.waits(more, going, start + seconds(15)));
    for (int second = 16; second < 60; ++second) {
        ++going.removed;
        CHECK(wait.waits(space, going, start + seconds(second)));
    }
    CHECK_FALSE(wait.waits(space, going, start + seconds(60)));  // It takes too long.
    wait.reset();
    CHECK(wait.waits(space, going, start + seconds(70)));
}

TEST_CASE("inodes that are about to be free are waited for as bytes are") {
    const DiskSpace space{10'000 * mebi, 5'000 * mebi, 100'000, 1'000};  // 4000 are missing.
    FreeingWait wait;
    CHECK(wait.waits(space, {mebi, 4'000, 0}, {}));
    FreeingWait few;
    CHECK_FALSE(few.waits(space, {1'000 * mebi, 3'000, 0}, {}));
}

TEST_CASE("what the holder measured is read with its files") {
    api::Value measured = api::Value::object({{"files", 7}});
    measured.set("containers", api::Value::object({{"main", 3}}));
    measured.set("other", 5);
    const PodDiskUse read = pod_disk_use_of(measured);
    CHECK(read.files == 7);
    CHECK(read.all() == 8);
}

}  // namespace
}  // namespace muster::agent
