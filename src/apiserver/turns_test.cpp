// apiserver/turns_test.cpp - what is held for clients, what they share, and who is told to come
// again.
#include "apiserver/turns.h"

#include <doctest/doctest.h>

#include "apiserver/test_server.h"

namespace muster::apiserver {
namespace {

constexpr const char* maps = "/api/v1/namespaces/default/configmaps";

/// A server whose clients come over connections.
struct Served {
    explicit Served(net::Ledger::Limits limits = {})
        : ledger(std::make_shared<net::Ledger>(limits)) {
        std::string data;
        for (int i = 0; i < 20'000; ++i)
            data += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":\"x\"";
        server.post(maps, R"({"metadata":{"name":"large"},"data":{)" + data + "}}");
        server.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                    R"({"metadata":{"name":"readers"},"roleRef":{
                        "apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"view"},
                        "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group",
                        "name":"readers"}]})");
    }

    std::shared_ptr<net::Standing> connect() const {
        return std::make_shared<net::Standing>(ledger, ledger->account("address 10.0.0.1"));
    }

    net::Request request(const std::string& target, const std::string& user,
                         std::shared_ptr<net::Standing> standing) {
        net::Request made = server.request("GET", target);
        made.peer.certificate_name = user;
        made.peer.certificate_groups = {"readers"};
        made.peer.address = "10.0.0.1:1";
        made.peer.standing = std::move(standing);
        made.charge =
            std::make_shared<net::Charge>(made.peer.standing->account(), made.peer.standing);
        return made;
    }

    ReplyPtr get(const std::string& target, const std::string& user) {
        return server.send(request(target, user, connect()));
    }

    TestServer server;
    std::shared_ptr<net::Ledger> ledger;
};

}  // namespace

TEST_CASE("who asks for the same long list at the same revision shares one text") {
    Served served;
    const ReplyPtr first = served.get(maps, "ann");
    const ReplyPtr second = served.get(maps, "ben");
    REQUIRE(first->status == 200);
    REQUIRE(first->rope != nullptr);
    CHECK(first->rope == second->rope);
    CHECK(first->json()["items"].size() == second->json()["items"].size());
    CHECK(served.ledger->held() == first->rope->size());
    served.server.post(maps, R"({"metadata":{"name":"another"}})");
    const ReplyPtr third = served.get(maps, "ann");
    CHECK(third->rope != first->rope);
    CHECK(third->json()["items"].size() == first->json()["items"].size() + 1);
}

TEST_CASE("the events that the same watch begins with are shared, and are those of a list") {
    Served served;
    const ReplyPtr first = served.get(std::string(maps) + "?watch=1", "ann");
    const ReplyPtr second = served.get(std::string(maps) + "?watch=1", "ben");
    REQUIRE(first->rope != nullptr);
    CHECK(first->rope == second->rope);
    CHECK(first->story().find("ADDED large") != std::string::npos);
    // Of stored objects not even one copy is made.
    CHECK(first->rope->pieces().size() > 1);
    served.server.post(maps, R"({"metadata":{"name":"new"}})");
    CHECK(first->story().ends_with("ADDED new"));
    CHECK(second->story().ends_with("ADDED new"));
}

TEST_CASE("who has no room waits for a turn and is told to come again; others are answered") {
    net::Ledger::Limits limits;
    limits.all = 1 << 20;
    limits.beyond = 1 << 20;
    Served served(limits);
    net::Charge much(served.ledger->account("user ann"), nullptr);
    much.add(800 << 10);
    const auto waits = std::make_shared<Reply>();
    served.server.server.handle(served.request(maps, "ann", served.connect()), waits);
    served.server.loop.run();
    CHECK(waits->answers == 0);
    CHECK(served.get("/api/v1/namespaces/default/configmaps/none", "ben")->status == 404);
    CHECK(served.server.get(maps)->status == 200);
    SUBCASE("room comes in time") {
        much.clear();
        served.server.loop.advance(seconds(1));
        CHECK(waits->status == 200);
    }
    SUBCASE("room does not come") {
        served.server.loop.advance(seconds(11));
        CHECK(waits->status == 429);
        CHECK(waits->headers.get("Retry-After") == "1");
    }
}

TEST_CASE("a very long list that nobody takes keeps no others out") {
    net::Ledger::Limits limits;
    limits.all = 1 << 20;
    limits.beyond = 256 << 10;
    Served served(limits);
    for (int i = 0; i < 20; ++i)
        served.server.post(maps, R"({"metadata":{"name":"long)" + std::to_string(i) +
                                     R"("},"data":{"k":")" + std::string(500'000, 'x') + "\"}}");
    const ReplyPtr list = served.get(maps, "ann");  // Its text is held by the reply.
    REQUIRE(list->rope != nullptr);
    CHECK(list->rope->size() > std::size_t{9} << 20);
    CHECK(served.ledger->held() <= limits.all);
    CHECK(served.get("/api/v1/namespaces/default/configmaps/none", "ben")->status == 404);
}

TEST_CASE("the head decides whether a body is read") {
    Served served;
    const auto verdict_of = [&](net::Request head) {
        std::optional<net::Verdict> said;
        served.server.server.admit(std::move(head),
                                   [&](net::Verdict verdict) { said = std::move(verdict); });
        served.server.loop.run();
        REQUIRE(said.has_value());
        return *std::move(said);
    };
    net::Request head = served.request(maps, "ann", served.connect());
    head.method = "POST";
    const net::Verdict reader = verdict_of(head);
    REQUIRE(reader.refusal.has_value());
    CHECK(reader.refusal->status == 403);
    head.headers.set("Authorization", "Bearer nonsense");
    CHECK(verdict_of(head).refusal->status == 401);
    head.headers.set("Authorization", "");
    head.peer.certificate_name = "";
    CHECK(verdict_of(head).refusal->status == 403);
    head.peer.certificate_name = "admin";
    head.peer.certificate_groups = {"system:masters"};
    const net::Verdict admin = verdict_of(head);
    CHECK_FALSE(admin.refusal.has_value());
    CHECK(admin.account->name() == "user admin");
    CHECK(head.peer.standing->is_known());
}

TEST_CASE("service accounts of one namespace are one client, users each their own") {
    User user;
    user.name = "system:serviceaccount:ta:a";
    CHECK(client_name(user) == "service accounts of ta");
    user.name = "system:serviceaccount:ta:b";
    CHECK(client_name(user) == "service accounts of ta");
    user.name = "ann";
    CHECK(client_name(user) == "user ann");
}

TEST_CASE("watchers that lag are ended when all together hold too much, the slowest first") {
    Options options;
    options.watch_backlog_limit = 10'000;
    TestServer server(std::move(options));
    const auto slow = std::make_shared<Reply>();
    const auto quick = std::make_shared<Reply>();
    slow->unread = 9'000;
    quick->unread = 100;
    for (const auto& reply : {slow, quick})
        server.server.handle(server.request("GET", std::string(maps) + "?watch=1"), reply);
    server.loop.run();
    const std::string value(12'000, 'v');
    server.post(maps, R"({"metadata":{"name":"m"},"data":{"a":")" + value + "\"}}");
    CHECK(slow->is_cut);
    CHECK_FALSE(quick->is_cut);
    CHECK(quick->story() == "ADDED m");
}

}  // namespace muster::apiserver
