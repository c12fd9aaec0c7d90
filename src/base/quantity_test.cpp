// base/quantity_test.cpp - quantities against what apimachinery 0.36 answers.
#include "base/quantity.h"

#include <doctest/doctest.h>

#include "base/random.h"

namespace muster {
namespace {

Quantity quantity(std::string_view text) {
    const std::optional<Quantity> read = Quantity::parse(text);
    REQUIRE_MESSAGE(read.has_value(), text);
    return *read;
}

TEST_CASE("quantities are read, rounded and printed as apimachinery does") {
    struct Row {
        const char* text;
        const char* canonical;
        std::int64_t units;
        std::int64_t milli;
    };
    for (const Row& row : std::initializer_list<Row>{
             {"0", "0", 0, 0},
             {"-0", "0", 0, 0},
             {"1.", "1", 1, 1000},
             {".5", "500m", 1, 500},
             {"-.5Ki", "-512", -512, -512000},
             {"0.5Ki", "512", 512, 512000},
             {"0.0001Ki", "102400u", 1, 103},
             {"0.0000000001Ki", "103n", 1, 1},
             {"1.1n", "2n", 1, 1},
             {"0.1n", "1n", 1, 1},
             {"1024", "1024", 1024, 1024000},
             {"1000", "1k", 1000, 1000000},
             {"1.5Gi", "1536Mi", 1610612736, 1610612736000},
             {"1025Ki", "1025Ki", 1049600, 1049600000},
             {"1024Mi", "1Gi", 1073741824, 1073741824000},
             {"1.234", "1234m", 2, 1234},
             {"007", "7", 7, 7000},
             {"+5", "5", 5, 5000},
             {"0.1Mi", "104857600m", 104858, 104857600},
             {"12e6", "12e6", 12000000, 12000000000},
             {"12e-6", "12e-6", 1, 1},
             {"743e+2", "74300", 74300, 74300000},
             {"860.800e10", "8608e9", 8608000000000, 8608000000000000},
             {"1E", "1E", 1000000000000000000, INT64_MAX},
             {"1E18", "1e18", 1000000000000000000, INT64_MAX},
             {"1e28", "10e27", INT64_MAX, INT64_MAX},
             {"1e99", "10e27", INT64_MAX, INT64_MAX},
             {"1e-1000", "1e-9", 1, 1},
             {"1e-99999999", "1e-9", 1, 1},
             {"9223372036854775807", "9223372036854775807", INT64_MAX, INT64_MAX},
             {"8Ei", "9223372036854775807", INT64_MAX, INT64_MAX},
             {"7.9999999999999999999Ei", "9223372036854775807", INT64_MAX, INT64_MAX},
             {"99999999999999999999999Ki", "9223372036854775807", INT64_MAX, INT64_MAX},
             {"4Ei", "4Ei", 4611686018427387904, INT64_MAX},
             {"-1500m", "-1500m", -2, -1500},
             {"8118372Ki", "8118372Ki", 8313212928, 8313212928000},
         }) {
        const Quantity read = quantity(row.text);
        CHECK(read.text() == row.canonical);
        CHECK_MESSAGE(read.units() == row.units, row.text);
        CHECK_MESSAGE(read.milli() == row.milli, row.text);
    }
    for (const char* text :
         {"",    " 1",  "1 ",   "1..2", "1.2.3", "1e",  "1K",
          "1ki", "1mi", "0x10", "1,5",  "1_000", "abc", "1i",
          "e3",  "Ki",  "-",    ".",    "1e3.5", "1m5", "1e99999999999999999999"}) {
        CHECK_MESSAGE(!Quantity::parse(text), text);
    }
}

TEST_CASE("a sum has the form of its first part that is not zero") {
    CHECK((quantity("1Gi") + quantity("1G")).text() == "2073741824");
    CHECK((Quantity() + quantity("2Gi")).text() == "2Gi");
    CHECK((Quantity() - quantity("2Gi")).text() == "-2Gi");
    CHECK((quantity("12e6") + quantity("1500m")).text() == "12000001500e-3");
    CHECK((quantity("3") - quantity("500m")).text() == "2500m");
    CHECK((quantity("1e28") + quantity("1e28")) == quantity("1e28"));
    CHECK(Quantity::from_milli(3050).text() == "3050m");
    CHECK(Quantity::from_units(5 << 20, Quantity::Format::binary_si).text() == "5Mi");
    CHECK(Quantity::from_units(INT64_MIN).units() == INT64_MIN);
}

TEST_CASE("quantities are compared by amount, whatever their form") {
    CHECK(quantity("1") == quantity("1000m"));
    CHECK(quantity("1Ki") > quantity("1k"));
    CHECK(quantity("-1") < quantity("0"));
    CHECK(quantity("0.5Gi") == quantity("512Mi"));
}

TEST_CASE("what is printed is read as the same amount and printed the same") {
    Random random(4);
    constexpr std::string_view suffixes[] = {"",   "n",  "u",  "m",   "k",  "M",  "G",
                                             "T",  "P",  "E",  "Ki",  "Mi", "Gi", "Ti",
                                             "Pi", "Ei", "e3", "e-7", "E11"};
    for (int i = 0; i < 20'000; ++i) {
        std::string text = random.below(5) == 0 ? "-" : "";
        text += std::to_string(random.next() >> (1 + random.below(63)));
        if (random.below(3) == 0) text += "." + std::to_string(random.below(100'000));
        text += suffixes[random.below(std::size(suffixes))];
        const Quantity read = quantity(text);
        const Quantity again = quantity(read.text());
        REQUIRE_MESSAGE(again == read, text);
        REQUIRE_MESSAGE(again.text() == read.text(), text);
    }
}

}  // namespace
}  // namespace muster
