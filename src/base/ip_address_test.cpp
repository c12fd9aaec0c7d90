// base/ip_address_test.cpp - IP addresses: what is one, what is a strange way to write one, and
// what is special.
#include "base/ip_address.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

std::string canonical(std::string_view text) {
    const auto address = parse_ip(text);
    return address ? address->text() : "none";
}

TEST_CASE("an address is read only when it is written as one") {
    CHECK(canonical("10.96.0.1") == "10.96.0.1");
    CHECK(canonical("0.0.0.0") == "0.0.0.0");
    CHECK(canonical("255.255.255.255") == "255.255.255.255");
    for (const char* text :
         {"", ".", "10.96.0", "10.96.0.1.", "10.96.0.1.2", "10.96.0.256", "10.96.0.-1",
          "10.96.0.+1", "10.96.0.0x1", "10.96.0.1 ", " 10.96.0.1", "10.96..1", "10.96.0.1/32",
          "1e1.0.0.1", "4294967297.0.0.1", "10.96.0.\0011", "10,96,0,1", "one"}) {
        CAPTURE(text);
        CHECK(canonical(text) == "none");
        CHECK(!parse_ip_sloppily(text));
    }
}

TEST_CASE("leading zeros are refused, or passed over where old objects have them") {
    for (const char* text : {"010.96.0.10", "10.096.0.10", "10.96.0.010", "10.96.00.10"}) {
        CAPTURE(text);
        CHECK(!parse_ip(text));
        const auto sloppy = parse_ip_sloppily(text);
        REQUIRE(sloppy);
        CHECK(sloppy->text() == "10.96.0.10");
    }
    CHECK(parse_ip_sloppily("::ffff:010.0.0.1"));
    CHECK(!parse_ip("::ffff:010.0.0.1"));
}

TEST_CASE("IPv6 addresses have one canonical text") {
    CHECK(canonical("::") == "::");
    CHECK(canonical("::1") == "::1");
    CHECK(canonical("FE80:0:0:0:0:0:0:0abc") == "fe80::abc");
    CHECK(canonical("2001:db8:0:1:1:1:1:1") == "2001:db8:0:1:1:1:1:1");
    CHECK(canonical("2001:0:0:1:0:0:0:1") == "2001:0:0:1::1");
    CHECK(canonical("1:0:0:2:0:0:3:4") == "1::2:0:0:3:4");
    CHECK(canonical("1::") == "1::");
    CHECK(canonical("::ffff:1.2.3.4") == "1.2.3.4");
    CHECK(canonical("::1.2.3.4") == "::102:304");
    for (const char* text :
         {":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "g::", "::1%eth0",
          "1.2.3.4::", "1:2:3:4:5:6:7:1.2.3.4", "::1:", ":1::", "[::1]", "1:2:3:4:5:6:7::8"}) {
        CAPTURE(text);
        CHECK(canonical(text) == "none");
    }
}

TEST_CASE("special addresses are known by any way of writing them") {
    const auto of = [](std::string_view text) { return *parse_ip(text); };
    CHECK(of("0.0.0.0").is_unspecified());
    CHECK(of("::").is_unspecified());
    CHECK(of("127.8.0.1").is_loopback());
    CHECK(of("::1").is_loopback());
    CHECK(of("::ffff:127.0.0.1").is_loopback());
    CHECK(of("169.254.169.254").is_link_local_unicast());
    CHECK(of("febf::1").is_link_local_unicast());
    CHECK(!of("fec0::1").is_link_local_unicast());
    CHECK(of("224.0.0.251").is_link_local_multicast());
    CHECK(!of("224.0.1.1").is_link_local_multicast());
    CHECK(of("ff02::1").is_link_local_multicast());
    CHECK(!of("10.96.0.1").is_loopback());
    CHECK(of("10.96.0.1").to_number() == 0x0a600001U);
    CHECK(ip_of_number(0x0a600001U) == of("10.96.0.1"));
}

}  // namespace
}  // namespace muster
