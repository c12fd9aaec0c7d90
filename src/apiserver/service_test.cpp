// apiserver/service_test.cpp - addresses and ports of services: who gets which, what is refused.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

const std::string services = "/api/v1/namespaces/default/services";
const std::string endpoints = "/api/v1/namespaces/default/endpoints";
const std::string slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

std::string service(const std::string& name, const std::string& spec,
                    const std::string& port = R"({"port":80})") {
    return R"({"apiVersion":"v1","kind":"Service","metadata":{"name":")" + name +
           R"("},"spec":{"ports":[)" + port + "]" + (spec.empty() ? "" : "," + spec) + "}}";
}

std::string at(const std::string& address) {
    return R"("clusterIP":")" + address + R"(")";
}

TEST_CASE("a ClusterIP is written in one way only, so that nobody gets another's") {
    TestServer server;
    REQUIRE(server.post(services, service("victim", at("10.96.0.99")))->status == 201);
    for (const char* address : {"10.96.0.099", "010.96.0.99", "10.096.0.99", "10.96.00.99"}) {
        CAPTURE(address);
        const ReplyPtr refused = server.post(services, service("evil", at(address)));
        CHECK(refused->status == 422);
        CHECK(refused->message() ==
              "Service \"evil\" is invalid: spec.clusterIPs[0]: Invalid "
              "value: \"" +
                  std::string(address) + "\": must not have leading 0s");
    }
    for (const char* address : {"10.96.0", "10.96.0.256", "10.96.0.9x", "10.96.0.99 ", "a:b"}) {
        CAPTURE(address);
        CHECK(server.post(services, service("evil", at(address)))->message() ==
              "Service \"evil\" is invalid: spec.clusterIPs[0]: Invalid value: \"" +
                  std::string(address) +
                  "\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
    }
    CHECK(server.post(services, service("evil", at("::ffff:10.96.0.99")))
              ->message()
              .find("must not be an IPv4-mapped IPv6 address") != std::string::npos);
    CHECK(server.post(services, service("evil", at("fd00::1")))
              ->message()
              .find("IPv6 is not configured on this cluster") != std::string::npos);
    CHECK(server.post(services, service("evil", at("10.96.0.99")))->message() ==
          "Service \"evil\" is invalid: spec.clusterIPs: Invalid value: [\"10.96.0.99\"]: failed "
          "to allocate IP 10.96.0.99: provided IP is already allocated");
}

TEST_CASE("the cluster's own addresses and those outside the range are nobody's") {
    TestServer server;
    for (const char* address : {"10.96.0.10", "10.96.0.1"}) {
        CAPTURE(address);
        CHECK(server.post(services, service("dns", at(address)))
                  ->message()
                  .find("provided IP is already allocated") != std::string::npos);
    }
    for (const char* address :
         {"10.96.0.0", "10.111.255.255", "10.112.0.0", "10.95.255.255", "127.0.0.1", "0.0.0.0"}) {
        CAPTURE(address);
        CHECK(server.post(services, service("far", at(address)))->message() ==
              "Service \"far\" is invalid: spec.clusterIPs: Invalid value: [\"" +
                  std::string(address) + "\"]: failed to allocate IP " + address +
                  ": the provided IP (" + address +
                  ") is not in the valid range. The range of valid IPs is 10.96.0.0/12");
    }
    // Its own service is made anew at the first address.
    REQUIRE(server.remove(services + "/kubernetes")->status == 200);
    CHECK(server.post(services, service("other", at("10.96.0.1")))->status == 422);
    CHECK(server.get(services + "/kubernetes")->json()["spec"]["clusterIP"].text() == "10.96.0.1");
}

TEST_CASE("lists of addresses go with the one that is named") {
    TestServer server;
    const auto problem = [&](const std::string& spec) {
        return server.post(services, service("s", spec))->message();
    };
    CHECK(problem(R"("clusterIPs":["10.96.0.50"])")
              .find("must be empty when `clusterIP` is not specified") != std::string::npos);
    CHECK(problem(at("10.96.0.50") + R"(,"clusterIPs":["10.96.0.51"])")
              .find("first value must match `clusterIP`") != std::string::npos);
    CHECK(problem(at("None") + R"(,"clusterIPs":["None","10.96.0.51"])")
              .find("'None' must be the first and only value") != std::string::npos);
    CHECK(problem(at("10.96.0.50") + R"(,"clusterIPs":["10.96.0.50","10.96.0.51"])")
              .find("may specify no more than one IP for each IP family") != std::string::npos);
    CHECK(problem(R"("ipFamilies":["IPv6"])").find("not configured on this cluster") !=
          std::string::npos);
    CHECK(problem(R"("ipFamilyPolicy":"RequireDualStack")")
              .find("this cluster is not configured for dual-stack services") != std::string::npos);
    CHECK(problem(R"("externalIPs":["127.0.0.1"])")
              .find("may not be in the loopback range (127.0.0.0/8, ::1/128)") !=
          std::string::npos);
    CHECK(problem(R"("externalIPs":["192.0.2.010"])").find("must not have leading 0s") !=
          std::string::npos);
    CHECK(problem(R"("type":"LoadBalancer","loadBalancerSourceRanges":["10.0.0.1/8"])")
              .find("must not have bits set beyond the prefix length") != std::string::npos);
}

TEST_CASE("an address is kept for the life of a service, and given back by one that is a name") {
    TestServer server;
    const api::Value made = server.post(services, service("s", ""))->json();
    const std::string address = made["spec"]["clusterIP"].text();
    // A client that knows nothing of addresses writes it anew.
    CHECK(server.put(services + "/s", service("s", ""))->json()["spec"]["clusterIP"].text() ==
          address);
    CHECK(server.merge(services + "/s", R"({"spec":{"clusterIP":"10.96.0.200"}})")
              ->message()
              .find("may not change once set") != std::string::npos);
    const ReplyPtr named = server.merge(
        services + "/s", R"({"spec":{"type":"ExternalName","externalName":"db.example.com"}})");
    CHECK(named->status == 200);
    CHECK(!named->json()["spec"].has("clusterIP"));
    CHECK(!named->json()["spec"].has("clusterIPs"));
    CHECK(server.post(services, service("t", at(address)))->status == 201);
    CHECK(server.merge(services + "/s", R"({"spec":{"type":"ClusterIP","externalName":null}})")
              ->json()["spec"]["clusterIP"]
              .text() != address);
    CHECK(
        server
            .post(services, service("n", R"("type":"ExternalName","externalName":"a.b",)" +
                                             at("10.96.0.77") + R"(,"clusterIPs":["10.96.0.77"])"))
            ->message()
            .find("spec.clusterIPs: Forbidden: may not be set for ExternalName services") !=
        std::string::npos);
}

TEST_CASE("node ports are of their range, each given once, and dropped with the type") {
    TestServer server;
    const std::string type = R"("type":"NodePort")";
    const auto made = [&](const std::string& name, const std::string& port) {
        return server.post(services, service(name, type, port));
    };
    CHECK(made("low", R"({"port":80,"nodePort":80})")->message() ==
          "Service \"low\" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided port is "
          "not in the valid range. The range of valid ports is 30000-32767");
    CHECK(made("a", R"({"port":80,"nodePort":30001})")->status == 201);
    CHECK(
        made("b", R"({"name":"x","port":80},{"name":"y","port":81,"nodePort":30001})")->message() ==
        "Service \"b\" is invalid: spec.ports[1].nodePort: Invalid value: 30001: provided port is "
        "already allocated");
    CHECK(made("c", R"({"name":"x","port":80,"nodePort":30005},)"
                    R"({"name":"y","port":81,"nodePort":30005})")
              ->message()
              .find("spec.ports[1].nodePort: Duplicate value: 30005") != std::string::npos);
    const ReplyPtr plain = server.merge(services + "/a", R"({"spec":{"type":"ClusterIP"}})");
    CHECK(plain->status == 200);
    CHECK(!plain->json()["spec"]["ports"][0].has("nodePort"));
    CHECK(!plain->json()["spec"].has("externalTrafficPolicy"));
    CHECK(server.post(services, service("d", "", R"({"port":80,"nodePort":30009})"))
              ->message()
              .find("may not be used when `type` is 'ClusterIP'") != std::string::npos);
    const ReplyPtr local = server.post(
        services, service("lb", R"("type":"LoadBalancer","externalTrafficPolicy":"Local")"));
    CHECK(local->json()["spec"]["healthCheckNodePort"].integer_or(0) >= 30000);
    CHECK(local->json()["spec"]["allocateLoadBalancerNodePorts"].boolean_or(false));
}

TEST_CASE("what nobody serves is warned of") {
    TestServer server;
    const auto warning = [&](const std::string& name, const std::string& spec) {
        std::string all;
        for (const auto& [field, value] :
             server.post(services, service(name, spec))->headers.fields) {
            if (field == "Warning") all += value + "\n";
        }
        return all;
    };
    CHECK(warning("a", R"("type":"NodePort")").find("does not serve node ports") !=
          std::string::npos);
    CHECK(warning("b", R"("type":"LoadBalancer")").find("has no load balancer") !=
          std::string::npos);
    CHECK(warning("c", R"("type":"ExternalName","externalName":"a.b")")
              .find("does not answer names of ExternalName services") != std::string::npos);
    CHECK(warning("d", R"("externalIPs":["192.0.2.1"])").find("does not serve external") !=
          std::string::npos);
    CHECK(warning("e", "").empty());
}

TEST_CASE("no endpoint is in the machine's own networks") {
    TestServer server;
    const auto slice = [&](const std::string& type, const std::string& address) {
        return server.post(
            slices, R"({"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":)"
                    R"({"generateName":"s-"},"addressType":")" +
                        type + R"(","endpoints":[{"addresses":[")" + address +
                        R"("]}],"ports":[{"name":"","port":80,"protocol":"TCP"}]})");
    };
    CHECK(slice("IPv4", "10.244.0.5")->status == 201);
    for (const auto& [address, why] :
         {std::pair("127.0.0.1", "may not be in the loopback range"),
          std::pair("127.1.2.3", "may not be in the loopback range"),
          std::pair("169.254.169.254", "may not be in the link-local range"),
          std::pair("224.0.0.1", "may not be in the link-local multicast range"),
          std::pair("0.0.0.0", "may not be unspecified"),
          std::pair("010.0.0.1", "must not have leading 0s"),
          std::pair("::1", "must be an IPv4 address"), std::pair("x", "must be a valid IP")}) {
        CAPTURE(address);
        const ReplyPtr refused = slice("IPv4", address);
        CHECK(refused->status == 422);
        CHECK(refused->message().find(why) != std::string::npos);
        const ReplyPtr old = server.post(
            endpoints, R"({"apiVersion":"v1","kind":"Endpoints","metadata":{"name":"e"},)"
                       R"("subsets":[{"addresses":[{"ip":")" +
                           std::string(address) + R"("}],"ports":[{"port":80}]}]})");
        CHECK(old->status == 422);
        if (std::string_view(address) != "::1")
            CHECK(old->message().find(why) != std::string::npos);
    }
    CHECK(slice("IPv6", "::ffff:127.0.0.1")->message().find("IPv4-mapped") != std::string::npos);
    CHECK(slice("IPv6", "FD00::1")->message().find("must be in canonical form (\"fd00::1\")") !=
          std::string::npos);
    CHECK(slice("IPv6", "fe80::1")->message().find("link-local range") != std::string::npos);
    CHECK(slice("FQDN", "nodots")->status == 422);
    CHECK(slice("Other", "a")->status == 422);
}

