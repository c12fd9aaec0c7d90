// kube/lease_test.cpp - who may take a Lease and when, without believing anybody else's clock.
#include "kube/lease.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "api/json.h"
#include "kube/fence.h"
#include "kube/hand_loop_test.h"

namespace muster::kube {
namespace {

constexpr Time start{1'790'000'000'000'000'000};

LeaseOptions options_of(const std::string& identity) {
    LeaseOptions options;
    options.ns = "muster-system";
    options.name = "muster";
    options.identity = identity;
    return options;
}

/// As the server would give it back.
api::Value stored(api::Value lease, const std::string& version) {
    lease.at("metadata").set("resourceVersion", version);
    return lease;
}

/// A server with one Lease, which refuses writes to old versions; answers take a moment.
class LeaseServer final : public Transport {
public:
    explicit LeaseServer(Loop& loop) : loop_(loop) {}
    void send(net::Request request, OnResponse on_response) override {
        loop_.after(milliseconds(5),
                    [this, request, on_response] { on_response(answer(request)); });
    }
    StreamId open(net::Request request, Stream stream) override {
        CHECK(request.path == "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases");
        CHECK(request.query_value("fieldSelector") == "metadata.name=muster");
        const StreamId id{++opened};
        loop_.after(milliseconds(5), [this, id, stream = std::move(stream)] {
            const bool may = lets_watch;
            stream.on_head(net::Response{may ? 200 : 403, {}, nullptr});
            if (may) {
                streams_[id] = stream;
            } else {
                stream.on_closed();
            }
        });
        return id;
    }
    void cancel(StreamId id) override { streams_.erase(id); }
    /// As by somebody with the right to.
    void remove() {
        lease = {};
        tell();
    }
    std::size_t watched() const { return streams_.size(); }
    void break_streams() {
        for (const auto& [id, stream] : std::exchange(streams_, {}))
            stream.on_closed();
    }

    api::Value lease;
    bool lets_watch = true;
    std::uint64_t opened = 0;
    int asked = 0;
    bool is_up = true;
    bool lets_write = true;

private:
    void tell() {
        for (const auto& [id, stream] : streams_) {
            loop_.after(milliseconds(5), [this, id = id] {
                const auto found = streams_.find(id);
                if (found == streams_.end()) return;
                const Stream told = found->second;
                told.on_piece("{}\n");
            });
        }
    }
    net::Response answer(const net::Request& request) {
        net::Response response;
        response.body = make_bytes("{}");
        const bool writes = request.method != "GET";
        if (!writes) ++asked;
        response.status = !is_up ? 503 : lease.is_null() && !writes ? 404 : 200;
        if (writes && !lets_write) response.status = 403;
        if (response.status != 200) return response;
        if (writes) {
            auto parsed = api::parse_json(*request.body);
            api::Value written = std::get<api::Parsed>(parsed).value;
            const bool fits = lease.is_null() ? request.method == "POST"
                                              : written["metadata"]["resourceVersion"].text() ==
                                                    lease["metadata"]["resourceVersion"].text();
            response.status = fits ? 200 : 409;
            if (!fits) return response;
            lease = stored(std::move(written), std::to_string(++version_));
            tell();
        }
        response.body = make_bytes(api::to_json(lease));
        return response;
    }

    Loop& loop_;
    int version_ = 0;
    std::map<StreamId, Stream> streams_;
};

/// One who wants to lead.
struct Candidate {
    Candidate(LeaseServer& server, Loop& loop, const std::string& name) {
        Elector::Events events;
        events.leading = [this] { leads = true; };
        events.lost = [this] {
            leads = false;
            lost = true;
        };
        elector = std::make_unique<Elector>(server, loop, options_of(name), std::move(events));
        elector->start();
    }
    void kill() {
        elector = nullptr;
        leads = false;
    }
    std::unique_ptr<Elector> elector;
    bool leads = false;
    bool lost = false;
};

struct Election {
    HandLoop loop;
    LeaseServer server{loop};
    Candidate ann{server, loop, "ann"};
    Candidate bob{server, loop, "bob"};

