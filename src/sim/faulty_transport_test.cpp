// sim/faulty_transport_test.cpp - what a bad network does, one fault at a time.
#include "sim/faulty_transport.h"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "sim/virtual_time.h"

namespace muster::sim {
namespace {

/// Takes note of what arrives and answers it; streams say what the test says.
class Notes final : public kube::Transport {
public:
    explicit Notes(Loop& loop) : loop_(loop) {}
    void send(net::Request request, OnResponse on_response) override {
        arrived.push_back(request.path);
        net::Response response;
        response.body = make_bytes(request.path);
        loop_.post([on_response, response] { on_response(response); });
    }
    StreamId open(net::Request, Stream stream) override {
        streams.push_back(std::move(stream));
        return StreamId{streams.size()};
    }
    void cancel(StreamId) override { ++cancelled; }

    std::vector<std::string> arrived;
    std::vector<Stream> streams;
    int cancelled = 0;

private:
    Loop& loop_;
};

struct Ground {
    Random random{7};
    VirtualTime time{random, Time{1'700'000'000'000'000'000}};
    VirtualLoop& own = time.make_loop();
    VirtualLoop& network = time.make_loop();
    Faults faults;
    Notes* server = nullptr;
    std::unique_ptr<FaultyTransport> transport;
    std::vector<std::string> told;  // "200 /a"

    Ground() {
        auto notes = std::make_unique<Notes>(own);
        server = notes.get();
        transport =
            std::make_unique<FaultyTransport>(std::move(notes), own, network, random, faults);
    }
    void send(const std::string& method, const std::string& path) {
        net::Request request;
        request.method = method;
        request.path = path;
        transport->send(request, [this, path](const net::Response& response) {
            told.push_back(std::to_string(response.status) + " " + path);
        });
    }
    void pass(Duration span) { time.pass(span); }
};

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a late request is overtaken by the next one, and is answered all the same") {
    Ground ground;
    ground.faults.late_request = 1000;
    ground.send("PATCH", "/late");
    ground.faults.late_request = 0;
    ground.send("PATCH", "/next");
    ground.pass(seconds(2));
    CHECK(ground.server->arrived == Texts{"/next", "/late"});
    CHECK(ground.told == Texts{"200 /next", "200 /late"});
    CHECK(ground.transport->faults_made() == 1);
}

TEST_CASE("a late answer is overtaken, what was asked is done at once") {
    Ground ground;
    ground.faults.late_answer = 1000;
    ground.send("GET", "/late");
    ground.faults.late_answer = 0;
    ground.send("GET", "/next");
    CHECK(ground.server->arrived == Texts{"/late", "/next"});
    ground.pass(seconds(3));
    CHECK(ground.told == Texts{"200 /next", "200 /late"});
}

TEST_CASE("a late write fails first and is applied after its repetition, also after a crash") {
    Ground ground;
    ground.faults.late_write = 1000;
    ground.send("GET", "/read");
    ground.send("PATCH", "/write");
    CHECK(ground.server->arrived == Texts{"/read"});
    ground.faults.late_write = 0;
    while (ground.told.size() < 2)
        ground.time.step(ground.time.now() + seconds(1));
    CHECK(ground.told.back() == "503 /write");
    ground.send("PATCH", "/write");
    ground.own.kill();
    ground.pass(seconds(4));
    CHECK(ground.server->arrived == Texts{"/read", "/write", "/write"});
}

TEST_CASE("a doubled write is answered once") {
    Ground ground;
    ground.faults.doubled_write = 1000;
    ground.send("POST", "/made");
    ground.send("PATCH", "/twice");
    ground.pass(seconds(4));
    CHECK(ground.server->arrived == Texts{"/made", "/twice", "/twice"});
    CHECK(ground.told == Texts{"200 /made", "200 /twice"});
}

TEST_CASE("a stream that lingers is told to have ended, and goes on for a while") {
    Ground ground;
    Texts heard;
    kube::Transport::Stream stream;
    stream.on_piece = [&](std::string_view piece) { heard.emplace_back(piece); };
    stream.on_closed = [&] { heard.emplace_back("closed"); };
    ground.transport->open({}, stream);
    ground.server->streams[0].on_piece("a");
    ground.faults.broken_watch = 1000;
    ground.faults.lingering_watch = 1000;
    ground.server->streams[0].on_piece("b");
    ground.server->streams[0].on_piece("c");
    CHECK(heard == Texts{"a", "closed", "c"});
    CHECK(ground.server->cancelled == 0);
    ground.pass(seconds(3));
    CHECK(ground.server->cancelled == 1);
    ground.server->streams[0].on_piece("d");
    CHECK(heard == Texts{"a", "closed", "c"});
}

}  // namespace muster::sim
