// apps/operator/vitals_test.cpp - when the operator says that it lives and is ready.
#include "apps/operator/vitals.h"

#include <doctest/doctest.h>

namespace muster::on_cluster {
namespace {

using Role = Vitals::Role;

Vitals working() {
    Vitals vitals;
    vitals.beat = seconds(100);
    vitals.role = Role::working;
    vitals.sight = Vitals::Sight::whole;
    vitals.answered = seconds(100);
    return vitals;
}

/// Status and text of a GET, a second after the last beat unless told otherwise.
std::string told(const Vitals& vitals, const std::string& path, Duration now = seconds(101)) {
    net::Request request;
    request.method = "GET";
    const std::size_t mark = path.find('?');
    request.path = path.substr(0, mark);
    if (mark != std::string::npos) request.query.emplace_back(path.substr(mark + 1), "");
    const net::Response answer = probe_answer(request, {}, vitals, now);
    return std::to_string(answer.status) + " " + *answer.body;
}

}  // namespace

TEST_CASE("who works and has seen everything is alive and ready") {
    for (const char* path : {"/healthz", "/livez", "/readyz", "/readyz/caches", "/healthz/loop"})
        CHECK(told(working(), path) == "200 ok");
    CHECK(told(working(), "/healthz?verbose") == "200 [+]loop ok\nhealthz check passed\n");
    CHECK(told(working(), "/metrics").starts_with("404 there is no /metrics"));
}

TEST_CASE("a loop that is stuck is not alive") {
    CHECK(told(working(), "/healthz", seconds(159)) == "200 ok");
    CHECK(told(working(), "/healthz", seconds(161)) ==
          "500 [-]loop failed: the controllers have not moved for 61 s\nhealthz check failed\n");
    CHECK(told(working(), "/readyz", seconds(161)).starts_with("500"));
}

TEST_CASE("a follower is ready, whoever does not know its turn is not") {
    Vitals vitals = working();
    vitals.sight = Vitals::Sight::partial;
    vitals.role = Role::following;
    CHECK(told(vitals, "/readyz") == "200 ok");
    vitals.role = Role::starting;
    CHECK(told(vitals, "/readyz/caches") ==
          "500 [-]caches failed: nothing is watched yet\nreadyz check failed\n");
    vitals.role = Role::working;
    CHECK(told(vitals, "/readyz/caches").find("not everything has been seen") != std::string::npos);
    vitals.missing = "the server does not have jobs.batch/v1";
    CHECK(told(vitals, "/readyz/caches").find("waiting: the server does not have jobs.batch/v1") !=
          std::string::npos);
}

TEST_CASE("a server out of reach, or that refuses, is a reason not to be ready, but to live") {
    Vitals vitals = working();
    vitals.answered = seconds(70);
    CHECK(told(vitals, "/readyz/server").find("has not answered for 31 s") != std::string::npos);
    CHECK(told(vitals, "/healthz") == "200 ok");
    vitals.answered.reset();
    CHECK(told(vitals, "/readyz/server").find("has not answered yet") != std::string::npos);
    vitals.refusal = "Unauthorized";
    CHECK(told(vitals, "/readyz/server").find("refuses: Unauthorized") != std::string::npos);
}

TEST_CASE("who ends is not ready, and lives to the end") {
    Vitals vitals = working();
    vitals.role = Role::ending;
    CHECK(told(vitals, "/readyz/going-on").find("it is ending") != std::string::npos);
    CHECK(told(vitals, "/healthz") == "200 ok");
}

TEST_CASE("further parts count") {
    Vitals vitals = working();
    vitals.parts = {{"webhooks", "no certificate yet"}};
    CHECK(told(vitals, "/readyz").find("[-]webhooks failed: no certificate yet") !=
          std::string::npos);
    CHECK(told(vitals, "/readyz/webhooks").starts_with("500"));
    vitals.parts = {{"webhooks", ""}};
    CHECK(told(vitals, "/readyz/webhooks") == "200 ok");
}

}  // namespace muster::on_cluster
