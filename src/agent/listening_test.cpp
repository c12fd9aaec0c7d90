// agent/listening_test.cpp - who takes connections, from tables as Linux prints them.
#include "agent/listening.h"

#include <doctest/doctest.h>

namespace muster::agent {

TEST_CASE("a listener on all addresses or on the asked one counts, others do not") {
    const std::string table =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"
        "   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
        "   1: 0100007F:18EB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
        "   2: 0501F40A:2711 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
        "   3: 0501F40A:0050 0101F40A:9C40 01 00000000:00000000 00:00000000 00000000     0\n";
    CHECK(listens_on(table, "10.244.1.5", 8080));
    CHECK(listens_on(table, "10.244.1.5", 10001));
    CHECK_FALSE(listens_on(table, "10.244.1.6", 10001));
    CHECK_FALSE(listens_on(table, "10.244.1.5", 6379));  // Loopback only.
    CHECK_FALSE(listens_on(table, "10.244.1.5", 80));    // A connection, not a listener.
}

TEST_CASE("a listener of IPv6 takes IPv4 on all addresses or at the mapped one") {
    const std::string all =
        "   0: 00000000000000000000000000000000:1F90 00000000000000000000000000000000:0000 0A 0\n";
    const std::string mapped =
        "   0: 0000000000000000FFFF00000501F40A:1F90 00000000000000000000000000000000:0000 0A 0\n";
    CHECK(listens_on(all, "10.244.1.5", 8080));
    CHECK(listens_on(mapped, "10.244.1.5", 8080));
    CHECK_FALSE(listens_on(mapped, "10.244.1.6", 8080));
    CHECK_FALSE(listens_on("", "10.244.1.5", 8080));
}

}  // namespace muster::agent
