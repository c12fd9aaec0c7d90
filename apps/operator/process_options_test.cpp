// apps/operator/process_options_test.cpp - who has the last word on how the process is run.
#include "apps/operator/process_options.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace muster::on_cluster {

TEST_CASE("nothing is served and nobody elected unless somebody says so") {
    const EndpointOptions endpoints = endpoints_of({}, {});
    CHECK(!endpoints.health);
    CHECK(!endpoints.metrics);
    CHECK(!endpoints.profile);
    CHECK(!election_of({}, {}));
}

TEST_CASE("the command line goes before the file") {
    ProcessSettings process;
    process.health_address = ":8081";
    process.metrics_address = "[::1]:8443";
    process.profile_address = "0";
    process.readiness_name = "ready";
    OperatorOptions options;
    options.health_address = "127.0.0.1:9000";
    const EndpointOptions endpoints = endpoints_of(options, process);
    REQUIRE(endpoints.health);
    CHECK(endpoints.health->address == "127.0.0.1");
    CHECK(endpoints.health->port == 9000);
    REQUIRE(endpoints.metrics);
    CHECK(endpoints.metrics->address == "::1");
    CHECK(!endpoints.profile);
    CHECK(endpoints.names.readiness == "ready");
    CHECK(endpoints.names.liveness == "healthz");
    options.health_address = "0";
    CHECK(!endpoints_of(options, process).health);
    options.health_address = ":8081";
    CHECK(endpoints_of(options, process).health->address.empty());
    options.health_address = "here";
    CHECK_THROWS_WITH_AS(endpoints_of(options, process),
                         "error: --health-probe-bind-address here: give ADDRESS:PORT, :PORT for "
                         "every address, or 0 for none",
                         Error);
}

TEST_CASE("the Lease is the file's where it has an election, else Muster's own") {
    OperatorOptions options;
    options.leader_elect = true;
    CHECK(election_of(options, {})->name == "muster-operator");
    CHECK(election_of(options, {})->ns == "muster-system");
    ProcessSettings process;
    process.election = ProcessSettings::Election{};
    process.election->ns = "kueue-system";
    process.election->name = "c1f6bfd2.kueue.x-k8s.io";
    process.election->lease = seconds(20);
    const auto lease = election_of({}, process);
    REQUIRE(lease);
    CHECK(lease->ns == "kueue-system");
    CHECK(lease->name == "c1f6bfd2.kueue.x-k8s.io");
    CHECK(lease->lease == seconds(20));
    CHECK(lease->retry == seconds(2));
    options.lease_ns = "mine";
    CHECK(election_of(options, process)->ns == "mine");
    process.election->lease = milliseconds(10'900);  // Binds for eleven: the Lease says whole ones.
    process.election->renew_within = milliseconds(10'500);
    CHECK(election_of(options, process)->lease == milliseconds(10'900));
    process.election->renew_within.reset();
    process.election->lease = seconds(10);  // Renewed within ten as well.
    CHECK_THROWS_AS(election_of({}, process), Error);
    process.election->lease = seconds(20);
    process.election->retry = seconds(9);
    CHECK_THROWS_AS(election_of({}, process), Error);
    process.election->wanted = ProcessSettings::Election::Wanted::no;
    CHECK(!election_of({}, process));
    process.election->retry.reset();
    CHECK(election_of(options, process));
}

TEST_CASE("sections of the process that are not obeyed are named") {
    ProcessSettings process;
    process.given = {"health", "tls", "metrics.bindAddress", "clientConnection"};
    CHECK(without_effect(process) == std::vector<std::string>{"clientConnection"});
}

TEST_CASE("what the file says of TLS is for metrics and webhooks, and must be known here") {
    ProcessSettings process;
    process.tls.only_1_3 = true;
    process.tls.curves = {"X25519", "CurveP256"};
    CHECK(endpoints_of({}, process).tls.only_1_3);
    CHECK(tls_of(process).curves.size() == 2);
    process.tls.curves = {"P999"};
    CHECK_THROWS_WITH_AS(
        tls_of(process),
        "error: tls in the file of --config: \"P999\" is no curve that is known here", Error);
    process.tls = {false, {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_NOTHING"}, {}};
    CHECK_THROWS_WITH_AS(tls_of(process),
                         "error: tls in the file of --config: \"TLS_NOTHING\" is no cipher suite "
                         "that is known here",
                         Error);
}

}  // namespace muster::on_cluster
