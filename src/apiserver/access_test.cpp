// apiserver/access_test.cpp - who may do what: credentials, roles, escalation, reviews,
// impersonation.
#include <doctest/doctest.h>

#include "apiserver/test_server.h"
#include "base/processor_time.h"
#include "base/text.h"
#include "net/pki.h"

namespace muster::apiserver {
namespace {

const std::string maps = "/api/v1/namespaces/default/configmaps";
const std::string rbac = "/apis/rbac.authorization.k8s.io/v1";

std::string binding(const std::string& name, const std::string& role, const std::string& user) {
    return R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":)"
           R"({"name":")" +
           name +
           R"("},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":")" +
           role + R"("},"subjects":[{"kind":"User","apiGroup":"rbac.authorization.k8s.io",)" +
           R"("name":")" + user + R"("}]})";
}

void grant(TestServer& server, const std::string& role, const std::string& user) {
    REQUIRE(
        server.post(rbac + "/namespaces/default/rolebindings", binding(user, role, user))->status ==
        201);
}

void become(TestServer& server, const std::string& user, std::vector<std::string> groups = {}) {
    server.user = user;
    server.groups = std::move(groups);
}

TEST_CASE("nobody in particular gets 403, but may ask for health and version") {
    TestServer server;
    become(server, "");
    CHECK(server.get(maps)->status == 403);
    CHECK(server.get(maps)->message() ==
          "configmaps is forbidden: User \"system:anonymous\" cannot list resource \"configmaps\" "
          "in API group \"\" in the namespace \"default\"");
    CHECK(server.get("/healthz")->text == "ok");
    CHECK(server.get("/readyz?verbose")->text.find("[+]ping ok") != std::string::npos);
    CHECK(server.get("/version")->json()["major"].text() == "1");
    CHECK(server.get("/api")->status == 403);
    CHECK(server.get("/metrics")->status == 403);
}

TEST_CASE("rights come from roles") {
    TestServer server;
    grant(server, "view", "ann");
    become(server, "ann");
    CHECK(server.get(maps)->status == 200);
    const ReplyPtr refused = server.get("/api/v1/namespaces/kube-system/configmaps");
    CHECK(refused->status == 403);
    CHECK(refused->message() ==
          "configmaps is forbidden: User \"ann\" cannot list resource \"configmaps\" in API group "
          "\"\" in the namespace \"kube-system\"");
    CHECK(server.get("/api/v1/namespaces/default/secrets/s")->message() ==
          "secrets \"s\" is forbidden: User \"ann\" cannot get resource \"secrets\" in API group "
          "\"\" in the namespace \"default\"");
    CHECK(server.get("/api/v1/nodes")->message() ==
          "nodes is forbidden: User \"ann\" cannot list resource \"nodes\" in API group \"\" at "
          "the cluster scope");
    CHECK(server.get("/metrics")->message() ==
          "forbidden: User \"ann\" cannot get path \"/metrics\"");
}

TEST_CASE("a role of names allows these names only") {
    TestServer server;
    server.post(rbac + "/clusterroles",
                R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":)"
                R"({"name":"one"},"rules":[{"verbs":["get"],"apiGroups":[""],"resources":)"
                R"(["configmaps"],"resourceNames":["mine"]}]})");
    grant(server, "one", "ann");
    become(server, "ann");
    CHECK(server.get(maps + "/mine")->status == 404);
    CHECK(server.get(maps + "/yours")->status == 403);
    CHECK(server.get(maps)->status == 403);
}

