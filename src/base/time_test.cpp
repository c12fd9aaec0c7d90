// base/time_test.cpp - times, durations and ages as Go and kubectl print and read them.
#include "base/time.h"

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster {
namespace {

TEST_CASE("RFC 3339 is read and written") {
    struct Row {
        const char* text;
        const char* canonical;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
             {"2023-08-29T02:50:18Z", "2023-08-29T02:50:18.000000Z"},
             {"2023-08-29T02:50:18.829462Z", "2023-08-29T02:50:18.829462Z"},
             {"2023-08-29T02:50:18.8294629999Z", "2023-08-29T02:50:18.829462Z"},
             {"2023-08-29T04:50:18+02:00", "2023-08-29T02:50:18.000000Z"},
             {"2023-12-31T23:30:00-01:30", "2024-01-01T01:00:00.000000Z"},
             {"2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z"},
             {"1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.500000Z"},
             {"1700-03-01T00:00:00Z", "1700-03-01T00:00:00.000000Z"},
         }) {
        const std::optional<Time> time = parse_rfc3339(row.text);
        REQUIRE_MESSAGE(time.has_value(), row.text);
        CHECK(to_rfc3339_micro(*time) == row.canonical);
    }
    CHECK(to_rfc3339(Time{1'693'277'418'829'462'000}) == "2023-08-29T02:50:18Z");
    for (const char* text :
         {"", "2023-08-29", "2023-08-29 02:50:18Z", "2023-08-29T02:50:18", "2023-02-29T00:00:00Z",
          "2023-13-01T00:00:00Z", "2023-00-01T00:00:00Z", "2023-08-29T24:00:00Z",
          "2023-08-29T02:60:00Z", "2023-08-29T02:50:60Z", "2023-08-29T02:50:18.Z",
          "2023-08-29T02:50:18+0200", "2023-08-29T02:50:18Zx", "0001-01-01T00:00:00Z",
          "9999-01-01T00:00:00Z", "2O23-08-29T02:50:18Z"}) {
        CHECK_MESSAGE(!parse_rfc3339(text), text);
    }
}

TEST_CASE("any time survives the way to text and back, to the microsecond") {
    Random random(3);
    for (int i = 0; i < 5000; ++i) {
        const auto nano = static_cast<std::int64_t>(random.next() >> 1) - (INT64_MAX / 2);
        const Time time{nano / 1000 * 1000};
        REQUIRE(parse_rfc3339(to_rfc3339_micro(time)) == time);
    }
}

TEST_CASE("durations are Go's") {
    struct Row {
        const char* text;
        std::int64_t nanoseconds;
        const char* canonical;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"0", 0, "0s"},
             {"1h30m", 5'400'000'000'000, "1h30m0s"},
             {"2.5s", 2'500'000'000, "2.5s"},
             {"300ms", 300'000'000, "300ms"},
             {"-1.5h", -5'400'000'000'000, "-1h30m0s"},
             {".5us", 500, "500ns"},
             {"1.us", 1'000, "1\u00b5s"},
             {"1500\u00b5s", 1'500'000, "1.5ms"},
             {"90s", 90'000'000'000, "1m30s"},
             {"0.333333333333333333333h", 1'200'000'000'000, "20m0s"},
             {"2562047h47m16.854775807s", INT64_MAX, "2562047h47m16.854775807s"},
             {"1s1h", 3'601'000'000'000, "1h0m1s"},
         }) {
        const std::optional<Duration> duration = parse_go_duration(row.text);
        REQUIRE_MESSAGE(duration.has_value(), row.text);
        // Go itself computes the fraction in floating point.
        CHECK(duration->nanoseconds == row.nanoseconds);
        CHECK(go_duration(*duration) == row.canonical);
    }
    for (const char* text : {"", "-", "1", "1x", "s", ".s", "1h ", "1 h", "1.2.3s", "3000000h",
                             "9223372036854775808ns", "1e3s", "+-1s"}) {
        CHECK_MESSAGE(!parse_go_duration(text), text);
    }
}

TEST_CASE("ages are kubectl's") {
    struct Row {
        std::int64_t seconds;
        const char* text;
    };
    for (const Row& row : std::initializer_list<Row>{
             {-2, "<invalid>"},
             {-1, "0s"},
             {0, "0s"},
             {1, "1s"},
             {119, "119s"},
             {120, "2m"},
             {121, "2m1s"},
             {599, "9m59s"},
             {600, "10m"},
             {10'799, "179m"},
             {10'800, "3h"},
             {10'860, "3h1m"},
             {28'799, "7h59m"},
             {28'800, "8h"},
             {172'799, "47h"},
             {172'800, "2d"},
             {176'400, "2d1h"},
             {691'199, "7d23h"},
             {691'200, "8d"},
             {63'071'999, "729d"},
             {63'072'000, "2y"},
             {63'158'400, "2y1d"},
             {252'287'999, "7y364d"},
             {252'288'000, "8y"},
         }) {
        CHECK(human_duration(seconds(row.seconds)) == row.text);
    }
}

}  // namespace
}  // namespace muster
