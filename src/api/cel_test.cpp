// api/cel_test.cpp - CEL: what expressions come to, what cannot be said, what cannot be parsed.
#include "api/cel.h"

#include <string>

#include <doctest/doctest.h>

#include "api/parsed_text.h"

namespace muster::api {
namespace {

/// "true", "false", or why it cannot be said.
std::string said(std::string_view rule, std::string_view self = "{}",
                 std::string_view old_self = "{}") {
    const Value now = parsed(self), before = parsed(old_self);
    const CelRule made(rule);
    REQUIRE_MESSAGE(made.error().empty(), made.error());
    const CelRule::Answer answer = made.ask(now, &before);
    return answer.trouble.empty() ? (answer.holds ? "true" : "false") : answer.trouble;
}

TEST_CASE("operators bind as in CEL") {
    CHECK(said("1 + 2 - 3 == 0 && !false") == "true");
    CHECK(said("true || false && false") == "true");
    CHECK(said("1 < 2 ? 'a' == \"a\" : 1 == 2") == "true");
    CHECK(said("false ? true : true ? false : true") == "false");
    CHECK(said("-1 <= 0 && 3 >= 3 && 2 != 3 && 3 > 2 && 'a' < 'b'") == "true");
    CHECK(said("'b' in ['a', 'b'] && !('c' in [])") == "true");
    CHECK(said("[1, 2][1] == 2 && size('h\xc3\xa9') == 2 && [].size() == 0") == "true");
}

TEST_CASE("fields, items and macros") {
    const char* self = R"({"a":{"b":[{"n":1},{"n":2}]},"m":{"x":"y"}})";
    CHECK(said("has(self.a.b) && !has(self.c) && self.m.x == 'y' && self.m['x'] == 'y'", self) ==
          "true");
    CHECK(said("self.a.b.all(x, x.n > 0) && self.a.b.exists(x, x.n == 2)", self) == "true");
    CHECK(said("self.a.b.filter(x, x.n > 1).size() == 1", self) == "true");
    CHECK(said("self.a.b.all(x, self.a.b.exists(y, y == x))", self) == "true");
    CHECK(said("self == oldSelf", R"({"a":1,"b":2})", R"({"b":2,"a":1})") == "true");
}

TEST_CASE("what cannot be said is said, unless the other side decides") {
    CHECK(said("self.a == 1") == "no such key: a");
    CHECK(said("has(self.a.b)") == "no such key: a");
    CHECK(said("self.a == 1 || true") == "true");
    CHECK(said("false && self.a == 1") == "false");
    CHECK(said("self.a == 1 && true") == "no such key: a");
    CHECK(said("[1, 2].all(x, x == self.a)") == "no such key: a");
    CHECK(said("[1, 2].exists(x, x == 1 || x == self.a)") == "true");
    CHECK(said("[1][1] == 1") == "index out of bounds: 1");
    CHECK(said("'a' < 1") == "no such overload");
    CHECK(said("1 + 1") == "no such overload");
    CHECK(said("9223372036854775807 + 1 > 0") == "integer overflow");
    CHECK(said("nobody") == "undeclared reference to 'nobody'");
}

TEST_CASE("only rules that look at oldSelf are of changes") {
    CHECK(CelRule("self.all(x, x == oldSelf[0])").is_of_change());
    CHECK_FALSE(CelRule("self.oldSelf == 1").is_of_change());
}

TEST_CASE("what is no CEL, or none that is known here, is an error and never a crash") {
    for (const char* text :
         {"", "1 +", "(1", "[1", "a.", "a b", "has(a)", "f(1)", "a.f()", "'a", "1 ? 2", "a.all(x)",
          "a.all(1, 2)", "99999999999999999999", "size()", "#", "'\\n'"}) {
        CAPTURE(text);
        CHECK_FALSE(CelRule(text).error().empty());
    }
    CHECK_FALSE(CelRule(std::string(5000, '(')).error().empty());
    CHECK_FALSE(CelRule(std::string(5000, '!')).error().empty());
    CHECK_FALSE(CelRule(std::string(5000, '[')).error().empty());
    std::string sum = "1", chain = "a";
    for (int i = 0; i < 5000; ++i)
        sum += " + 1", chain += ".b";
    CHECK(CelRule(sum).error() == "too long");
    CHECK(CelRule(chain).error() == "too long");
}

}  // namespace
}  // namespace muster::api
