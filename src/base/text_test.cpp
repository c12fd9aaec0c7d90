// base/text_test.cpp - text operations and name checks.
#include "base/text.h"

#include <doctest/doctest.h>

#include "base/dns_name.h"
#include "base/random.h"

namespace muster {
namespace {

TEST_CASE("text is split, joined, trimmed") {
    CHECK(split("a,b,,c", ',') == std::vector<std::string_view>{"a", "b", "", "c"});
    CHECK(split("", ',') == std::vector<std::string_view>{""});
    CHECK(join(split("a,b", ','), "--") == "a--b");
    CHECK(join(std::vector<std::string>{}, ",").empty());
    CHECK(split_first("a=b=c", '=')->after == "b=c");
    CHECK(split_last("a=b=c", '=')->before == "a=b");
    CHECK(!split_first("abc", '='));
    CHECK(trim(" \t a b\n") == "a b");
    CHECK(trim(" \n").empty());
    CHECK(replace_all("aXbXX", "X", "--") == "a--b----");
    CHECK(to_lower("AbZ-") == "abz-");
    CHECK(equal_ignoring_case("Content-Type", "content-type"));
    CHECK(parse_integer("-42") == -42);
    CHECK(!parse_integer("42x"));
    CHECK(!parse_integer("9223372036854775808"));
    CHECK(!parse_integer(""));
    CHECK(quoted("a\"b\\\n\x01\xff\u00fc") == "\"a\\\"b\\\\\\n\\x01\\xff\u00fc\"");
    CHECK(to_hex("\x01\xff") == "01ff");
}

TEST_CASE("base64 is RFC 4648") {
    struct Row {
        const char* bytes;
        const char* text;
    };
    for (const Row& row : std::initializer_list<Row>{{"", ""},
                                                     {"f", "Zg=="},
                                                     {"fo", "Zm8="},
                                                     {"foo", "Zm9v"},
                                                     {"foobar", "Zm9vYmFy"},
                                                     {"\xfb\xff", "+/8="}}) {
        CHECK(to_base64(row.bytes) == row.text);
        CHECK(from_base64(row.text) == row.bytes);
    }
    CHECK(to_base64url("\xfb\xff") == "-_8");
    CHECK(from_base64url("-_8") == "\xfb\xff");
    CHECK(from_base64("Zm9v\nYmFy\r\n") == "foobar");
    for (const char* text : {"Z", "Zg", "Zg=", "Zg===", "Z===", "Zg==Zg==", "Zm9v!", "-_8="})
        CHECK_MESSAGE(!from_base64(text), text);
    Random random(5);
    for (int i = 0; i < 500; ++i) {
        std::string bytes;
        for (std::uint64_t left = random.below(50); left > 0; --left)
            bytes += static_cast<char>(random.below(256));
        REQUIRE(from_base64(to_base64(bytes)) == bytes);
        REQUIRE(from_base64url(to_base64url(bytes)) == bytes);
    }
}

TEST_CASE("UTF-8 is checked") {
    CHECK(is_utf8("a\u00fc\u20ac\U0001F600"));
    for (const char* text : {"\x80", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82"})
        CHECK(!is_utf8(text));
}

TEST_CASE("names are good or bad as apimachinery has it") {
    const auto a = [](std::size_t count) { return std::string(count, 'a'); };
    for (const std::string& name : {std::string("a"), std::string("a-1"), std::string("0"), a(63)})
        CHECK(dns1123_label_faults(name).empty());
    for (const char* name : {"", "A", "-a", "a-", "a_b", "a.b", " "})
        CHECK(dns1123_label_faults(name).size() == 1);
    CHECK(dns1123_label_faults("a.b") == std::vector<std::string>{"must not contain dots"});
    CHECK(dns1123_label_faults(a(64)) ==
          std::vector<std::string>{"must be no more than 63 characters"});
    CHECK(dns1123_subdomain_faults("a.b-c.1").empty());
    CHECK(dns1123_subdomain_faults("a..b") ==
          std::vector<std::string>{
              "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
              "'-' or '.', and must start and end with an alphanumeric character (e.g. "
              "'example.com', regex used for validation is "
              "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"});
    CHECK(dns1035_label_faults("1a").size() == 1);
    CHECK(dns1035_label_faults("a1-b").empty());
    CHECK(port_name_faults("http-1").empty());
    CHECK(port_name_faults("-").size() == 2);
    CHECK(config_map_key_faults("..a") == std::vector<std::string>{"must not start with '..'"});
    CHECK(environment_name_faults("A=B").size() == 1);
    CHECK(path_segment_faults("a/b%").size() == 2);
}

TEST_CASE("label keys and values are good or bad as apimachinery has it") {
    for (const char* key : {"simple", "now-with-dashes/simple", "1.2.3.4/5678", "x.y/A_b.c"})
        CHECK(label_key_faults(key).empty());
    for (const char* key : {"nospecial%^=@", "-a", "a-", "a/b/c", "Example.com/abc", "a_b/abc",
                            "example.com/", "/simple", ""}) {
        CHECK(!label_key_faults(key).empty());
    }
    CHECK(label_key_faults("/x") == std::vector<std::string>{"prefix part must be non-empty"});
    CHECK(label_key_faults(std::string(64, 'a')) ==
          std::vector<std::string>{"name part must be no more than 63 bytes"});
    CHECK(label_key_faults("a/b/c")[0].starts_with("a valid label key must consist of"));
    CHECK(label_value_faults("").empty());
    CHECK(label_value_faults("-x") ==
          std::vector<std::string>{
              "a valid label must be an empty string or consist of alphanumeric characters, '-', "
              "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue', "
              " or 'my_value',  or '12345', regex used for validation is "
              "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"});
}

}  // namespace
TEST_CASE("a prefix cuts no character") {
    CHECK(utf8_prefix("abc", 3) == "abc");
    CHECK(utf8_prefix("abc", 2) == "ab");
    CHECK(utf8_prefix("a\u00e4b", 2) == "a");
    CHECK(utf8_prefix("a\u00e4b", 3) == "a\u00e4");
    CHECK(utf8_prefix("\U0001f600", 3).empty());
    CHECK(utf8_prefix("\x80\x80\x80\x80\x80\x80", 5).size() == 2);  // No UTF-8 at all.
    CHECK(utf8_prefix("ab", 0).empty());
}

}  // namespace muster
