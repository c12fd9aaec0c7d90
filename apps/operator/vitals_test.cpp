// apps/operator/vitals_test.cpp - when the operator says that it lives and is ready.
#include "apps/operator/vitals.h"

#include <doctest/doctest.h>

#include "base/text.h"

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
    if (mark != std::string::npos) {
        for (const std::string_view each : split(std::string_view(path).substr(mark + 1), '&')) {
            const auto halves = split_first(each, '=').value_or(Halves{each, ""});
            request.query.emplace_back(std::string(halves.before), std::string(halves.after));
        }
    }
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

TEST_CASE("a server that is not ready says why") {
    Vitals vitals = working();
    vitals.answered = seconds(70);
    vitals.complaint = "503 etcd";
    CHECK(told(vitals, "/readyz/server").find("has not answered for 31 s: 503 etcd\n") !=
          std::string::npos);
    vitals.answered.reset();
    CHECK(told(vitals, "/readyz/server").find("has not answered yet: 503 etcd\n") !=
          std::string::npos);
}

TEST_CASE("of what a server says that is not ready the failed checks are told") {
    CHECK(complaint_of(text_answer(
              500,
              "[+]ping ok\n[-]etcd failed: reason withheld\n[-]etcd-readiness failed: reason "
              "withheld\nreadyz check failed\n")) ==
          "500 [-]etcd failed: reason withheld, [-]etcd-readiness failed: reason withheld");
    CHECK(complaint_of(text_answer(503, "no healthy\nupstream\n")) == "503 no healthy upstream");
    CHECK(complaint_of(text_answer(0, "connection refused")) == "0 connection refused");
    CHECK(complaint_of(net::Response{502, {}, nullptr}) == "502");
}

TEST_CASE("watches that are down are told, also of a follower, and can be left out") {
    Vitals vitals = working();
    vitals.outages = "nothing is heard of pods";
    for (const Role role : {Role::working, Role::following}) {
        vitals.role = role;
        CHECK(told(vitals, "/readyz/watches") ==
              "500 [-]watches failed: nothing is heard of pods\nreadyz check failed\n");
        CHECK(told(vitals, "/readyz").starts_with("500 "));
        CHECK(told(vitals, "/readyz?exclude=watches") == "200 ok");
        CHECK(told(vitals, "/readyz?verbose&exclude=watches") ==
              "200 [+]going-on ok\n[+]loop ok\n[+]server ok\n[+]caches ok\n"
              "[+]watches excluded: ok\nreadyz check passed\n");
        CHECK(told(vitals, "/readyz?exclude=caches").starts_with("500 "));
        CHECK(told(vitals, "/healthz") == "200 ok");
    }
    vitals.role = Role::ending;
    CHECK(told(vitals, "/readyz?exclude=watches").starts_with("500 "));
    CHECK(told(vitals, "/readyz?exclude=watches&exclude=going-on") == "200 ok");
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