TEST_CASE("labels add a role to view, and so to edit") {
    TestServer server;
    server.post(
        rbac + "/clusterroles",
        R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":)"
        R"({"name":"more","labels":{"rbac.authorization.k8s.io/aggregate-to-view":"true"}},)"
        R"("rules":[{"verbs":["list"],"apiGroups":["example.com"],"resources":["x"]}]})");
    for (const char* role : {"view", "edit", "admin"}) {
        CAPTURE(role);
        grant(server, role, std::string("user-of-") + role);
        const ReplyPtr review = server.post(
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{)"
            R"("user":"user-of-)" +
                std::string(role) +
                R"(","resourceAttributes":{"namespace":"default","verb":"list",)"
                R"("group":"example.com","resource":"x"}}})");
        CHECK(review->status == 201);
        CHECK(review->json()["status"]["allowed"].boolean_or(false));
    }
}

TEST_CASE("who may ask about one namespace hears nothing of another") {
    TestServer server;
    const auto ask = [&](const std::string& metadata, const std::string& about) {
        return server.post(
            "/apis/authorization.k8s.io/v1/namespaces/default/"
            "localsubjectaccessreviews",
            R"({"metadata":{)" + metadata +
                R"(},"spec":{"user":"ann","resourceAttributes":{"namespace":")" + about +
                R"(","verb":"get","resource":"pods"}}})");
    };
    CHECK(ask("", "default")->status == 201);
    CHECK(ask(R"("namespace":"default")", "default")->status == 201);
    const ReplyPtr elsewhere = ask(R"("namespace":"other")", "other");
    CHECK(elsewhere->status == 400);
    CHECK(elsewhere->json()["message"].text() ==
          "the namespace of the provided object does not match the namespace sent on the request");
    CHECK(ask("", "other")->status == 422);
}

TEST_CASE("nobody gives rights that they do not have") {
    TestServer server;
    grant(server, "admin", "ann");
    become(server, "ann");
    const std::string bindings = rbac + "/namespaces/default/rolebindings";
    CHECK(server.post(bindings, binding("b", "view", "bob"))->status == 201);
    const ReplyPtr refused = server.post(bindings, binding("c", "cluster-admin", "bob"));
    CHECK(refused->status == 403);
    CHECK(refused->message().find("is attempting to grant RBAC permissions not currently held") !=
          std::string::npos);
    CHECK(server
              .post(rbac + "/namespaces/default/roles",
                    R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":)"
                    R"({"name":"r"},"rules":[{"verbs":["*"],"apiGroups":["*"],)"
                    R"("resources":["*"]}]})")
              ->status == 403);
}

TEST_CASE("tokens of the configuration") {
    Options options;
    options.static_tokens.push_back({"secret", "robot", {"system:masters"}});
    TestServer server(std::move(options));
    become(server, "");
    net::Request request = server.request("GET", maps);
    request.headers.set("Authorization", "Bearer secret");
    CHECK(server.send(request)->status == 200);
    request.headers.set("Authorization", "Bearer wrong");
    CHECK(server.send(request)->status == 401);
    request.headers.set("Authorization", "Basic secret");
    CHECK(server.send(request)->status == 401);
}

TEST_CASE("a service account's token speaks for it until it expires or the account goes") {
    Options options;
    options.service_account_key_pem = net::make_signing_key();
    TestServer server(std::move(options));
    const std::string accounts = "/api/v1/namespaces/default/serviceaccounts";
    server.post(accounts, R"({"apiVersion":"v1","kind":"ServiceAccount","metadata":)"
                          R"({"name":"robot"}})");
    const auto token_of = [&] {
        const ReplyPtr reply = server.post(accounts + "/robot/token",
                                           R"({"apiVersion":"authentication.k8s.io/v1","kind":)"
                                           R"("TokenRequest","spec":{"expirationSeconds":600}})");
        REQUIRE(reply->status == 201);
        return reply->json()["status"]["token"].text();
    };
    const std::string token = token_of();
    grant(server, "view", "system:serviceaccount:default:robot");
    net::Request request = server.request("GET", maps);
    request.peer = {};
    request.headers.set("Authorization", "Bearer " + token);
    CHECK(server.send(request)->status == 200);
    request.headers.set("Authorization", "Bearer " + token.substr(0, token.size() - 2) + "xx");
    CHECK(server.send(request)->status == 401);
    request.headers.set("Authorization", "Bearer " + token);
    server.loop.advance(seconds(601));
    CHECK(server.send(request)->status == 401);
    request.headers.set("Authorization", "Bearer " + token_of());
    CHECK(server.send(request)->status == 200);
    server.remove(accounts + "/robot");
    CHECK(server.send(request)->status == 401);
}

