// kube/counted_transport_test.cpp - what is counted, and when the last write is over.
#include "kube/counted_transport.h"

#include <doctest/doctest.h>

namespace muster::kube {
namespace {

/// A server that answers when the test says so.
class SlowServer final : public Transport {
public:
    void send(net::Request, OnResponse on_response) override {
        asked.push_back(std::move(on_response));
    }
    StreamId open(net::Request, Stream stream) override {
        stream.on_head(net::Response());
        return {};
    }
    void cancel(StreamId) override {}
    void answer(std::size_t place, int status) {
        net::Response response;
        response.status = status;
        asked[place](std::move(response));
    }

    std::vector<OnResponse> asked;
};

net::Request request_of(const std::string& method) {
    net::Request request;
    request.method = method;
    return request;
}

}  // namespace

TEST_CASE("an end waits for the writes under way, not for what is read") {
    SlowServer server;
    CountedTransport transport(server, nullptr);
    int over = 0;
    transport.when_written([&] { ++over; });
    CHECK(over == 1);
    for (const char* method : {"PATCH", "GET", "POST"})
        transport.send(request_of(method), [](const net::Response&) {});
    transport.when_written([&] { ++over; });
    server.answer(2, 201);
    CHECK(over == 1);
    server.answer(0, 409);
    CHECK(over == 2);
    server.answer(1, 200);
    CHECK(over == 2);
}

TEST_CASE("a write that its answer brings about is waited for as well") {
    SlowServer server;
    CountedTransport transport(server, nullptr);
    transport.send(request_of("PATCH"), [&](const net::Response&) {
        transport.send(request_of("PATCH"), [](const net::Response&) {});
    });
    bool over = false;
    transport.when_written([&] { over = true; });
    server.answer(0, 200);
    CHECK(!over);
    server.answer(1, 200);
    CHECK(over);
}

TEST_CASE("requests are counted by method and answer") {
    SlowServer server;
    const auto metrics = std::make_shared<Metrics>();
    CountedTransport transport(server, metrics);
    for (const char* method : {"PATCH", "PATCH", "GET"})
        transport.send(request_of(method), [](const net::Response&) {});
    server.answer(0, 200);
    server.answer(1, 200);
    server.answer(2, 0);
    transport.open(request_of("GET"), {});
    const std::string text = metrics->text();
    CHECK(text.find(R"(rest_client_requests_total{code="200",method="PATCH"} 2)") !=
          std::string::npos);
    CHECK(text.find(R"(rest_client_requests_total{code="<error>",method="GET"} 1)") !=
          std::string::npos);
    CHECK(text.find(R"(rest_client_requests_total{code="200",method="GET"} 1)") !=
          std::string::npos);
}

}  // namespace muster::kube
