// base/time.cpp - time as text: RFC 3339, Go's durations, kubectl's ages.
#include "base/time.h"

#include <array>
#include <cctype>
#include <cstddef>
#include <cstdio>

namespace muster {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t day_seconds = 86'400;

/// A date of the proleptic Gregorian calendar.
struct Date {
    std::int64_t year = 1970;
    int month = 1;
    int day = 1;
};

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);
}

/// Days from 1970-01-01. Years are counted from March, so that the leap day ends a year.
std::int64_t days_of(Date date) {
    const std::int64_t year = date.month <= 2 ? date.year - 1 : date.year;
    const std::int64_t era = floor_divide(year, 400);
    const std::int64_t year_of_era = year - era * 400;
    const std::int64_t day_of_year =
        (153 * (date.month + (date.month > 2 ? -3 : 9)) + 2) / 5 + date.day - 1;
    const std::int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146'097 + day_of_era - 719'468;
}

Date date_of(std::int64_t days) {
    days += 719'468;
    const std::int64_t era = floor_divide(days, 146'097);
    const std::int64_t day_of_era = days - era * 146'097;
    const std::int64_t year_of_era =
        (day_of_era - day_of_era / 1'460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
    const std::int64_t day_of_year =
        day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    const std::int64_t shifted_month = (5 * day_of_year + 2) / 153;
    const int month = static_cast<int>(shifted_month < 10 ? shifted_month + 3 : shifted_month - 9);
    const int day = static_cast<int>(day_of_year - (153 * shifted_month + 2) / 5 + 1);
    return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

int days_in(std::int64_t year, int month) {
    const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    static constexpr std::array<int, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[static_cast<std::size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

/// Writes over zeros, from their end.
void put_number(std::string& text, std::size_t end, std::int64_t number) {
    for (; number > 0; number /= 10)
        text[--end] = static_cast<char>('0' + number % 10);
}

// Every object has several times in it: printf would be a hundredth of what a burst of them costs.
std::string to_seconds_text(Time time) {
    const std::int64_t whole = floor_divide(time.since_epoch, second);
    const std::int64_t days = floor_divide(whole, day_seconds);
    const auto rest = static_cast<int>(whole - days * day_seconds);
    const Date date = date_of(days);
    std::string text = "0000-00-00T00:00:00";
    put_number(text, 4, date.year);
    put_number(text, 7, date.month);
    put_number(text, 10, date.day);
    put_number(text, 13, rest / 3600);
    put_number(text, 16, rest / 60 % 60);
    put_number(text, 19, rest % 60);
    return text;
}

/// Reads a text from its front.
class Reader {
public:
    explicit Reader(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }
    bool next_is_digit() const { return !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; }

    bool take(char c) {
        if (rest_.empty() || rest_[0] != c) return false;
        rest_.remove_prefix(1);
        return true;
    }

    int digit() {
        const int value = rest_[0] - '0';
        rest_.remove_prefix(1);
        return value;
    }

    /// Exactly `count` digits; otherwise this and all that follows is not good.
    int number(int count) {
        int value = 0;
        for (; count > 0; --count) {
            if (!next_is_digit()) {
                good_ = false;
                return 0;
            }
            value = value * 10 + digit();
        }
        return value;
    }

    void require(bool condition) { good_ = good_ && condition; }
    bool good() const { return good_; }

    std::string_view take_unit() {
        std::size_t length = 0;
        while (length < rest_.size() && rest_[length] != '.' &&
               !(rest_[length] >= '0' && rest_[length] <= '9')) {
            ++length;
        }
        const std::string_view unit = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return unit;
    }

private:
    std::string_view rest_;
    bool good_ = true;
};

/// Seconds east of Greenwich.
int read_offset(Reader& reader) {
    if (reader.take('Z')) return 0;
    const bool west = reader.take('-');
    reader.require(west || reader.take('+'));
    const int hour = reader.number(2);
    reader.require(reader.take(':'));
    const int minute = reader.number(2);
    reader.require(hour <= 24 && minute < 60);
    const int offset = (hour * 60 + minute) * 60;
    return west ? -offset : offset;
}

std::int64_t unit_of(std::string_view name) {
    struct Unit {
        std::string_view name;
        std::int64_t length;
    };
    static constexpr Unit units[] = {
        {"ns", 1},         {"us", 1'000}, {"\u00b5s", 1'000}, {"\u03bcs", 1'000},
        {"ms", 1'000'000}, {"s", second}, {"m", 60 * second}, {"h", 3600 * second},
    };
    for (const Unit& unit : units) {
        if (unit.name == name) return unit.length;
    }
    return 0;
}

/// One "12.5h" of a Go duration, in nanoseconds; absent when malformed or too large.
std::optional<std::int64_t> read_term(Reader& reader) {
    std::int64_t whole = 0;
    bool digits = false;
    bool overflow = false;
    while (reader.next_is_digit()) {
        overflow |= __builtin_mul_overflow(whole, 10, &whole) ||
                    __builtin_add_overflow(whole, reader.digit(), &whole);
        digits = true;
    }
    std::int64_t fraction = 0;
    double scale = 1;
    if (reader.take('.')) {
        while (reader.next_is_digit()) {
            const int digit = reader.digit();
            digits = true;
            // Where Go stops counting: further digits are below a nanosecond even of an hour.
            if (fraction >= INT64_MAX / 10) continue;
            fraction = fraction * 10 + digit;
            scale *= 10;
        }
    }
    const std::int64_t unit = unit_of(reader.take_unit());
    if (!digits || overflow || unit == 0) return std::nullopt;
    if (__builtin_mul_overflow(whole, unit, &whole)) return std::nullopt;
    const auto part = static_cast<std::int64_t>(static_cast<double>(fraction) *
                                                (static_cast<double>(unit) / scale));
    if (__builtin_add_overflow(whole, part, &whole)) return std::nullopt;
    return whole;
}

/// `value` in units of `unit`, with a fraction and without trailing zeros: "2.5".
std::string with_fraction(std::uint64_t value, std::uint64_t unit) {
    std::string text = std::to_string(value / unit);
    std::uint64_t rest = value % unit;
    if (rest == 0) return text;
    text += '.';
    while (rest != 0) {
        unit /= 10;
        text += static_cast<char>('0' + rest / unit);
        rest %= unit;
    }
    return text;
}

std::string pair_text(std::int64_t large, const char* large_unit, std::int64_t small,
                      const char* small_unit) {
    std::string text = std::to_string(large) + large_unit;
    if (small != 0) text += std::to_string(small) + small_unit;
    return text;
}

}  // namespace

std::string to_rfc3339(Time time) {
    return to_seconds_text(time) + "Z";
}

std::string to_rfc3339_micro(Time time) {
    const std::int64_t below = time.since_epoch - floor_divide(time.since_epoch, second) * second;
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%06dZ", static_cast<int>(below / 1'000));
    return to_seconds_text(time) + fraction;
}

std::optional<Time> parse_rfc3339(std::string_view text) {
    Reader reader(text);
    Date date;
    date.year = reader.number(4);
    reader.require(reader.take('-'));
    date.month = reader.number(2);
    reader.require(reader.take('-'));
    date.day = reader.number(2);
    reader.require(reader.take('T'));
    const int hour = reader.number(2);
    reader.require(reader.take(':'));
    const int minute = reader.number(2);
    reader.require(reader.take(':'));
    const int whole_second = reader.number(2);
    std::int64_t fraction = 0;
    if (reader.take('.') || reader.take(',')) {
        reader.require(reader.next_is_digit());
        for (std::int64_t place = second / 10; reader.next_is_digit(); place /= 10)
            fraction += reader.digit() * place;
    }
    const int offset = read_offset(reader);
    if (!reader.good() || !reader.at_end()) return std::nullopt;
    if (date.month < 1 || date.month > 12 || date.day < 1 ||
        date.day > days_in(date.year, date.month) || hour > 23 || minute > 59 ||
        whole_second > 59) {
        return std::nullopt;
    }
    std::int64_t total = days_of(date) * day_seconds + hour * 3600 + minute * 60 + whole_second;
    total -= offset;
    if (__builtin_mul_overflow(total, second, &total) ||
        __builtin_add_overflow(total, fraction, &total)) {
        return std::nullopt;
    }
    return Time{total};
}

std::optional<Duration> parse_go_duration(std::string_view text) {
    Reader reader(text);
    const bool negative = reader.take('-');
    if (!negative) reader.take('+');
    if (text == "0" || text == "-0" || text == "+0") return Duration{0};
    if (reader.at_end()) return std::nullopt;
    std::int64_t sum = 0;
    while (!reader.at_end()) {
        const std::optional<std::int64_t> term = read_term(reader);
        if (!term || __builtin_add_overflow(sum, *term, &sum)) return std::nullopt;
    }
    return Duration{negative ? -sum : sum};
}

std::string go_duration(Duration duration) {
    if (duration.nanoseconds == 0) return "0s";
    const bool negative = duration.nanoseconds < 0;
    auto left = static_cast<std::uint64_t>(duration.nanoseconds);
    if (negative) left = 0 - left;
    std::string text = negative ? "-" : "";
    if (left < 1'000) return text + std::to_string(left) + "ns";
    if (left < 1'000'000) return text + with_fraction(left, 1'000) + "\u00b5s";
    if (left < second) return text + with_fraction(left, 1'000'000) + "ms";
    const std::uint64_t minute = 60 * static_cast<std::uint64_t>(second);
    const std::uint64_t hour = 60 * minute;
    if (left >= hour) text += std::to_string(left / hour) + "h";
    if (left >= minute) text += std::to_string(left % hour / minute) + "m";
    return text + with_fraction(left % minute, second) + "s";
}

std::string human_duration(Duration duration) {
    const std::int64_t seconds = duration.nanoseconds / second;
    // Clocks of two machines may differ a little: that is almost now.
    if (seconds < -1) return "<invalid>";
    if (seconds < 0) return "0s";
    if (seconds < 120) return std::to_string(seconds) + "s";
    const std::int64_t minutes = seconds / 60;
    if (minutes < 10) return pair_text(minutes, "m", seconds % 60, "s");
    if (minutes < 180) return std::to_string(minutes) + "m";
    const std::int64_t hours = minutes / 60;
    if (hours < 8) return pair_text(hours, "h", minutes % 60, "m");
    if (hours < 48) return std::to_string(hours) + "h";
    const std::int64_t days = hours / 24;
    if (days < 8) return pair_text(days, "d", hours % 24, "h");
    if (days < 2 * 365) return std::to_string(days) + "d";
    const std::int64_t years = days / 365;
    if (years < 8) return pair_text(years, "y", days % 365, "d");
    return std::to_string(years) + "y";
}

}  // namespace muster
