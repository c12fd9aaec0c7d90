// control/ray/deletion_test.cpp - deletion rules: what is due when, and what is refused.
#include "control/ray/deletion.h"

#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "api/json.h"

namespace muster::control::ray {
namespace {

using api::Value;

const Time ended = *parse_rfc3339("2026-01-01T12:00:00Z");

Value json(const std::string& text) {
    auto parsed = api::parse_json(text);
    REQUIRE(std::holds_alternative<api::Parsed>(parsed));
    return std::get<api::Parsed>(parsed).value;
}

Value job(const std::string& spec, const std::string& job_status = "SUCCEEDED",
          const std::string& deployment = "Complete") {
    return json(R"({"spec":)" + spec +
                R"(,"status":{"endTime":"2026-01-01T12:00:00Z","jobStatus":")" + job_status +
                R"(","jobDeploymentStatus":")" + deployment + R"("}})");
}

std::string rules(const std::string& text) {
    return R"({"deletionStrategy":{"deletionRules":[)" + text + "]}}";
}

std::string rule(const std::string& policy, int wait, const std::string& condition) {
    return R"({"policy":")" + policy + R"(","condition":{)" + condition + R"(,"ttlSeconds":)" +
           std::to_string(wait) + "}}";
}

const std::string on_success = R"("jobStatus":"SUCCEEDED")";
const std::string on_failure = R"("jobStatus":"FAILED")";

TEST_CASE("without any wish nothing goes") {
    const Deletions none = deletions_of(job("{}"), Deletion::none, ended + hours(1));
    CHECK(none.now == Deletion::none);
    CHECK_FALSE(none.next.has_value());
}

TEST_CASE("shutdownAfterJobFinishes takes the cluster when its waiting time is over") {
    const Value over = job(R"({"shutdownAfterJobFinishes":true,"ttlSecondsAfterFinished":30})");
    const Deletions early = deletions_of(over, Deletion::none, ended + seconds(29));
    CHECK(early.now == Deletion::none);
    CHECK(early.next == ended + seconds(30));
    CHECK(deletions_of(over, Deletion::none, ended + seconds(30)).now == Deletion::cluster);
    CHECK(deletions_of(over, Deletion::cluster, ended + seconds(31)).now == Deletion::none);
}

TEST_CASE("rules come due one after the other, and what is done is not done again") {
    const Value over = job(rules(rule("DeleteWorkers", 10, on_success) + "," +
                                 rule("DeleteCluster", 20, on_success) + "," +
                                 rule("DeleteSelf", 30, on_success)));
    CHECK(deletions_of(over, Deletion::none, ended).next == ended + seconds(10));
    const Deletions first = deletions_of(over, Deletion::none, ended + seconds(10));
    CHECK(first.now == Deletion::workers);
    CHECK(first.next == ended + seconds(20));
    CHECK(deletions_of(over, Deletion::workers, ended + seconds(19)).now == Deletion::none);
    CHECK(deletions_of(over, Deletion::workers, ended + seconds(20)).now == Deletion::cluster);
    CHECK(deletions_of(over, Deletion::cluster, ended + seconds(30)).now == Deletion::self);
}

TEST_CASE("of several overdue rules only the most destructive is run") {
    const Value over =
        job(rules(rule("DeleteWorkers", 0, on_success) + "," + rule("DeleteSelf", 5, on_success)));
    CHECK(deletions_of(over, Deletion::none, ended + hours(1)).now == Deletion::self);
}

TEST_CASE("a rule holds for its own condition only") {
    const std::string spec =
        rules(rule("DeleteCluster", 0, on_success) + "," + rule("DeleteNone", 0, on_failure) + "," +
              rule("DeleteSelf", 0, R"("jobDeploymentStatus":"Failed")"));
    CHECK(deletions_of(job(spec), Deletion::none, ended).now == Deletion::cluster);
    CHECK(deletions_of(job(spec, "", "Failed"), Deletion::none, ended).now == Deletion::self);
    CHECK(deletions_of(job(spec, "STOPPED"), Deletion::none, ended).now == Deletion::none);
}

TEST_CASE("onSuccess and onFailure choose by how the job ended") {
    const std::string spec = R"({"deletionStrategy":{"onSuccess":{"policy":"DeleteCluster"},
      "onFailure":{"policy":"DeleteWorkers"}}})";
    CHECK(deletions_of(job(spec), Deletion::none, ended).now == Deletion::cluster);
    CHECK(deletions_of(job(spec, "FAILED", "Failed"), Deletion::none, ended).now ==
          Deletion::workers);
    // Ray never had the job: it failed all the same.
    CHECK(deletions_of(job(spec, "", "Failed"), Deletion::none, ended).now == Deletion::workers);
    CHECK(deletions_of(job(spec, "STOPPED"), Deletion::none, ended).now == Deletion::none);
}

TEST_CASE("what contradicts itself is refused in words") {
    const auto refusal = [](const std::string& spec) {
        return check_deletion(json(spec)).value_or("");
    };
    CHECK(refusal("{}").empty());
    CHECK(refusal(rules(rule("DeleteCluster", 5, on_success))).empty());
    CHECK(refusal(rules(rule("DeleteCluster", 5, on_success) + "," +
                        rule("DeleteCluster", 9, on_success)))
              .find("deletionRules[1]: a second rule with DeleteCluster for jobStatus SUCCEEDED") !=
          std::string::npos);
    CHECK(refusal(
              rules(rule("DeleteCluster", 5, on_success) + "," + rule("DeleteSelf", 1, on_success)))
              .find("must not fall") != std::string::npos);
    CHECK(refusal(
              rules(rule("DeleteCluster", 5, on_success) + "," + rule("DeleteSelf", 1, on_failure)))
              .empty());
    CHECK(refusal(R"({"shutdownAfterJobFinishes":true,"deletionStrategy":{"deletionRules":[)" +
                  rule("DeleteSelf", 0, on_success) + "]}}")
              .find("exclude each other") != std::string::npos);
    CHECK(refusal(
              R"({"clusterSelector":{"ray.io/cluster":"c"},"deletionStrategy":{"deletionRules":[)" +
              rule("DeleteWorkers", 0, on_success) + "]}}")
              .find("not allowed with clusterSelector") != std::string::npos);
    CHECK(refusal(R"({"deletionStrategy":{"onSuccess":{"policy":"DeleteSelf"},"onFailure":{}}})")
              .find("onFailure: policy is required") != std::string::npos);
    CHECK(refusal(R"({"shutdownAfterJobFinishes":true,"deletionStrategy":{
      "onSuccess":{"policy":"DeleteNone"},"onFailure":{"policy":"DeleteSelf"}}})")
              .find("DeleteNone contradicts") != std::string::npos);
}

}  // namespace
}  // namespace muster::control::ray
