// control/runner_log_test.cpp - which lines of the log a write is worth.
#include "control/runner_log.h"

#include <doctest/doctest.h>

namespace muster::control {
namespace {

using api::Value;

const api::GroupResource workloads{"kueue.x-k8s.io", "workloads"};

Value condition(const char* type, const char* status, const char* reason) {
    return Value::object({{"type", type},
                          {"status", status},
                          {"reason", reason},
                          {"message", "because"},
                          {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
}

Value workload_with(std::initializer_list<Value> conditions) {
    Value list = Value::array();
    for (const Value& each : conditions)
        list.push(each);
    return Value::object({{"metadata", Value::object({{"name", "job-a"}, {"namespace", "team"}})},
                          {"status", Value::object({{"conditions", std::move(list)}})}});
}

std::string text_of(const std::vector<Decision>& decisions) {
    std::string text;
    for (const Decision& each : decisions)
        text += each.condition + "=" + each.status + " " + each.reason + " " + each.message + "\n";
    return text;
}

}  // namespace

TEST_CASE("a decision is a condition that a write changes, with its reason") {
    Write write;
    write.key = {workloads, "team", "job-a"};
    write.body = workload_with({condition("QuotaReserved", "False", "Pending"),
                                condition("Evicted", "True", "Preempted"),
                                condition("Requeued", "False", "BackoffFinished")});
    SUBCASE("all of what has not been seen") {
        CHECK(text_of(decisions_in(write, nullptr)) ==
              "QuotaReserved=False Pending because\nEvicted=True Preempted because\n"
              "Requeued=False BackoffFinished because\n");
    }
    SUBCASE("not what is so already, but a new reason") {
        const kube::ObjectPtr seen = kube::make_object(
            workloads, workload_with({condition("QuotaReserved", "False", "Pending"),
                                      condition("Evicted", "False", "QuotaReserved"),
                                      condition("Requeued", "False", "AdmissionCheck")}));
        CHECK(text_of(decisions_in(write, seen.get())) ==
              "Evicted=True Preempted because\nRequeued=False BackoffFinished because\n");
    }
    SUBCASE("nothing in a write without conditions") {
        write.body = Value::object({{"spec", Value::object({{"suspend", false}})}});
        CHECK(decisions_in(write, nullptr).empty());
        write.body = Value();
        CHECK(decisions_in(write, nullptr).empty());
    }
}

}  // namespace muster::control
