// test/fuzz/timestamp.cpp - RFC 3339 times: the printed form reads the same.
#include "base/time.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    const auto time = parse_rfc3339(input);
    if (!time) return;
    const auto again = parse_rfc3339(to_rfc3339_micro(*time));
    demand(again.has_value(), "the printed form is a time");
    demand(again->since_epoch / 1000 == time->since_epoch / 1000 ||
               time->since_epoch - again->since_epoch < 1000,
           "the printed form is the same time");
}

}  // namespace

Target timestamp_target() {
    return {"timestamp",
            {"2020-01-01T00:00:00Z", "2024-02-29T23:59:60.123456789+01:30",
             "1969-12-31T23:59:59.999999Z"},
            take};
}

}  // namespace muster::fuzz
