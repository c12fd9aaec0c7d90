// test/fuzz/duration.cpp - Go's durations: the own form reads the same.
#include "base/time.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const auto duration = parse_go_duration(input);
    if (!duration) return;
    const auto again = parse_go_duration(go_duration(*duration));
    demand(again && *again == *duration, "the own form is the same duration");
}

}  // namespace

Target duration_target() {
    return {"duration",
            {"1h30m0s", "2.5s", "300ms", "-1.5h", "1us", "2562047h47m16.854775807s", "0", ".5m"},
            take};
}

}  // namespace muster::fuzz
