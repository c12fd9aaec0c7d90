// api/builtin/kept_defaults_test.cpp - what the defaults of kinds are on which nothing here acts.
#include <doctest/doctest.h>

#include "api/builtin/validation.h"
#include "api/json.h"
#include "api/parsed_text.h"

namespace muster::api {
namespace {

template <typename Fill>
std::string filled(Fill fill, std::string_view text) {
    Value object = parsed(text);
    fill(object);
    return to_json(object);
}

TEST_CASE("a limit that says the most says what is given") {
    CHECK(filled(default_limit_range,
                 R"({"spec":{"limits":[{"type":"Container","max":{"cpu":"2"},)"
                 R"("min":{"memory":"1Gi"}},{"type":"Pod","max":{"cpu":"2"}}]}})") ==
          R"({"spec":{"limits":[{"type":"Container","max":{"cpu":"2"},"min":{"memory":"1Gi"},)"
          R"("default":{"cpu":"2"},"defaultRequest":{"cpu":"2","memory":"1Gi"}},)"
          R"({"type":"Pod","max":{"cpu":"2"}}]}})");
}

TEST_CASE("a network policy is of the directions that it has rules for") {
    CHECK(filled(default_network_policy, R"({"spec":{"egress":[{"ports":[{"port":1}]}]}})") ==
          R"({"spec":{"egress":[{"ports":[{"port":1,"protocol":"TCP"}]}],)"
          R"("policyTypes":["Ingress","Egress"]}})");
    CHECK(filled(default_network_policy, R"({"spec":{}})") ==
          R"({"spec":{"policyTypes":["Ingress"]}})");
}

TEST_CASE("a replication controller has the labels of its pods, and selects by them") {
    CHECK(
        filled(default_replication_controller,
               R"({"metadata":{},"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}})") ==
        R"({"metadata":{"labels":{"a":"b"}},"spec":{"template":{"metadata":{"labels":{"a":"b"}}},)"
        R"("replicas":1,"selector":{"a":"b"}}})");
}

TEST_CASE("what is no object is left for the checks of types") {
    for (const char* text : {R"({"spec":5})", R"({"spec":{"limits":"a","template":[],"ports":1}})",
                             R"({"subsets":[5],"ports":"a"})", "[]", "null"}) {
        for (auto* fill :
             {default_daemon_set, default_replication_controller, default_pod_template,
              default_cron_job, default_volume_claim, default_persistent_volume, default_endpoints,
              default_endpoint_slice, default_network_policy, default_limit_range}) {
            filled(fill, text);
        }
    }
}

}  // namespace
}  // namespace muster::api
