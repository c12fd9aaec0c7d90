// apps/operator/profile_page_test.cpp - what pprof is told of places that its files do not name.
#include "apps/operator/profile_page.h"

#include <algorithm>
#include <cstdio>

#include <dlfcn.h>
#include <doctest/doctest.h>

namespace muster::on_cluster {

TEST_CASE("places in libraries are named, and those that nobody knows are left out") {
    char place[32];
    std::snprintf(place, sizeof place, "%p", dlsym(RTLD_DEFAULT, "getpagesize"));
    const std::string asked = place;
    const std::string text = symbol_text("0x1+" + asked + "+0xffffffffffffffff");
    CHECK(text.starts_with("num_symbols: 1\n" + asked + " "));
    CHECK(text.ends_with("getpagesize\n"));
    CHECK(std::count(text.begin(), text.end(), '\n') == 2);
}

TEST_CASE("what is no place is passed over") {
    for (const char* asked :
         {"", "+", "+++", "0x", "x", "0xg", "-1", "0x-1", "12", "0x0", "0x1ffffffffffffffff"}) {
        CAPTURE(asked);
        CHECK(symbol_text(asked) == "num_symbols: 1\n");
    }
}

}  // namespace muster::on_cluster
