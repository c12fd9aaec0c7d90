// api/kueue/topology_test.cpp - the two forms of a topology assignment say the same.
#include "api/kueue/topology.h"

#include <string>

#include <doctest/doctest.h>

#include "api/kueue/rules.h"
#include "api/parsed_text.h"
#include "base/random.h"

namespace muster::api {
TEST_CASE("what domains share is said once") {
    const Value domains = parsed(R"({"levels":["block","kubernetes.io/hostname"],"domains":[
        {"values":["b1","node-1-gpu"],"count":2},{"values":["b1","node-27-gpu"],"count":2}]})");
    const Value slices = compressed_topology(domains);
    CHECK(to_json(slices["slices"]) ==
          R"([{"domainCount":2,"valuesPerLevel":[{"universal":"b1"},)"
          R"({"individual":{"prefix":"node-","suffix":"-gpu","roots":["1","27"]}}],)"
          R"("podCounts":{"universal":2}}])");
    CHECK(expanded_topology(slices) == domains);
}

TEST_CASE("one domain, none, and values that contain each other survive") {
    for (const char* text : {R"({"levels":["host"],"domains":[{"values":["a"],"count":3}]})",
                             R"({"levels":["host"],"domains":[]})",
                             R"({"levels":["host"],"domains":[{"values":["aa"],"count":1},
             {"values":["a"],"count":2},{"values":["aaa"],"count":3}]})"}) {
        const Value domains = parsed(text);
        CHECK(expanded_topology(compressed_topology(domains)) == domains);
    }
}

TEST_CASE("any assignment comes back from its slices") {
    Random random(4);
    for (int round = 0; round < 300; ++round) {
        Value domains = Value::array();
        for (std::uint64_t i = 0; i < random.below(6); ++i) {
            Value values = Value::array();
            for (int level = 0; level < 2; ++level)
                values.push(random.suffix(static_cast<int>(random.below(4))));
            domains.push(Value::object({{"values", std::move(values)},
                                        {"count", static_cast<std::int64_t>(random.below(3))}}));
        }
        const Value assignment = Value::object(
            {{"levels", Value::array({"block", "rack"})}, {"domains", std::move(domains)}});
        CHECK(expanded_topology(compressed_topology(assignment)) == assignment);
    }
}

TEST_CASE("a workload's places are slices in v1beta2 and domains in v1beta1") {
    const Value old = parsed(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","status":{"admission":{
        "podSetAssignments":[{"name":"main","topologyAssignment":{"levels":["host"],
        "domains":[{"values":["n1"],"count":2}]}},{"name":"other"}]}}})");
    const Value now = convert_workload(old, "v1beta2");
    const Value& sets = now.path("status.admission.podSetAssignments");
    CHECK(sets[0]["topologyAssignment"]["slices"][0]["domainCount"].integer_or(0) == 1);
    CHECK(sets[1]["topologyAssignment"].is_null());
    CHECK(convert_workload(now, "v1beta1")["status"] == old["status"]);
}

TEST_CASE("levels beyond those that a topology may have are not converted") {
    Value levels = Value::array();
    for (int i = 0; i < 17; ++i)
        levels.push("level-" + std::to_string(i));
    const Value domains = Value::array({Value::object({{"values", levels}, {"count", 1}}),
                                        Value::object({{"values", levels}, {"count", 1}})});
    const Value slices =
        compressed_topology(Value::object({{"levels", levels}, {"domains", domains}}));
    CHECK(slices["levels"] == levels);
    CHECK(slices["slices"][0]["valuesPerLevel"].size() == 16);
    CHECK(slices["slices"][0]["valuesPerLevel"][15]["universal"].text() == "level-15");
    Value more = slices;
    Value& of_slice = more.at("slices").mutable_items()[0].at("valuesPerLevel");
    of_slice.push(of_slice[0]);
    CHECK(expanded_topology(more)["domains"][0]["values"].size() == 16);
}

TEST_CASE("few slices that say many domains are shown as so many as may be shown, and no more") {
    Value slices = Value::array();
    for (int i = 0; i < 1000; ++i) {
        slices.push(parsed(R"({"domainCount":100000,"valuesPerLevel":[{"universal":"n"}],)"
                           R"("podCounts":{"universal":1}})"));
    }
    const Value assignment =
        Value::object({{"levels", Value::array({"host"})}, {"slices", std::move(slices)}});
    CHECK(expanded_topology(assignment)["domains"].size() == topology_domains_max);
    CHECK(expanded_topology(assignment, 3)["domains"].size() == 3);

    Value sets = Value::array();
    for (int i = 0; i < 18; ++i)
        sets.push(Value::object({{"name", std::to_string(i)}, {"topologyAssignment", assignment}}));
    const Value workload = Value::object(
        {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"status", Value::object({{"admission", Value::object({{"podSetAssignments", sets}})}})}});
    const Value old = convert_workload(workload, "v1beta1");
    std::size_t shown = 0;
    for (const Value& set : old.path("status.admission.podSetAssignments").items())
        shown += set["topologyAssignment"]["domains"].size();
    CHECK(shown == topology_domains_max);
}

}  // namespace muster::api
