// net/http_test.cpp - header fields, queries and percent coding.
#include "net/http.h"

#include <doctest/doctest.h>

namespace muster::net {

TEST_CASE("header names compare without case and set replaces all") {
    Headers headers;
    headers.add("Accept", "a");
    headers.add("accept", "b");
    CHECK(headers.get("ACCEPT") == "a");
    CHECK(headers.has("aCCept"));
    headers.set("Accept", "c");
    CHECK(headers.fields.size() == 1);
    CHECK(headers.get("accept") == "c");
    CHECK(headers.get("missing").empty());
}

TEST_CASE("a query keeps order, repeats and empty values, and decodes both parts") {
    const auto pairs = parse_query("command=ls&command=-l&a%3Db=x+y%26&watch&&empty=");
    REQUIRE(pairs.size() == 5);
    CHECK(pairs[0] == std::pair<std::string, std::string>("command", "ls"));
    CHECK(pairs[1].second == "-l");
    CHECK(pairs[2] == std::pair<std::string, std::string>("a=b", "x y&"));
    CHECK(pairs[3] == std::pair<std::string, std::string>("watch", ""));
    CHECK(pairs[4] == std::pair<std::string, std::string>("empty", ""));
    CHECK(parse_query("").empty());
}

TEST_CASE("percent coding goes there and back, and leaves what is not coded alone") {
    const std::string all = "a b/ä%+~.-_";
    CHECK(percent_decode(percent_encode(all)) == all);
    CHECK(percent_encode("a/b c") == "a%2Fb%20c");
    CHECK(percent_decode("100%") == "100%");
    CHECK(percent_decode("%zz%4") == "%zz%4");
    CHECK(percent_decode("a+b") == "a+b");
}

}  // namespace muster::net
