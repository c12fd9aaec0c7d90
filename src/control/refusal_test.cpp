// control/refusal_test.cpp - the words of a refused field.
#include "control/refusal.h"

#include <doctest/doctest.h>

namespace muster::control {

TEST_CASE("the cause of a refused field does not repeat the field: clients write it in front") {
    const api::Admission answer = refuse_field("spec.x", ": leave it out");
    REQUIRE(answer.denied);
    CHECK(answer.denied->text == "spec.x: not served by this version of Muster: leave it out");
    REQUIRE(answer.denied->causes.size() == 1);
    CHECK(answer.denied->causes[0].field == "spec.x");
    CHECK(answer.denied->causes[0].text == "not served by this version of Muster: leave it out");
}

}  // namespace muster::control
