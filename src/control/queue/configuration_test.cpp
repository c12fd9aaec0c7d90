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
    CHECK(fault(std::string(kueue) + "admissionFairSharing: {usageHalfLifeTime: 1h}")
              .starts_with("admissionFairSharing"));
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

TEST_CASE("fair sharing and the check of undeclared resources are obeyed, in both versions") {
    using Strategy = decide::Options::Strategy;
    const auto options = [](const std::string& version, const std::string& rest) {
        const auto read = read_configuration("apiVersion: config.kueue.x-k8s.io/" + version +
                                             "\nkind: Configuration\n" + rest);
        REQUIRE(std::holds_alternative<decide::Options>(read));
        return std::get<decide::Options>(read);
    };
    CHECK_FALSE(options("v1beta1", "fairSharing: {enable: false}").fair_sharing);
    CHECK_FALSE(options("v1beta1", "fairSharing: {}").fair_sharing);
    CHECK(options("v1beta1", "fairSharing: {enable: true}").fair_sharing->empty());
    CHECK(*options("v1beta2", "fairSharing: {preemptionStrategies: [LessThanInitialShare]}")
               .fair_sharing == std::vector{Strategy::less_than_initial_share});
    CHECK(options("v1beta2", "resources: {quotaCheckStrategy: IgnoreUndeclared}").undeclared ==
          decide::Options::Undeclared::ignore);
    CHECK_FALSE(fault(std::string(kueue) + "fairSharing: {enable: true, preemptionStrategies: [x]}")
                    .empty());
    CHECK_FALSE(fault(std::string(kueue) + "resources: {quotaCheckStrategy: Sometimes}").empty());
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
