// sim/story_test.cpp - the main job on days that have broken it, or the story's own assumptions.
#include "sim/story.h"

#include <doctest/doctest.h>

namespace muster::sim {

TEST_CASE("who waited for a node's room may have it when the node has lost what filled it") {
    // Its only node is lost as soon as the first cluster is ready: other work dies with it, and
    // what is left has room for both clusters.
    constexpr std::uint64_t seed = 93;
    Random random(seed ^ 0x5eed);
    Faults faults = Faults::draw(random);
    REQUIRE(faults.node_loss_every > Duration{});
    CHECK(play_story(seed, faults).broken == "");
}

}  // namespace muster::sim
