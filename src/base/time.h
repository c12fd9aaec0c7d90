// base/time.h - points in time and spans, as integers of nanoseconds; the clock is a parameter,
// never a global.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace muster {

/// A span of time, in nanoseconds; may be negative.
struct Duration {
    std::int64_t nanoseconds = 0;
    friend auto operator<=>(const Duration&, const Duration&) = default;
};

constexpr Duration nanoseconds(std::int64_t n) {
    return Duration{n};
}
constexpr Duration microseconds(std::int64_t n) {
    return Duration{n * 1'000};
}
constexpr Duration milliseconds(std::int64_t n) {
    return Duration{n * 1'000'000};
}
constexpr Duration seconds(std::int64_t n) {
    return Duration{n * 1'000'000'000};
}
constexpr Duration minutes(std::int64_t n) {
    return seconds(n * 60);
}
constexpr Duration hours(std::int64_t n) {
    return seconds(n * 3600);
}
constexpr Duration operator+(Duration a, Duration b) {
    return {a.nanoseconds + b.nanoseconds};
}
constexpr Duration operator-(Duration a, Duration b) {
    return {a.nanoseconds - b.nanoseconds};
}
constexpr Duration operator*(Duration a, std::int64_t k) {
    return {a.nanoseconds * k};
}

/// A point in time: nanoseconds since 1970-01-01T00:00:00Z. Zero means "not set".
struct Time {
    std::int64_t since_epoch = 0;
    friend auto operator<=>(const Time&, const Time&) = default;
};

constexpr Time operator+(Time t, Duration d) {
    return {t.since_epoch + d.nanoseconds};
}
constexpr Time operator-(Time t, Duration d) {
    return {t.since_epoch - d.nanoseconds};
}
constexpr Duration operator-(Time a, Time b) {
    return {a.since_epoch - b.since_epoch};
}

/// "2023-08-29T02:50:18Z": metav1.Time, whole seconds.
std::string to_rfc3339(Time time);

/// "2023-08-29T02:50:18.829462Z": metav1.MicroTime.
std::string to_rfc3339_micro(Time time);

/// Reads RFC 3339 with any number of fractional digits and any offset. Absent when it is not one.
std::optional<Time> parse_rfc3339(std::string_view text);

/// Reads Go's duration syntax ("1h30m", "2.5s", "300ms"). Absent when it is not one or overflows.
std::optional<Duration> parse_go_duration(std::string_view text);

/// Go's own form of a duration: "1h30m0s", "2.5s", "300ms", "0s".
std::string go_duration(Duration duration);

/// "5s", "3m20s", "2h", "4d3h": the age column of kubectl. "<invalid>" from two seconds below zero
/// on.
std::string human_duration(Duration duration);

}  // namespace muster
