// agent/forward_table_test.cpp - what is forwarded of very many services, and what namespaces
// share.
#include "agent/forward_table.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "agent/shares.h"
#include "api/value.h"

namespace muster::agent {

namespace {

using api::Value;

struct Town {
    NameTable names{
        [this](const std::string& ns, const std::string& service) { table.changed(ns, service); }};
    ForwardTable table{names};
    int address = 0;

    void put(const std::string& ns, const std::string& name, int ports) {
        Value list = Value::array();
        for (int port = 1; port <= ports; ++port)
            list.push(Value::object({{"name", "p" + std::to_string(port)}, {"port", port}}));
        ++address;
        const std::string ip =
            "10.96." + std::to_string(address / 256) + "." + std::to_string(address % 256);
        names.put_service(kube::make_object(
            {"", "services"},
            Value::object({{"metadata", Value::object({{"namespace", ns}, {"name", name}})},
                           {"spec", Value::object({{"clusterIP", ip}, {"ports", list}})}})));
    }
    void remove(const std::string& ns, const std::string& name) {
        names.remove_service({{"", "services"}, ns, name});
    }

    /// How many addresses each service of `ns` has, after all that waits has been taken.
    std::map<std::string, std::size_t> settle(const std::string& ns) {
        while (table.waits()) {
            ForwardTable::Piece piece = table.take();
            for (const ServiceForwards& each : piece.services) {
                if (each.ns != ns) continue;
                found[each.name] = each.addresses.size();
                if (each.addresses.empty()) found.erase(each.name);
            }
            over.insert(over.end(), piece.over.begin(), piece.over.end());
        }
        return found;
    }
    std::map<std::string, std::size_t> found;
    std::vector<ServiceOver> over;
};

}  // namespace

TEST_CASE("a namespace has a thousand service addresses, and is told of what is left out") {
    Town town;
    town.put("ns", "a", 600);
    town.put("ns", "b", 700);
    town.put("other", "c", 700);
    CHECK(town.settle("ns") == std::map<std::string, std::size_t>{{"a", 600}, {"b", 400}});
    REQUIRE(town.over.size() == 1);
    CHECK(town.over[0].name == "b");
    CHECK(town.over[0].left_out == 300);
    town.remove("ns", "a");
    CHECK(town.settle("ns") == std::map<std::string, std::size_t>{{"b", 700}});
    CHECK(town.over.size() == 1);
}

TEST_CASE("a namespace with very many services does not keep another one waiting") {
    Town town;
    for (int i = 0; i < 2000; ++i)
        town.put("many", "s" + std::to_string(i), 100);
    town.put("one", "s", 1);
    const ForwardTable::Piece piece = town.table.take();
    CHECK(town.table.waits());
    CHECK(piece.services.size() < 100);
    CHECK(std::count_if(piece.services.begin(), piece.services.end(),
                        [](const ServiceForwards& each) { return each.ns == "one"; }) == 1);
}

TEST_CASE("many pods behind many ports are cut down, and each port keeps one") {
    Town town;
    town.put("ns", "a", 1000);
    Value ports = Value::array();
    for (int port = 1; port <= 1000; ++port)
        ports.push(Value::object({{"name", "p" + std::to_string(port)}, {"port", port}}));
    Value endpoints = Value::array();
    for (int pod = 0; pod < 1500; ++pod)
        endpoints.push(
            Value::object({{"addresses", Value::array({"10.244." + std::to_string(1 + pod / 250) +
                                                       "." + std::to_string(1 + pod % 250)})}}));
    town.names.put_slice(kube::make_object(
        {"discovery.k8s.io", "endpointslices"},
        Value::object(
            {{"metadata",
              Value::object({{"namespace", "ns"},
                             {"name", "a-1"},
                             {"labels", Value::object({{"kubernetes.io/service-name", "a"}})}})},
             {"ports", ports},
             {"endpoints", endpoints}})));
    const ForwardTable::Piece piece = town.table.take();
    REQUIRE(piece.services.size() == 1);
    std::size_t pods = 0;
    for (const auto& [address, behind] : piece.services[0].addresses) {
        CHECK(behind.size() >= 1);
        CHECK(behind.size() <= 1000);
        pods += behind.size();
    }
    CHECK(piece.services[0].addresses.size() == 1000);
    CHECK(pods < 60'000);
}

TEST_CASE("who takes all it can get of shares leaves half to others") {
    Shares shares(100);
    std::vector<std::shared_ptr<void>> held;
    const auto take_all = [&](const std::string& who) {
        std::size_t got = 0;
        while (auto ticket = shares.take(who)) {
            held.push_back(std::move(ticket));
            ++got;
        }
        return got;
    };
    CHECK(take_all("a") == 50);
    CHECK(take_all("b") == 25);
    CHECK(take_all("a") == 0);
    CHECK(take_all("c") == 13);
    held.clear();
    CHECK(shares.held() == 0);
    held.push_back(shares.take("none", 0));  // An empty ConfigMap, say.
    held.push_back(shares.take("none", 0));
    held.push_back(shares.take("none", 3));
    CHECK(held[0] != nullptr);
    while (!held.empty())
        held.pop_back();
    CHECK(shares.held() == 0);
    CHECK(take_all("c") == 50);
}

}  // namespace muster::agent
