// control/queue/status_pace_test.cpp - rounds of writes: apart by what they cost, none twice at
// once.
#include "control/queue/status_pace.h"

#include <doctest/doctest.h>

#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

const api::Key first{cluster_queues, "", "first"};
const api::Key second{cluster_queues, "", "second"};

TEST_CASE("a round that is taken at once is followed by the next after a tenth of a second") {
    StatusPace pace;
    const Time start{seconds(1000).nanoseconds};
    CHECK_FALSE(pace.not_before(start));
    pace.sent(first, start);
    CHECK(pace.is_on_its_way(first));
    CHECK_FALSE(pace.is_on_its_way(second));
    pace.settled(first);
    CHECK(pace.not_before(start) == start + milliseconds(100));
    CHECK_FALSE(pace.not_before(start + milliseconds(100)));
}

TEST_CASE("the slower the server and the more the queues, the further apart are the rounds") {
    StatusPace pace;
    const Time start{seconds(1000).nanoseconds};
    pace.sent(first, start);
    pace.sent(second, start);
    pace.settled(first);
    const Time taken = start + milliseconds(300);
    CHECK(pace.not_before(taken));  // One is on its way.
    pace.settled(second);
    CHECK(pace.not_before(taken) == taken + milliseconds(2700));
    for (int i = 0; i < 60; ++i)
        pace.sent({local_queues, "team", std::to_string(i)}, taken);
    for (int i = 0; i < 60; ++i)
        pace.settled({local_queues, "team", std::to_string(i)});
    CHECK(pace.not_before(taken) == taken + milliseconds(600));
}

TEST_CASE("what does not wait goes out at once, whatever is on its way") {
    StatusPace pace;
    const Time start{seconds(1000).nanoseconds};
    pace.sent(first, start);
    CHECK(pace.not_before(start));
    pace.hurry();
    CHECK_FALSE(pace.not_before(start));
    CHECK(pace.is_on_its_way(first));
    CHECK(pace.not_before(start));
}

TEST_CASE("neither an answer that never comes nor a clock set back holds it up") {
    StatusPace pace;
    const Time start{seconds(1000).nanoseconds};
    pace.sent(first, start);
    CHECK(pace.not_before(start + seconds(1)) == start + StatusPace::patience);
    const Time later = start + StatusPace::patience;
    CHECK(pace.not_before(later) == later + StatusPace::longest);
    CHECK(pace.is_on_its_way(first));
    CHECK_FALSE(pace.not_before(later + StatusPace::longest));
    pace.sent(second, later);
    pace.settled(first);
    pace.settled(second);
    const Time back = start - hours(1);
    CHECK(pace.not_before(back) == back + milliseconds(100));
}

}  // namespace
}  // namespace muster::control::queue
