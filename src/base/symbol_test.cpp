// base/symbol_test.cpp - names that are kept once: their order, and that many threads and more
// names than the table holds change nothing but its room.
#include "base/symbol.h"

#include <map>
#include <thread>
#include <unordered_map>
#include <vector>

#include <doctest/doctest.h>

#include "base/hash.h"

namespace muster {
namespace {

TEST_CASE("a symbol is ordered and compared as its text is") {
    const std::vector<std::string> texts{"", "a", "ab", "b", "metadata", std::string(500, 'x')};
    for (const std::string& a : texts) {
        for (const std::string& b : texts) {
            CHECK((Symbol(a) == Symbol(b)) == (a == b));
            CHECK((Symbol(a) <=> Symbol(b)) == (a <=> b));
            CHECK((Symbol(a) == b) == (a == b));
            CHECK((Symbol(a) < b) == (a < b));
        }
        CHECK(Symbol(a).text() == a);
        CHECK(Symbol(a).hash() == Symbol(std::string_view(a)).hash());
    }
    CHECK(Symbol().empty());
    CHECK("ns/" + Symbol("a") == "ns/a");
    CHECK(Symbol("a") + "/b" == "a/b");
}

TEST_CASE("copies outlive the first, also of a text that is not kept") {
    for (const std::size_t length : {std::size_t{3}, Symbol::longest_kept + 1}) {
        const std::string text(length, 'y');
        Symbol copy;
        {
            const Symbol first(text);
            copy = first;
            copy = *&copy;
            Symbol moved = std::move(copy);
            copy = moved;
        }
        CHECK(copy == text);
    }
}

TEST_CASE("threads that make the same names at once get the same ones") {
    std::vector<std::vector<Symbol>> made(4);
    {
        std::vector<std::jthread> threads;
        for (auto& mine : made) {
            threads.emplace_back([&mine] {
                for (int i = 0; i < 2000; ++i)
                    mine.emplace_back("thread-name-" + std::to_string(i));
            });
        }
    }
    for (const auto& mine : made)
        CHECK(mine == made.front());
    std::unordered_map<Symbol, int> counts;
    for (const auto& mine : made) {
        for (const Symbol& name : mine)
            ++counts[name];
    }
    CHECK(counts.size() == 2000);
    CHECK(counts.at("thread-name-7") == 4);
}

TEST_CASE("keys that name one object each, and names in one another's way, are not kept") {
    const std::size_t before = Symbol::kept();
    CHECK(Symbol(R"(k:{"uid":"1"})") == R"(k:{"uid":"1"})");
    CHECK(Symbol::kept() == before);
    // All of one slot: found among many.
    std::vector<std::string> crowd;
    for (std::uint64_t i = 0; crowd.size() < 100; ++i) {
        const std::string name = "c" + std::to_string(i);
        const std::uint64_t hash = stable_hash(name);
        if ((hash ^ (hash >> 32)) % (2 * Symbol::most_kept) == 77) crowd.push_back(name);
    }
    for (const std::string& name : crowd)
        CHECK(Symbol(name) == Symbol(name));
    CHECK(Symbol::kept() <= before + 64);
}

TEST_CASE("more names than the table holds are names all the same, and the table stops growing") {
    std::map<Symbol, std::size_t> numbers;
    for (std::size_t i = 0; i < 2 * Symbol::most_kept; ++i)
        numbers["name-" + std::to_string(i)] = i;
    CHECK(numbers.size() == 2 * Symbol::most_kept);
    CHECK(Symbol::kept() <= Symbol::most_kept + 1);
    const Symbol known("name-1");
    const std::string last = "name-" + std::to_string(2 * Symbol::most_kept - 1);
    CHECK(numbers.at("name-1") == 1);
    CHECK(numbers.at(last) == 2 * Symbol::most_kept - 1);
    CHECK(Symbol(last) == Symbol(last));
    CHECK(Symbol(last) != known);
}

}  // namespace
}  // namespace muster