TEST_CASE("a Secret of an account has a token, which speaks for it while both are there") {
    Options options;
    options.service_account_key_pem = net::make_signing_key();
    options.certificate_authority_pem = "PEM";
    TestServer server(std::move(options));
    const std::string accounts = "/api/v1/namespaces/default/serviceaccounts";
    const std::string secrets = "/api/v1/namespaces/default/secrets";
    server.post(accounts, R"({"metadata":{"name":"robot"}})");
    const auto make = [&](const std::string& name, const std::string& account) {
        return server.post(secrets,
                           R"({"type":"kubernetes.io/service-account-token","metadata":{"name":")" +
                               name + R"(","annotations":{"kubernetes.io/service-account.name":")" +
                               account + R"("}}})");
    };
    const ReplyPtr made = make("robot-token", "robot");
    REQUIRE(made->status == 201);
    const api::Value secret = made->json();
    CHECK(from_base64(secret["data"]["namespace"].text()) == "default");
    CHECK(from_base64(secret["data"]["ca.crt"].text()) == "PEM");
    CHECK(secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"].text() ==
          server.get(accounts + "/robot")->json()["metadata"]["uid"].text());
    CHECK(secret["metadata"]["ownerReferences"][0]["kind"].text() == "ServiceAccount");
    const std::string token = from_base64(secret["data"]["token"].text()).value_or("");
    const std::string claims =
        from_base64url(token.substr(token.find('.') + 1, token.rfind('.') - token.find('.') - 1))
            .value_or("");
    CHECK(claims.find(R"("kubernetes.io/serviceaccount/secret.name":"robot-token")") !=
          std::string::npos);
    CHECK(claims.find(R"("iss":"kubernetes/serviceaccount")") != std::string::npos);
    CHECK(claims.find("\"exp\"") == std::string::npos);
    CHECK(make("nobody-token", "nobody")->json()["data"].empty());
    grant(server, "view", "system:serviceaccount:default:robot");
    net::Request request = server.request("GET", maps);
    request.peer = {};
    request.headers.set("Authorization", "Bearer " + token);
    server.loop.advance(hours(24 * 1000));  // It does not end by itself.
    CHECK(server.send(request)->status == 200);
    // Another token in its place ends it, and so does the end of the Secret or the account.
    server.merge(secrets + "/robot-token", R"({"data":{"token":"b3RoZXI="}})");
    CHECK(server.send(request)->status == 401);
    server.merge(secrets + "/robot-token", R"({"data":{"token":null}})");
    const api::Value again = server.get(secrets + "/robot-token")->json();
    request.headers.set("Authorization",
                        "Bearer " + from_base64(again["data"]["token"].text()).value_or(""));
    CHECK(server.send(request)->status == 200);
    const api::Value written = server.get(secrets + "/robot-token")->json();
    server.remove(accounts + "/robot");
    CHECK(server.send(request)->status == 401);
    server.post(accounts, R"({"metadata":{"name":"robot"}})");
    CHECK(server.send(request)->status == 401);  // Another account of that name.
    const ReplyPtr renewed = make("second", "robot");
    request.headers.set(
        "Authorization",
        "Bearer " + from_base64(renewed->json()["data"]["token"].text()).value_or(""));
    CHECK(server.send(request)->status == 200);
    server.remove(secrets + "/second");
    CHECK(server.send(request)->status == 401);
}

