// control/queue/integration_test.cpp - what the tables make of jobs.
#include "control/queue/integration.h"

#include <doctest/doctest.h>

#include "control/queue/names.h"

namespace muster::control::queue {
namespace {

using api::Value;

TEST_CASE("an AppWrapper that only waits for its completion is as ready as one that runs") {
    const JobKind& kind = *find_job_kind(app_wrappers);
    const auto ready = [&](const char* state) {
        return are_pods_ready(
            kind, Value::object({{"status", Value::object({{"queuejobstate", state}})}}));
    };
    CHECK(ready("Running"));
    CHECK(ready("RunningHoldCompletion"));
    CHECK_FALSE(ready("Dispatched"));
    CHECK_FALSE(ready("Backoff"));
}

}  // namespace
}  // namespace muster::control::queue
