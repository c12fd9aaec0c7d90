// control/webhooks/keys_test.cpp - certificates over the years.
#include "control/webhooks/keys.h"

#include <string>

#include <doctest/doctest.h>

namespace muster::control::webhooks {
namespace {

constexpr Time day_one{1'790'000'000'000'000'000};
constexpr Duration day = hours(24);

Time after_days(int days) {
    return day_one + hours(24LL * days);
}

struct Replica {
    net::Subject subject = subject_of({});

    Keys first() const { return *renewed({}, std::nullopt, subject, day_one); }
};

TEST_CASE("without a Secret there is an authority and a certificate for the Service's names") {
    const Replica replica;
    const Keys keys = replica.first();
    CHECK(can_serve(keys, day_one));
    CHECK(keys.authorities == keys.authority.certificate_pem);
    const auto read = net::read_certificate(keys.serving.certificate_pem);
    REQUIRE(read);
    CHECK(read->subject.names ==
          std::vector<std::string>{"muster-webhook-service.muster-system.svc",
                                   "muster-webhook-service.muster-system.svc.cluster.local"});
    CHECK(!renewed(keys, keys, replica.subject, day_one));
}

TEST_CASE("keys pass through the Secret unharmed, and its other parts stay") {
    const Keys keys = Replica().first();
    const api::Value secret = secret_with(keys, {}, "ns", "name");
    CHECK(!renewed(keys_in(secret), std::nullopt, Replica().subject, day_one));
    api::Value present = secret;
    present.at("metadata").set("labels", api::Value::object({{"app", "muster"}}));
    present.set("data", api::Value::object());
    const api::Value filled = secret_with(keys, present, "ns", "name");
    CHECK(filled["metadata"]["labels"]["app"].text_or("") == "muster");
    CHECK(filled["data"] == secret["data"]);
}

TEST_CASE("a serving certificate is renewed in its last month, by the same authority") {
    const Replica replica;
    const Keys keys = replica.first();
    CHECK(!renewed(keys, keys, replica.subject, after_days(59)));
    const auto later = renewed(keys, keys, replica.subject, after_days(61));
    REQUIRE(later);
    CHECK(later->authorities == keys.authorities);
    CHECK(later->serving.certificate_pem != keys.serving.certificate_pem);
    CHECK(can_serve(*later, after_days(100)));
    CHECK(!can_serve(keys, after_days(100)));
}

TEST_CASE("a certificate that lacks a name is renewed at once") {
    const Replica replica;
    const Keys keys = replica.first();
    Address outside;
    outside.url = "https://127.0.0.1:9443";
    const auto more = renewed(keys, keys, subject_of(outside), day_one);
    REQUIRE(more);
    CHECK(net::read_certificate(more->serving.certificate_pem)->subject.addresses ==
          std::vector<std::string>{"127.0.0.1"});
    outside.url = "https://muster.example:9443";
    CHECK(subject_of(outside).names.back() == "muster.example");
}

TEST_CASE("an ending authority is followed by one that signs when everybody believes it") {
    const Replica replica;
    Keys keys = replica.first();
    const Time last_year = after_days(3650 - 300);
    // As it would be by then.
    keys.serving =
        net::make_server_certificate(keys.authority, replica.subject, last_year, day * 40);
    const auto both = renewed(keys, keys, replica.subject, last_year);
    REQUIRE(both);
    CHECK(both->authorities == both->authority.certificate_pem + keys.authority.certificate_pem);
    CHECK(both->serving.certificate_pem == keys.serving.certificate_pem);
    CHECK(!renewed(*both, both, replica.subject, last_year));
    // When the old serving certificate has to be replaced, the new authority signs.
    const Time later = last_year + day * 15;
    const auto moved = renewed(*both, both, replica.subject, later);
    REQUIRE(moved);
    CHECK(net::is_intact(moved->serving, moved->authority.certificate_pem));
    CHECK(moved->authorities == both->authorities);
    // What has ended is believed no more.
    const auto alone = renewed(*moved, moved, replica.subject, after_days(3651));
    REQUIRE(alone);
    CHECK(alone->authorities == alone->authority.certificate_pem);
}

TEST_CASE("an authority that was made a moment ago does not sign while the old one serves") {
    const Replica replica;
    Keys keys = replica.first();
    const Time last_year = after_days(3650 - 300);
    keys.serving =
        net::make_server_certificate(keys.authority, replica.subject, last_year, day * 3);
    const auto both = renewed(keys, keys, replica.subject, last_year);
    REQUIRE(both);
    CHECK(both->serving.certificate_pem == keys.serving.certificate_pem);
    CHECK(!renewed(*both, both, replica.subject, last_year + minutes(1)));
    const auto moved = renewed(*both, both, replica.subject, last_year + minutes(11));
    REQUIRE(moved);
    CHECK(net::is_intact(moved->serving, moved->authority.certificate_pem));
}

TEST_CASE("a Secret that lost something gets it back from whoever serves") {
    const Replica replica;
    const Keys keys = replica.first();
    const auto restored = renewed({}, keys, replica.subject, day_one);
    REQUIRE(restored);
    CHECK(restored->authorities == keys.authorities);
    CHECK(restored->serving.certificate_pem == keys.serving.certificate_pem);
    Keys half = keys;
    half.serving = {};
    CHECK(renewed(half, keys, replica.subject, day_one)->serving.key_pem == keys.serving.key_pem);
    half.serving = {"-----BEGIN CERTIFICATE-----\nnonsense", "nonsense"};
    CHECK(renewed(half, std::nullopt, replica.subject, day_one));
    half = keys;
    half.authority.key_pem = "nonsense";
    CHECK(renewed(half, keys, replica.subject, day_one)->authority.key_pem ==
          keys.authority.key_pem);
}

TEST_CASE(
    "a Secret without its authority's key gets another authority, believed beside the old one") {
    const Replica replica;
    Keys seen = replica.first();
    seen.authority.key_pem.clear();
    const auto keys = renewed(seen, std::nullopt, replica.subject, day_one);
    REQUIRE(keys);
    CHECK(keys->authorities == keys->authority.certificate_pem + seen.authority.certificate_pem);
    CHECK(keys->serving.certificate_pem == seen.serving.certificate_pem);
}

}  // namespace
}  // namespace muster::control::webhooks
