// agent/outbox_test.cpp - messages that wait for a slow end.
#include "agent/outbox.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "agent/unix_socket.h"

namespace muster::agent {
namespace {

struct Ends {
    Descriptor ours;
    Descriptor theirs;

    Ends() {
        int ends[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == 0);
        ours.reset(ends[0]);
        theirs.reset(ends[1]);
    }
};

/// Adds messages until the socket takes no more, and says how many there are.
int fill(Outbox& box, const Ends& ends) {
    int count = 0;
    do {
        const auto text = std::to_string(count++) + std::string(20'000, 'x');
        REQUIRE(box.add(text, {}, Outbox::Weight::own) == Outbox::Added::yes);
    } while (box.send(ends.ours.get()) == Outbox::Sent::all);
    return count;
}

TEST_CASE("messages for an end that does not read wait, and come in order") {
    const Ends ends;
    Outbox box;
    const int count = fill(box, ends);
    CHECK(box.size() == 1);
    REQUIRE(box.add("last", {ends.theirs.get()}, Outbox::Weight::own) == Outbox::Added::yes);
    for (int i = 0; i < count; ++i) {
        const Message got = receive_message(ends.theirs.get());
        REQUIRE(got.kind == Message::Kind::message);
        CHECK(got.text.starts_with(std::to_string(i) + "x"));
        box.send(ends.ours.get());
    }
    const Message last = receive_message(ends.theirs.get());
    CHECK(last.text == "last");
    CHECK(last.descriptors.size() == 1);
    CHECK(box.empty());
    CHECK(receive_message(ends.theirs.get()).kind == Message::Kind::none_now);
}

TEST_CASE("what users ask for is refused where Muster's own words still have room") {
    Outbox box;
    for (std::size_t i = 0; i < Outbox::kMostAsked; ++i)
        REQUIRE(box.add("ls", {}, Outbox::Weight::asked) == Outbox::Added::yes);
    CHECK(box.add("ls", {}, Outbox::Weight::asked) == Outbox::Added::full);
    CHECK(box.add("end", {}, Outbox::Weight::own) == Outbox::Added::yes);
    while (box.size() < Outbox::kMost)
        REQUIRE(box.add("kill", {}, Outbox::Weight::own) == Outbox::Added::yes);
    CHECK(box.add("kill", {}, Outbox::Weight::own) == Outbox::Added::full);

    Outbox large;
    const std::string text(kMessageLimit, 'x');
    for (std::size_t i = 0; i < Outbox::kMostAskedBytes / kMessageLimit; ++i)
        REQUIRE(large.add(text, {}, Outbox::Weight::asked) == Outbox::Added::yes);
    CHECK(large.add("ls", {}, Outbox::Weight::asked) == Outbox::Added::full);
    CHECK(large.add(text + "x", {}, Outbox::Weight::own) == Outbox::Added::too_long);
}

TEST_CASE("a message that the kernel does not take is told, and holds up no other") {
    const Ends ends;
    Outbox box;
    int refused = 0;
    const Descriptor path(::open("/", O_PATH | O_CLOEXEC));
    const std::vector<int> too_many(5, path.get());  // A message has at most four.
    REQUIRE(box.add("many", too_many, Outbox::Weight::asked, [&] { ++refused; }) ==
            Outbox::Added::yes);
    REQUIRE(box.add("next", {}, Outbox::Weight::asked, [&] { ++refused; }) == Outbox::Added::yes);
    CHECK(box.send(ends.ours.get()) == Outbox::Sent::all);
    CHECK(refused == 1);
    CHECK(receive_message(ends.theirs.get()).text == "next");
}

TEST_CASE("an end that reads nothing is stuck after so many looks, and one that is slow is not") {
    Outbox box;
    CHECK(box.look(0) == Outbox::Look::idle);
    for (int i = 1; i < Outbox::kStuckLooks; ++i)
        CHECK(box.look(700) == Outbox::Look::moving);
    CHECK(box.look(699) == Outbox::Look::moving);  // It has read something: all begins anew.
    for (int i = 1; i < Outbox::kStuckLooks; ++i)
        CHECK(box.look(900) == Outbox::Look::moving);  // More was sent, and nothing read.
    CHECK(box.look(900) == Outbox::Look::stuck);
    CHECK(box.look(0) == Outbox::Look::idle);

    const Ends ends;
    fill(box, ends);
    for (int i = 0; i < 2 * Outbox::kStuckLooks; ++i) {  // As full as before at each look.
        REQUIRE(receive_message(ends.theirs.get()).kind == Message::Kind::message);
        fill(box, ends);
        CHECK(box.look(200'000) == Outbox::Look::moving);
    }
    for (int i = 1; i < Outbox::kStuckLooks; ++i)
        box.look(200'000);
    CHECK(box.look(200'000) == Outbox::Look::stuck);
}

TEST_CASE("an end that reads as much as is sent is not stuck, though as much is left") {
    const Ends ends;
    Outbox box;
    const auto put = [&] {
        REQUIRE(box.add(std::string(300, 'x'), {}, Outbox::Weight::own) == Outbox::Added::yes);
        REQUIRE(box.send(ends.ours.get()) == Outbox::Sent::all);
    };
    for (int i = 0; i < 3; ++i)
        put();
    for (int i = 0; i < 2 * Outbox::kStuckLooks; ++i) {
        REQUIRE(receive_message(ends.theirs.get()).kind == Message::Kind::message);
        put();
        CHECK(box.look(unread_bytes(ends.ours.get())) == Outbox::Look::moving);
    }
    for (int i = 1; i < Outbox::kStuckLooks; ++i) {
        put();  // More and more, of which nothing is read.
        CHECK(box.look(unread_bytes(ends.ours.get())) == Outbox::Look::moving);
    }
    CHECK(box.look(unread_bytes(ends.ours.get())) == Outbox::Look::stuck);
}

TEST_CASE("an end that is gone is told") {
    Ends ends;
    Outbox box;
    ends.theirs.reset();
    REQUIRE(box.add("x", {}, Outbox::Weight::own) == Outbox::Added::yes);
    CHECK(box.send(ends.ours.get()) == Outbox::Sent::closed);
}

}  // namespace
}  // namespace muster::agent
