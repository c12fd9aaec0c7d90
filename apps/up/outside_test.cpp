// apps/up/outside_test.cpp - where a service's host name leads, with and without endpoints.
#include "apps/up/outside.h"

#include <variant>

#include <doctest/doctest.h>

#include "api/json.h"

namespace muster::up {
namespace {

constexpr const char* host = "head.team.svc.cluster.local";

void put(kube::Cache& seen, const api::GroupResource& resource, const std::string& json) {
    seen.put(kube::make_object(resource, std::get<api::Parsed>(api::parse_json(json)).value));
}

void put_service(kube::Cache& seen, const std::string& spec) {
    put(seen, {"", "services"},
        R"({"metadata":{"name":"head","namespace":"team"},"spec":)" + spec + "}");
}

void put_pod(kube::Cache& seen, const std::string& name, const std::string& ready,
             const std::string& more = "") {
    put(seen, {"", "pods"},
        R"({"metadata":{"namespace":"team","name":")" + name + R"(","labels":{"a":"b","c":"d"})" +
            more + R"(},"status":{"podIP":"10.0.0.)" + name +
            R"(","conditions":[{"type":"Ready","status":")" + ready + R"("}]}})");
}

}  // namespace

TEST_CASE("a service leads to its own address, what is no service to itself") {
    kube::Cache seen;
    put_service(seen, R"({"clusterIP":"10.96.0.9","selector":{"a":"b"}})");
    CHECK(service_address(seen, host) == "10.96.0.9");
    CHECK(service_address(seen, "other.team.svc.cluster.local").empty());
    CHECK(service_address(seen, "example.com") == "example.com");
}

TEST_CASE("a headless service leads to its first ready endpoint, else to its first ready pod") {
    kube::Cache seen;
    put_service(seen, R"({"clusterIP":"None","selector":{"a":"b"}})");
    CHECK(service_address(seen, host).empty());
    put_pod(seen, "1", "False");
    put_pod(seen, "2", "True", R"(,"deletionTimestamp":"2026-01-01T00:00:00Z")");
    CHECK(service_address(seen, host).empty());
    put_pod(seen, "3", "True");
    put_pod(seen, "4", "True");
    CHECK(service_address(seen, host) == "10.0.0.3");
    put(seen, {"discovery.k8s.io", "endpointslices"},
        R"({"metadata":{"name":"s","namespace":"team","labels":{"kubernetes.io/service-name":"head"}},
            "endpoints":[{"addresses":["10.0.0.8"],"conditions":{"ready":false}},
                         {"addresses":["10.0.0.9"],"conditions":{"ready":true}}]})");
    CHECK(service_address(seen, host) == "10.0.0.9");
}

TEST_CASE("pods that are not ready are found where the service publishes them, ready ones first") {
    kube::Cache seen;
    put_service(seen,
                R"({"clusterIP":"None","selector":{"a":"b"},"publishNotReadyAddresses":true})");
    put_pod(seen, "1", "False");
    CHECK(service_address(seen, host) == "10.0.0.1");
    put_pod(seen, "2", "True");
    CHECK(service_address(seen, host) == "10.0.0.2");
}

TEST_CASE("a service of other pods, or of none by name, leads nowhere") {
    kube::Cache seen;
    put_pod(seen, "1", "True");
    put_service(seen, R"({"clusterIP":"None","selector":{"a":"b","c":"other"}})");
    CHECK(service_address(seen, host).empty());
    put_service(seen, R"({"clusterIP":"None"})");
    CHECK(service_address(seen, host).empty());
}

}  // namespace muster::up