    /// Time passes in small steps; never do two lead at once.
    void pass(Duration span) {
        const Time until = loop.now() + span;
        while (loop.now() < until) {
            loop.pass(milliseconds(50));
            CHECK(!(ann.leads && bob.leads));
        }
    }
    Candidate& leader() { return ann.leads ? ann : bob; }
    Candidate& follower() { return ann.leads ? bob : ann; }
    /// By who leads. Whether that is done, it says itself.
    std::shared_ptr<bool> give_back() {
        auto done = std::make_shared<bool>(false);
        Candidate& first = leader();
        first.elector->release([done] { *done = true; });
        first.leads = false;
        return done;
    }
};

}  // namespace

TEST_CASE(
    "one of two leads; when it is killed the other one does, within the lease and two seconds") {
    Election election;
    election.pass(seconds(1));
    CHECK(election.leader().leads);
    Candidate& second = election.follower();
    election.pass(minutes(5));
    CHECK(!second.leads);
    election.leader().kill();
    election.pass(seconds(12));
    CHECK(!second.leads);
    election.pass(seconds(5) + milliseconds(100));
    CHECK(second.leads);
}

TEST_CASE("a leader that gives its Lease back is followed at once") {
    Election election;
    election.pass(seconds(30));
    Candidate& second = election.follower();
    const auto done = election.give_back();
    election.pass(milliseconds(100));
    CHECK(*done);
    CHECK(second.leads);
    CHECK(election.server.watched() == 0);
}

TEST_CASE("a Lease that somebody deletes stays with its holder, which knows nothing of that yet") {
    Election election;
    election.pass(seconds(30));
    Candidate& first = election.leader();
    election.server.remove();
    election.pass(milliseconds(100));  // The follower has been told, the leader has not asked yet.
    CHECK(election.server.lease.is_null());
    election.pass(seconds(30));  // `pass` looks that no two lead.
    CHECK(first.leads);
    CHECK(!first.lost);
    CHECK(!first.elector->had_predecessor());
    CHECK(election.server.lease["spec"]["leaseTransitions"].integer_or(-1) == 0);
}

TEST_CASE("a deleted Lease of one that was killed is taken when its time is over, as a successor") {
    Election election;
    election.pass(seconds(30));
    Candidate& second = election.follower();
    election.leader().kill();
    election.server.remove();
    election.pass(seconds(14));
    CHECK(!second.leads);
    election.pass(seconds(3));
    CHECK(second.leads);
    CHECK(second.elector->had_predecessor());
    CHECK(election.server.lease["spec"]["leaseTransitions"].integer_or(-1) == 1);
}

TEST_CASE("a Lease of some seconds and a bit binds for the next whole second") {
    LeaseOptions options = options_of("ann");
    for (const Duration lease : {milliseconds(10'900), nanoseconds(10'000'000'001), seconds(10)}) {
        options.lease = lease;
        const api::Value written = held_lease(options, "ann", {}, start);
        const std::int64_t whole = written["spec"]["leaseDurationSeconds"].integer_or(0);
        CHECK(seconds(whole) >= lease);
        CHECK(seconds(whole - 1) < lease);
        CHECK(see_lease(std::nullopt, written, start).lease == seconds(whole));
    }
}

TEST_CASE("a follower asks as often with the watch as without, and opens it again when it breaks") {
    Election election;
    election.pass(seconds(30));
    const int asked = election.server.asked;
    const auto opened = election.server.opened;
    election.pass(seconds(20));
    CHECK(election.server.asked - asked <= 22);  // Ten of each.
    CHECK(election.server.opened == opened);
    election.server.break_streams();
    election.pass(seconds(5));
    CHECK(election.server.watched() == 1);
}

TEST_CASE("a follower that may not watch asks, and takes what is free a round later") {
    Election election;
    election.server.lets_watch = false;
    election.pass(seconds(50));
    CHECK(election.server.opened == 1);
    Candidate& second = election.follower();
    const auto done = election.give_back();
    election.pass(seconds(2) + milliseconds(200));
    CHECK(*done);
    CHECK(second.leads);
}

TEST_CASE("a Lease that has ended is asked for as calmly as any when the server is away") {
    Election election;
    election.pass(seconds(30));
    election.leader().kill();
    election.server.is_up = false;
    election.pass(seconds(20));
    const int asked = election.server.asked;
    election.pass(seconds(20));
    CHECK(election.server.asked - asked <= 11);
}

TEST_CASE("who ends while it takes the Lease gives it back when it has it") {
    HandLoop loop;
    LeaseServer server{loop};
    Elector elector(server, loop, options_of("ann"), {[] {}, [] {}, nullptr});
    elector.start();
    loop.pass(milliseconds(5));
    bool done = false;
    elector.release([&] { done = true; });
    CHECK(!done);
    loop.pass(milliseconds(100));
    CHECK(done);
    CHECK(server.lease["spec"]["leaseTransitions"].is_integer());
    CHECK(server.lease["spec"]["holderIdentity"].text_or("") == "");
}

TEST_CASE("a leader that stood still may not act, whichever of its timers comes first") {
    HandLoop loop;
    LeaseServer server{loop};
    Duration slept;  // Of the program; its loop knows nothing of it.
    LeaseOptions options = options_of("ann");
    options.stopwatch = [&] { return loop.now() - start + slept; };
    bool lost = false;
    Elector elector(server, loop, options, {[] {}, [&] { lost = true; }, nullptr});
    elector.start();
    CHECK(!elector.may_act());
    loop.pass(seconds(9));
    CHECK(elector.may_act());
    slept = seconds(14);
    CHECK(!elector.may_act());
    CHECK(!lost);  // Whoever asks is in the middle of something.
    loop.pass({});
    CHECK(lost);
    CHECK(!elector.may_act());
}

TEST_CASE("an answer that was waited for too long makes no leader") {
    HandLoop loop;
    LeaseServer server{loop};
    Duration slept;
    LeaseOptions options = options_of("ann");
    options.stopwatch = [&] { return loop.now() - start + slept; };
    bool leads = false;
    bool lost = false;
    Elector elector(server, loop, options, {[&] { leads = true; }, [&] { lost = true; }, nullptr});
    elector.start();
    loop.pass(milliseconds(7));  // The Lease is being written.
    slept = seconds(20);
    loop.pass(milliseconds(100));
    CHECK(!leads);
    loop.pass(seconds(3));
    CHECK(leads);
    CHECK(elector.may_act());
    CHECK(!lost);
}

TEST_CASE("through a fence go reads always, and writes while their sender may act") {
    HandLoop loop;
    LeaseServer server{loop};
    bool may_act = true;
    Fence fence(server, loop, [&] { return may_act; });
    std::vector<int> answers;
    const auto send = [&](const char* method) {
        net::Request request;
        request.method = method;
        request.body = make_bytes("{}");
        fence.send(request, [&](const net::Response& got) { answers.push_back(got.status); });
    };
    server.lease = stored(held_lease(options_of("ann"), "ann", {}, start), "1");
    send("PUT");
    loop.pass(seconds(1));
    CHECK(answers == std::vector<int>{409});
    may_act = false;
    send("PATCH");
    CHECK(answers.size() == 1);  // Never inside of `send`.
    send("GET");
    loop.pass(seconds(1));
    CHECK(answers == std::vector<int>{409, 0, 200});
}

TEST_CASE("a fence knows how long a write that was never answered may still come to the server") {
    HandLoop loop;
    LeaseServer server{loop};
    Fence fence(server, loop, [] { return true; });
    const auto put = [&] {
        net::Request request;
        request.method = "PUT";
        request.body = make_bytes("{}");
        fence.send(request, [](const net::Response&) {});
    };
    put();
    loop.pass(seconds(1));
    CHECK(fence.in_doubt(seconds(5)) == Duration{});
    server.is_up = false;
    put();
    loop.pass(seconds(1));
    CHECK(fence.in_doubt(seconds(5)) == seconds(4));
    loop.pass(seconds(9));
    CHECK(fence.in_doubt(seconds(5)) == Duration{});
}

TEST_CASE("a Lease is given back also when it was renewed a moment ago") {
    Election election;
    election.pass(seconds(30));
    Candidate& second = election.follower();
    api::Value& metadata = election.server.lease.at("metadata");
    metadata.set("resourceVersion", metadata["resourceVersion"].text() + "0");
    const auto done = election.give_back();
    election.pass(seconds(2) + milliseconds(200));
    CHECK(*done);
    CHECK(second.leads);
}

TEST_CASE("who may not give its Lease back ends all the same, and is followed when it ends") {
    Election election;
    election.pass(seconds(30));
    Candidate& second = election.follower();
    election.server.lets_write = false;
    const auto done = election.give_back();
    election.pass(milliseconds(100));
    CHECK(*done);
    election.server.lets_write = true;
    election.pass(seconds(12));
    CHECK(!second.leads);
    election.pass(seconds(5));
    CHECK(second.leads);
}

TEST_CASE("a leader that cannot renew stops before another one may begin") {
    Election election;
    election.pass(seconds(30));
    Candidate& first = election.leader();
    Candidate& second = election.follower();
    election.server.is_up = false;
    election.pass(seconds(7));  // Of ten, of which two may have passed before.
    CHECK(!first.lost);
    election.pass(seconds(4));
    CHECK(first.lost);
    CHECK(!second.leads);
    election.server.is_up = true;
    election.pass(seconds(20));
    CHECK(second.leads);
}

TEST_CASE("a leader whose Lease somebody else has written over stops") {
    Election election;
    election.pass(seconds(30));
    Candidate& first = election.leader();
    election.server.lease = stored(
        held_lease(options_of("eve"), "eve", election.server.lease, election.loop.now()), "999");
    election.pass(seconds(3));
    CHECK(first.lost);
    CHECK(!election.leader().leads);
}

TEST_CASE("a Lease that is renewed is not taken; one that is not changes hands after its time") {
    const LeaseOptions ann = options_of("ann");
    api::Value lease = stored(held_lease(ann, "ann", {}, start), "1");
    CHECK(lease["spec"]["leaseTransitions"].integer_or(-1) == 0);
    // The looker's clock is an hour behind: only how long nothing changed counts.
    const Time looked = start - hours(1);
    LeaseSight sight = see_lease(std::nullopt, lease, looked);
    CHECK(!may_take(sight, "bob", looked));
    CHECK(may_take(sight, "ann", looked));
    sight = see_lease(sight, lease, looked + seconds(14));
    CHECK(!may_take(sight, "bob", looked + seconds(14)));
    lease = stored(held_lease(ann, "ann", lease, start + seconds(10)), "2");
    sight = see_lease(sight, lease, looked + seconds(14));
    CHECK(!may_take(sight, "bob", looked + seconds(28)));
    CHECK(may_take(see_lease(sight, lease, looked + seconds(29)), "bob", looked + seconds(29)));
    const api::Value taken = held_lease(options_of("bob"), "bob", lease, start + seconds(29));
    CHECK(taken["spec"]["leaseTransitions"].integer_or(-1) == 1);
    CHECK(taken["metadata"]["resourceVersion"].text() == "2");
    CHECK(taken["spec"]["acquireTime"].text() != lease["spec"]["acquireTime"].text());
}

TEST_CASE("a Lease that is given back is free at once") {
    const LeaseOptions ann = options_of("ann");
    const api::Value lease = held_lease(ann, "ann", {}, start);
    const api::Value free = stored(held_lease(ann, "", lease, start + seconds(1)), "3");
    CHECK(may_take(see_lease(std::nullopt, free, start), "bob", start));
}

TEST_CASE("a Lease written by hand, without fields, is taken at once") {
    const api::Value empty = api::Value::object({{"metadata", api::Value::object()}});
    CHECK(may_take(see_lease(std::nullopt, empty, start), "bob", start));
}

}  // namespace muster::kube
