// net/ledger_test.cpp - who may hold how much.
#include "net/ledger.h"

#include <vector>

#include <doctest/doctest.h>

#include "net/exchange.h"

namespace muster::net {
namespace {

constexpr Ledger::Limits small{1000, 200, 50, 400, 1};

std::shared_ptr<Ledger> ledger() {
    return std::make_shared<Ledger>(small);
}

/// Takes as much as it gets, ten at a time.
std::size_t filled(Charge& charge) {
    while (charge.grow(10)) {
    }
    return charge.bytes();
}

}  // namespace

TEST_CASE("a client that takes a few bytes a second keeps no room that others want") {
    const auto all = ledger();
    Charge held(all->account("slow"), nullptr);
    held.add(900);
    Stall slow{all->account("slow")};
    CHECK_FALSE(slow.has_lasted(1, true));
    CHECK_FALSE(slow.has_lasted(1, true));
    CHECK(slow.has_lasted(1, true));
    CHECK_FALSE(slow.has_lasted(1 << 20, true));
    Stall idle{all->account("slow")};  // Nothing waits for it.
    for (int i = 0; i < 10; ++i)
        CHECK_FALSE(idle.has_lasted(0, false));
    held.clear();
    held.add(60);  // Little, and much is free: it may take its time.
    Stall poor{all->account("slow")};
    for (int i = 0; i < 10; ++i)
        CHECK_FALSE(poor.has_lasted(1, true));
}

TEST_CASE("one client alone gets half of all, and what it gives back is free again") {
    const auto all = ledger();
    Charge charge(all->account("a"), nullptr);
    CHECK(filled(charge) == 500);
    CHECK(all->held() == 500);
    charge.clear();
    CHECK(all->held() == 0);
    CHECK(all->account("a")->held() == 0);
}

TEST_CASE("however many take what they can, the next one gets a part and nobody gets all") {
    const auto all = ledger();
    std::vector<Charge> charges;
    for (int i = 0; i < 6; ++i) {
        Charge& charge = charges.emplace_back(all->account(std::to_string(i)), nullptr);
        CHECK(filled(charge) > 0);
    }
    CHECK(all->held() <= small.all + small.beyond);
}

TEST_CASE("who holds more than is free is over its part; the system is counted and never refused") {
    const auto all = ledger();
    Charge first(all->account("a"), nullptr);
    CHECK(filled(first) == 500);
    CHECK_FALSE(first.account()->is_over());
    Charge second(all->account("b"), nullptr);
    REQUIRE(second.grow(20));
    CHECK(first.account()->is_over());
    CHECK_FALSE(second.account()->is_over());
    Charge admin(all->account("admin", Ledger::Rank::system), nullptr);
    CHECK(admin.grow(5000));
    CHECK(all->held() == 5520);
    CHECK_FALSE(admin.account()->is_over());
    CHECK_FALSE(second.grow(10));
}

TEST_CASE("a connection has a bound of its own, and a charge may change hands") {
    const auto all = ledger();
    const auto standing = std::make_shared<Standing>(all, all->account("address"));
    CHECK_FALSE(standing->is_known());
    Charge charge(standing->account(), standing);
    CHECK(filled(charge) == 400);
    const auto user = all->account("user");
    standing->is_of(user);
    charge.move_to(user);
    CHECK(standing->is_known());
    CHECK(user->held() == 401);  // The connection itself counts as well.
    CHECK(all->account("address")->held() == 0);
    CHECK(all->held() == 401);
    CHECK(all->known_connections() == 1);
    const Bytes bytes = charged_bytes(make_bytes("abc"), std::move(charge));
    CHECK(*bytes == "abc");
    CHECK(all->held() == 401);
    CHECK(standing->held() == 400);
}

TEST_CASE("bytes stay charged until nobody has them any more") {
    const auto all = ledger();
    Charge charge(all->account("a"), nullptr);
    charge.add(3);
    Bytes bytes = charged_bytes(make_bytes("abc"), std::move(charge));
    Bytes other = bytes;
    bytes = nullptr;
    CHECK(all->held() == 3);
    other = nullptr;
    CHECK(all->held() == 0);
}

}  // namespace muster::net
