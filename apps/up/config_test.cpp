// apps/up/config_test.cpp - what --config accepts and refuses.
#include "apps/up/config.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace muster::up {
namespace {

std::string problem_of(const std::string& text) {
    try {
        parse_config("file", text);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

constexpr const char* own = "apiVersion: muster.dev/v1alpha1\nkind: Configuration\n";

}  // namespace

TEST_CASE("Muster's own document sets capacity, order and images") {
    const Config config = parse_config(
        "file", std::string(own) +
                    "appWrappers: {capacity: Aggregate, order: FIFO}\n"
                    "images: [{pattern: 'a/*', environment: /opt/a, variables: {K: v},\n"
                    "  command: [run, it], args: [usual]}]\n");
    CHECK(config.queues.decisions.capacity == decide::Options::Capacity::aggregate);
    CHECK(config.queues.decisions.order == decide::Options::Order::fifo);
    REQUIRE(config.images.size() == 1);
    CHECK(config.images[0].environment == "/opt/a");
    CHECK(config.images[0].variables.size() == 1);
    CHECK(config.images[0].command == std::vector<std::string>{"run", "it"});
    CHECK(config.images[0].args == std::vector<std::string>{"usual"});
}

TEST_CASE("Muster's own document says what pods are taken where nothing else is said") {
    const api::PodSecurityConfiguration usual = parse_config("file", own).pod_security;
    CHECK(usual.defaults.enforce.text() == "baseline:latest");
    CHECK(usual.namespaces.contains("kube-system"));
    const api::PodSecurityConfiguration given =
        parse_config("file", std::string(own) +
                                 "podSecurity:\n"
                                 "  defaults: {enforce: restricted, enforce-version: v1.25}\n"
                                 "  exemptions: {namespaces: [a], usernames: [ann],\n"
                                 "    runtimeClasses: [gvisor]}\n")
            .pod_security;
    CHECK(given.defaults.enforce.text() == "restricted:v1.25");
    CHECK(given.defaults.warn.text() == "privileged:latest");
    CHECK(!given.namespaces.contains("kube-system"));
    CHECK(given.usernames.contains("ann"));
    CHECK(given.runtime_classes.contains("gvisor"));
    const auto problem = [](const std::string& section) {
        return problem_of(std::string(own) + "podSecurity: " + section + "\n");
    };
    CHECK(problem("{defaults: {enforce: strict}}")
              .find("podSecurity.defaults.enforce: Invalid value: \"strict\": must be one of "
                    "privileged, baseline, restricted") != std::string::npos);
    CHECK(problem("{defaults: {enforce-version: 1.25}}").find("must be \"latest\" or \"v1.x\"") !=
          std::string::npos);
    CHECK(problem("{exemptions: {namespaces: [A]}}").find("namespaces[0]") != std::string::npos);
    CHECK(problem("{exemptions: {namespace: [a]}}").find("unknown field") != std::string::npos);
    CHECK(problem("none").find("must be an object") != std::string::npos);
}

TEST_CASE("Events are bounded by number and bytes") {
    const apiserver::EventBounds usual = parse_config("file", own).event_bounds;
    CHECK(usual.events == 50'000);
    CHECK(usual.bytes == 64 << 20);
    const apiserver::EventBounds given =
        parse_config("file", std::string(own) + "events: {maxCount: 1000}\n").event_bounds;
    CHECK(given.events == 1'000);
    CHECK(given.bytes == 64 << 20);
    const auto problem = [](const std::string& section) {
        return problem_of(std::string(own) + "events: " + section + "\n");
    };
    CHECK(problem("{maxBytes: 1Gi}").find("events.maxBytes is a number between 1048576 and ") !=
          std::string::npos);
    CHECK(problem("{maxCount: 0}").find("events.maxCount is a number between 100 and ") !=
          std::string::npos);
    CHECK(problem("{count: 1000}").find("events.count is not known") != std::string::npos);
    CHECK(problem("[]").find("events has maxCount and maxBytes") != std::string::npos);
}

TEST_CASE("the objects of a namespace are bounded by bytes") {
    CHECK_FALSE(parse_config("file", own).bytes_per_namespace);
    const Config given =
        parse_config("file", std::string(own) + "objects: {maxBytesPerNamespace: 4194304}\n");
    CHECK(given.bytes_per_namespace == 4 << 20);
    for (const char* wrong : {"{maxBytesPerNamespace: 1Gi}", "{maxBytesPerNamespace: 7}", "[]",
                              "{}", "{maxBytesPerNamespace: 4194304, max: 1}"})
        CHECK(problem_of(std::string(own) + "objects: " + wrong + "\n")
                  .find("objects has maxBytesPerNamespace, a number between 1048576 and ") !=
              std::string::npos);
}

TEST_CASE("what is wrong is named with what is allowed") {
    CHECK(problem_of(std::string(own) + "images: [{pattern: a, folder: b}]\n")
              .find("no such field \"folder\"") != std::string::npos);
    CHECK(problem_of(std::string(own) + "images: [{pattern: a, command: run}]\n")
              .find("command is a list of words") != std::string::npos);
    CHECK(problem_of(std::string(own) + "imges: []\n").find("imges") != std::string::npos);
    CHECK(problem_of("a: [").find("--config file") != std::string::npos);
    CHECK(problem_of("a: 1\na: 2\n").find("stands twice") != std::string::npos);
}

}  // namespace muster::up
