// control/queue/configuration_test.cpp - configuration files: what is taken, what is refused.
#include "control/queue/configuration.h"

#include <doctest/doctest.h>

namespace muster::control::queue {
namespace {

std::string fault(std::string_view yaml) {
    const auto read = read_configuration(yaml);
    const auto* wrong = std::get_if<WrongConfiguration>(&read);
    return wrong == nullptr ? "" : wrong->text;
}

constexpr const char* kueue = "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n";

TEST_CASE("what Kueue ships as its configuration is taken") {
    CHECK(fault(std::string(kueue) + R"(
namespace: kueue-system
health: {healthProbeBindAddress: ":8081"}
metrics: {bindAddress: ":8443"}
webhook: {port: 9443}
leaderElection: {leaderElect: true, resourceName: c1f6bfd2.kueue.x-k8s.io}
controller: {groupKindConcurrency: {Job.batch: 5}}
clientConnection: {qps: 50, burst: 100}
waitForPodsReady: {enable: false}
integrations: {frameworks: [batch/job, ray.io/rayjob]}
)")
              .empty());
}

TEST_CASE("what would change a decision and is not obeyed is refused by name") {
    CHECK(fault(std::string(kueue) + "fairSharing: {enable: true}")
              .starts_with("fairSharing.enable"));
    CHECK(fault(std::string(kueue) + "integrations: {frameworks: [jobset.x-k8s.io/jobset]}")
              .find("\"jobset.x-k8s.io/jobset\" is not supported yet") != std::string::npos);
    CHECK(fault(std::string(kueue) + "quotas: 1") == "quotas: no such field");
    CHECK(fault("apiVersion: v1\nkind: ConfigMap").find("not \"ConfigMap\"") != std::string::npos);
    CHECK_FALSE(fault("a: [").empty());
}

TEST_CASE("feature gates choose how places in topologies are found; others are refused by name") {
    const auto read = read_configuration(
        std::string(kueue) + "featureGates: {TASBalancedPlacement: true, TASProfileMixed: false}");
    REQUIRE(std::holds_alternative<decide::Options>(read));
    const decide::TopologyProfile& profile = std::get<decide::Options>(read).topologies;
    CHECK(profile.spread == decide::TopologyProfile::Spread::balanced);
    CHECK(profile.choice == decide::TopologyProfile::Choice::best_fit);
    CHECK(fault(std::string(kueue) + "featureGates: {PriorityBoost: true}")
              .starts_with("featureGates.PriorityBoost: true is not supported"));
}

TEST_CASE("the aggregate check of MCAD is a switch") {
    const auto read = read_configuration(
        "apiVersion: muster.dev/v1alpha1\nkind: Configuration\n"
        "appWrappers: {capacity: Aggregate, order: FIFO}");
    REQUIRE(std::holds_alternative<decide::Options>(read));
    CHECK(std::get<decide::Options>(read).capacity == decide::Options::Capacity::aggregate);
    CHECK(std::get<decide::Options>(read).order == decide::Options::Order::fifo);
    CHECK_FALSE(fault("apiVersion: muster.dev/v1alpha1\nkind: Configuration\n"
                      "appWrappers: {capacity: Some}")
                    .empty());
}

}  // namespace
}  // namespace muster::control::queue
