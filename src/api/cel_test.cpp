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

TEST_CASE("functions, numbers and optional parts") {
    CHECK(said("'abc'.startsWith('a') && 'abc'.endsWith('c') && 'abc'.contains('b')") == "true");
    CHECK(said("'a-b'.matches('^[a-z-]+$') && matches('1', '[0-9]')") == "true");
    CHECK(said("'h\xc3\xa9llo'.substring(1, 3) == '\xc3\xa9l' && 'h\xc3\xa9'.charAt(1) == "
               "'\xc3\xa9'") == "true");
    CHECK(said("'a,b,c'.split(',') == ['a', 'b', 'c'] && ['a', 'b'].join('-') == 'a-b'") == "true");
    CHECK(said("'aXbX'.replace('X', '') == 'ab' && ' a '.trim() == 'a'") == "true");
    CHECK(said("'abcb'.indexOf('b') == 1 && 'abcb'.lastIndexOf('b') == 3") == "true");
    CHECK(said("'Ab'.lowerAscii() == 'ab' && 'Ab'.upperAscii() == 'AB'") == "true");
    CHECK(said("7 / 2 == 3 && -7 % 2 == -1 && 2 * 3 == 6 && 1.5 + 1.5 == 3.0") == "true");
    CHECK(said("int('12') == 12 && string(3) == '3' && double('1.5') == 1.5") == "true");
    CHECK(said("[3, 1, 2].max() == 3 && [1, 2].sum() == 3 && [1, 2].isSorted()") == "true");
    CHECK(said("[1, 2].map(x, x * 2) == [2, 4] && [1, 2].map(x, x > 1, x) == [2]") == "true");
    CHECK(said("[1, 2].exists_one(x, x == 1) && [1] + [2] == [1, 2]") == "true");
    CHECK(said("self.m.all(k, self.m[k] > 0)", R"({"m":{"a":1,"b":2}})") == "true");
    CHECK(said("{'a': 1}['a'] == 1 && has({'a': 1}.a)") == "true");
    CHECK(said("quantity('1500m').isGreaterThan(quantity('1')) && isQuantity('1Gi')") == "true");
    CHECK(said("duration('90s') > duration('1m')") == "true");
    CHECK(said("'%s has %d'.format(['x', 2]) == 'x has 2'") == "true");
    CHECK(said("self.?a.orValue(3) == 3 && !self.?a.hasValue()") == "true");
    CHECK(said("self.?a.?b.orValue(0) == 2", R"({"a":{"b":2}})") == "true");
    CHECK(said("self.a__dash__b == 1 && self.__namespace__ == 2", R"({"a-b":1,"namespace":2})") ==
          "true");
    CHECK(said("'\\x41\\n' == 'A\\n' && r'\\d' == '\\\\d'  // and a comment") == "true");
    CHECK(said("1 / 0 == 1") == "division by zero");
    CHECK(said("quantity('x') == quantity('y')").starts_with("quantities must match"));
    CHECK(said(R"(self['\x01quantity'].isLessThan(1))", R"({"\u0001quantity":1})") ==
          "no such overload");
}

TEST_CASE("a rule that takes too long is given up") {
    const std::string many = "[" + std::string(R"(1,)") + "2,3,4,5,6,7,8,9,10]";
    std::string rule = "true";
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g"})
        rule = many + ".all(" + name + ", " + rule + ")";
    CHECK(said(rule) == "call cost exceeds limit");
    const std::string long_text = R"({"a":")" + std::string(10'000, 'x') + R"("})";
    CHECK(said("self.a.replace('x', self.a) == ''", long_text) == "call cost exceeds limit");
}

TEST_CASE("only rules that look at oldSelf are of changes") {
    CHECK(CelRule("self.all(x, x == oldSelf[0])").is_of_change());
    CHECK_FALSE(CelRule("self.oldSelf == 1").is_of_change());
}

TEST_CASE("what is no CEL, or none that is known here, is an error and never a crash") {
    for (const char* text :
         {"", "1 +", "(1", "[1", "a.", "a b", "has(a)", "f(1)", "a.f()", "'a", "1 ? 2", "a.all(x)",
          "a.all(1, 2)", "99999999999999999999", "size()", "#"}) {
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

TEST_CASE("what a rule makes is paid for before it is made") {
    const std::string letters = R"({"s":")" + std::string(30'000, 'a') + "\"}";
    const std::string refused = "call cost exceeds limit";
    CHECK(said("self.s.split('').map(x, self.s.split('')).size() > 0", letters) == refused);
    CHECK(said("self.s.split('').map(x, self.s).join('').size() > 0", letters) == refused);
    CHECK(said("'%s'.format([self.s.split('').map(x, self.s)]).size() > 0", letters) == refused);
    CHECK(said("self.s.split('').map(x, self.s.split('') + self.s.split('')).size() > 0",
               letters) == refused);
    // Nobody looks at the text, so that only its making can be refused.
    CHECK(said("'%s'.format([self.s.split('').map(x, self.s)]) != 1", letters) == refused);
    CHECK(said("self.s.split('').map(x, self.s).join() != 1", letters) == refused);
    std::string numbers = "{\"l\":[0";
    for (int i = 1; i < 3'000; ++i)
        numbers += "," + std::to_string(i);
    numbers += "]}";
    CHECK(said("self.l.map(x, self.l).map(y, self.l.map(z, y)).size() > 0", numbers) == refused);
    CHECK(said("self.l.map(x, [self.l, self.l]).size() > 0", numbers) == refused);
    CHECK(said("self.l.map(x, {'a': self.l}).size() > 0", numbers) == refused);
    CHECK(said("self.l.all(x, self.l.filter(y, true).size() > 0)", numbers) == refused);
    CHECK(said("self.l.map(x, dyn(self.l)).size() > 0", numbers) == refused);
}

TEST_CASE("what a rule compares and searches is paid for in steps") {
    std::string numbers = "{\"l\":[0";
    for (int i = 1; i < 30'000; ++i)
        numbers += "," + std::to_string(i);
    numbers += "]}";
    const std::string refused = "call cost exceeds limit";
    CHECK(said("self.l.all(x, self.l == self.l)", numbers) == refused);
    CHECK(said("self.l.all(x, [self.l, self.l] != [self.l, [x]])", numbers) == refused);
    CHECK(said("self.l.all(x, self.l.sum() > 0)", numbers) == refused);
    const std::string texts =
        R"({"s":")" + std::string(200'000, 'a') + R"(","t":")" + std::string(100'000, 'a') + "b\"}";
    CHECK(said("!self.s.contains(self.t)", texts) == refused);
    CHECK(said("self.s.indexOf(self.t) == -1", texts) == refused);
}

TEST_CASE("rules of usual size have room enough") {
    std::string names = "{\"l\":[\"name-0\"";
    for (int i = 1; i < 1'000; ++i)
        names += ",\"name-" + std::to_string(i) + "\"";
    names += "]}";
    CHECK(said("self.l.all(x, self.l.exists_one(y, y == x))", R"({"l":["a","b","c"]})") == "true");
    CHECK(said("self.l.all(x, x.matches('^[a-z]+-[0-9]+$') && x in self.l)", names) == "true");
    CHECK(said("self.l.map(x, x.split('-')[0]).filter(x, x == 'name').size() == 1000", names) ==
          "true");
    CHECK(said("self == oldSelf", names, names) == "true");
}

}  // namespace
}  // namespace muster::api