TEST_CASE("a token's owner is told for those of the audiences asked about that it is for") {
    Options options;
    options.service_account_key_pem = net::make_signing_key();
    options.static_tokens.push_back({"secret", "robot", {"system:masters"}});
    TestServer server(std::move(options));
    const std::string accounts = "/api/v1/namespaces/default/serviceaccounts";
    server.post(accounts, R"({"metadata":{"name":"robot"}})");
    const std::string token =
        server.post(accounts + "/robot/token", R"({"spec":{"audiences":["a","b"]}})")
            ->json()["status"]["token"]
            .text();
    REQUIRE(!token.empty());
    const auto review = [&](const std::string& of, api::Value audiences) {
        const api::Value body = api::Value::object(
            {{"apiVersion", "authentication.k8s.io/v1"},
             {"kind", "TokenReview"},
             {"spec", api::Value::object({{"token", of}, {"audiences", audiences}})}});
        return server.post("/apis/authentication.k8s.io/v1/tokenreviews", api::to_json(body))
            ->json()["status"];
    };
    const api::Value known = review(token, api::Value::array({"c", "b", "a"}));
    CHECK(known["authenticated"].boolean_or(false));
    CHECK(known["user"]["username"].text() == "system:serviceaccount:default:robot");
    CHECK(known["audiences"] == api::Value::array({"b", "a"}));
    CHECK(review(token, api::Value::array({"c"}))["error"].text() == "invalid bearer token");
    CHECK(review(token, api::Value::array())["error"].text() == "invalid bearer token");
    const api::Value ours = review("secret", api::Value::array());
    CHECK(ours["user"]["username"].text() == "robot");
    CHECK(!ours.has("audiences"));
    CHECK(review("secret", api::Value::array({"a"}))["error"].text() == "invalid bearer token");
    // A signature that is wrong is looked at once, however many audiences are asked about.
    api::Value many = api::Value::array();
    for (int i = 0; i < 200'000; ++i)
        many.push("a" + std::to_string(i));
    const std::string wrong = token.substr(0, token.size() - 4) + "AAAA";
    CHECK(processor_time(
              [&] { CHECK(review(wrong, many)["error"].text() == "invalid bearer token"); }) < 8);
}

TEST_CASE("impersonation needs the right to it") {
    TestServer server;
    grant(server, "view", "ann");
    net::Request request = server.request("GET", maps);
    request.headers.set("Impersonate-User", "ann");
    CHECK(server.send(request)->status == 200);
    request.headers.set("Impersonate-User", "bob");
    CHECK(server.send(request)->status == 403);
    become(server, "ann");
    request = server.request("GET", maps);
    request.headers.set("Impersonate-User", "bob");
    CHECK(server.send(request)->message() ==
          "users \"bob\" is forbidden: User \"ann\" cannot impersonate resource \"users\" in API "
          "group \"\" at the cluster scope");
}

TEST_CASE("a client may ask who it is and what it may do") {
    TestServer server;
    grant(server, "view", "ann");
    become(server, "ann", {"staff"});
    const ReplyPtr who =
        server.post("/apis/authentication.k8s.io/v1/selfsubjectreviews",
                    R"({"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"})");
    CHECK(who->status == 201);
    CHECK(who->json()["status"]["userInfo"]["username"].text() == "ann");
    CHECK(who->json()["status"]["userInfo"]["groups"][1].text() == "system:authenticated");
    const auto may = [&](const std::string& verb) {
        return server
            .post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                  R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview",)"
                  R"("spec":{"resourceAttributes":{"namespace":"default","verb":")" +
                      verb + R"(","resource":"pods"}}})")
            ->json()["status"]["allowed"]
            .boolean_or(false);
    };
    CHECK(may("list"));
    CHECK(!may("delete"));
    const ReplyPtr rules = server.post(
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview","spec":)"
        R"({"namespace":"default"}})");
    CHECK(rules->json()["status"]["resourceRules"].size() > 3);
}

}  // namespace
}  // namespace muster::apiserver
