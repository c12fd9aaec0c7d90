// net/rope_test.cpp - what goes in comes out, in pieces of any size.
#include "net/rope.h"

#include <doctest/doctest.h>

#include "net/gzip.h"

namespace muster::net {
namespace {

/// Short and long pieces, of one only a part.
std::shared_ptr<Rope> mixed() {
    auto rope = std::make_shared<Rope>();
    rope->add("head ");
    rope->add(make_bytes(std::string(10'000, 'a') + "\n"), 10'000);
    rope->add(make_bytes("short"), 5);
    rope->add(std::string(100'000, 'b'));
    rope->add(" tail");
    rope->seal();
    return rope;
}

const std::string mixed_text =
    "head " + std::string(10'000, 'a') + "short" + std::string(100'000, 'b') + " tail";

}  // namespace

TEST_CASE("a rope says all that was added, and shares the long pieces") {
    const Bytes shared = make_bytes(std::string(5'000, 'x'));
    Rope rope;
    rope.add(shared, shared->size());
    CHECK(shared.use_count() == 2);
    const auto made = mixed();
    CHECK(made->text() == mixed_text);
    CHECK(made->size() == mixed_text.size());
    CHECK(gunzip(*made->packed(), 1 << 20) == mixed_text);
}

TEST_CASE("what is to be sent goes out in order, whatever the steps, and the flow is told") {
    for (const std::size_t step : {1UL, 7UL, 4'096UL, 1'000'000UL}) {
        const auto flow = std::make_shared<Flow>();
        flow->add(3);
        Outgoing out;
        out.add(make_bytes("abc"), flow);
        out.add(mixed());
        out.add(make_bytes(""));
        out.add(make_bytes("end"));
        std::string text;
        while (!out.empty()) {
            std::string piece(step, '\0');
            piece.resize(out.take(piece.data(), step));
            text += piece;
        }
        CHECK(text == "abc" + mixed_text + "end");
        CHECK(flow->waiting == 0);
    }
}

TEST_CASE("what is dropped is not waited for") {
    const auto flow = std::make_shared<Flow>();
    flow->add(6);
    Outgoing out;
    out.add(make_bytes("abcdef"), flow);
    std::string text;
    out.append_to(text, 2);
    out.clear();
    CHECK(text == "ab");
    CHECK(out.empty());
    CHECK(flow->waiting == 0);
}

}  // namespace muster::net
