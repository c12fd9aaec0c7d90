// api/builtin/pod_security_test.cpp - what Kubernetes' library said of pods at each check of the
// Pod Security Standards (test/kubernetes/podsecurity/cases.py), beside what is said here; and
// labels.
#include "api/builtin/pod_security.h"

#include <string>

#include <doctest/doctest.h>

#include "api/json.h"
#include "api/parsed_text.h"
#include "base/text.h"

namespace muster::api {
namespace {

constexpr std::string_view recorded[] = {
#include "api/builtin/pod_security_verdicts.inc"
};

SecurityPolicy policy_of(std::string_view text) {
    const auto halves = split_first(text, ':');
    REQUIRE(halves);
    const auto level = parse_security_level(halves->before);
    const auto version = parse_security_version(halves->after);
    REQUIRE(level);
    REQUIRE(version);
    const SecurityPolicy policy{*level, *version};
    CHECK(policy.text() == text);
    return policy;
}

TEST_CASE("pods are judged as by Kubernetes' own library, at every level and version") {
    int count = 0;
    for (const std::string_view line : recorded) {
        CAPTURE(line);
        const Value row = parsed(line);
        const Value& pod = row["pod"];
        for (const auto& [said, policies] : row["said"].members()) {
            for (const Value& policy : policies.items()) {
                CAPTURE(policy.text());
                CHECK(detailed(security_violations(policy_of(policy.text()), pod["metadata"],
                                                   pod["spec"])) == said);
                ++count;
            }
        }
    }
    CHECK(count > 5000);
}

TEST_CASE("levels and versions are read strictly") {
    CHECK(parse_security_version("v1.0"));
    CHECK(parse_security_version("v1.123"));
    CHECK(parse_security_version("latest"));
    for (const char* text : {"", "v1", "v1.", "v1.01", "v1.-1", "v1.+1", "1.25", "v2.0", "v1.25.1",
                             "v1.99999999999999999999", "Latest", "v1. 5"}) {
        CAPTURE(text);
        CHECK(!parse_security_version(text));
    }
    for (const char* text : {"", "Baseline", "baseline ", "strict"}) {
        CAPTURE(text);
        CHECK(!parse_security_level(text));
    }
}

/// "enforce audit warn" of a namespace with these labels.
std::string read(const std::string& labels, NamespaceSecurity defaults = {}) {
    const auto [security, errors] = security_of(parsed(labels), defaults);
    std::string text =
        security.enforce.text() + " " + security.audit.text() + " " + security.warn.text();
    for (const FieldError& error : errors)
        text += "\n" + error.field + ": " + error.text;
    return replace_all(text, "pod-security.kubernetes.io/", "P/");
}

TEST_CASE("labels override the configuration; what cannot be read is strict for what is refused") {
    CHECK(read("{}") == "privileged:latest privileged:latest privileged:latest");
    const std::string p = "\"pod-security.kubernetes.io/";
    CHECK(read("{" + p + "enforce\":\"baseline\"}") ==
          "baseline:latest privileged:latest baseline:latest");
    CHECK(read("{" + p + "enforce\":\"baseline\"," + p + "enforce-version\":\"v1.25\"}") ==
          "baseline:v1.25 privileged:latest baseline:v1.25");
    CHECK(read("{" + p + "enforce\":\"restricted\"," + p + "warn\":\"baseline\"}") ==
          "restricted:latest privileged:latest baseline:latest");
    CHECK(read("{" + p + "enforce\":\"x\"," + p + "audit\":\"x\"," + p + "warn\":\"x\"}") ==
          "restricted:latest privileged:latest privileged:latest\n"
          "metadata.labels[P/enforce]: Invalid value: \"x\": must be one of privileged, baseline, "
          "restricted\n"
          "metadata.labels[P/audit]: Invalid value: \"x\": must be one of privileged, baseline, "
          "restricted\n"
          "metadata.labels[P/warn]: Invalid value: \"x\": must be one of privileged, baseline, "
          "restricted");
    CHECK(read("{" + p + "enforce-version\":\"1.25\"}") ==
          "privileged:latest privileged:latest privileged:latest\n"
          "metadata.labels[P/enforce-version]: Invalid value: \"1.25\": must be \"latest\" or "
          "\"v1.x\"");
    const NamespaceSecurity usual{{SecurityLevel::baseline, {}}, {}, {SecurityLevel::baseline, {}}};
    CHECK(read("{" + p + "enforce\":\"privileged\"}", usual) ==
          "privileged:latest privileged:latest baseline:latest");
}

}  // namespace
}  // namespace muster::api