TEST_CASE("an event is in the namespace of what it is about") {
    TestServer server;
    const std::string events = "/api/v1/namespaces/default/events";
    const auto core = [&](const std::string& name, const std::string& about,
                          const std::string& more) {
        return server.post(
            events, R"({"apiVersion":"v1","kind":"Event","metadata":{"name":")" + name +
                        R"("},"involvedObject":{"kind":"Pod","name":"p","namespace":")" + about +
                        R"("},"reason":"R","message":"m","type":"Normal")" + more + "}");
    };
    CHECK(core("a", "default", "")->status == 201);
    const ReplyPtr elsewhere = core("b", "other", "");
    CHECK(elsewhere->status == 422);
    CHECK(elsewhere->message() ==
          "Event \"b\" is invalid: involvedObject.namespace: Invalid value: \"other\": does not "
          "match event.namespace");
    const std::string timed = R"(,"eventTime":"2026-01-01T00:00:00.000000Z",)"
                              R"("reportingComponent":"c","reportingInstance":"i","action":"a")";
    CHECK(core("c", "default", timed)->status == 201);
    CHECK(core("d", "other", timed)->status == 422);
    const ReplyPtr newer =
        server.post("/apis/events.k8s.io/v1/namespaces/default/events",
                    R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},)"
                    R"("eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"c",)"
                    R"("reportingInstance":"i","action":"a","reason":"R","type":"Normal",)"
                    R"("regarding":{"kind":"Pod","name":"p","namespace":"other"}})");
    CHECK(newer->status == 422);
    CHECK(newer->message().find("does not match event.namespace") != std::string::npos);
    CHECK(server.merge(events + "/a", R"({"involvedObject":{"namespace":"other"}})")->status ==
          422);
}

}  // namespace
}  // namespace muster::apiserver
