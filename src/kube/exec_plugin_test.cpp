// kube/exec_plugin_test.cpp - what plugins are asked, and answers that are right, wrong or old.
#include "kube/exec_plugin.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "kube/credentials.h"

namespace muster::kube {
namespace {

using api::Value;

const std::string group = "client.authentication.k8s.io/";

ExecPlugin plugin_of(const std::string& version) {
    return read_exec_plugin(
        Value::object({{"apiVersion", group + version},
                       {"command", "bin/login"},
                       {"args", Value::array({Value("--for"), Value("me")})},
                       {"env", Value::array({Value::object({{"name", "A"}, {"value", "b"}})})}}),
        "/home/ann/.kube/");
}

std::string problem_of(std::string_view printed) {
    try {
        read_exec_answer(plugin_of("v1"), printed);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

std::string answer(const std::string& status, const std::string& version = "v1") {
    return R"({"kind":"ExecCredential","apiVersion":")" + group + version + R"(","status":)" +
           status + "}";
}

/// A source whose answers are counted: "token-1", "token-2", ...; none while `down`.
struct Source {
    int asked = 0;
    bool down = false;
    std::optional<Time> until;
    Credentials credentials{[this] {
                                ++asked;
                                if (down) throw Error(Reason::unauthorized, "the source is down");
                                Credential credential;
                                credential.token = "token-" + std::to_string(asked);
                                credential.until = until;
                                return credential;
                            },
                            minutes(1)};
};

constexpr Time start{1'790'000'000'000'000'000};

}  // namespace

TEST_CASE("a plugin is found beside its kubeconfig and told what it is for") {
    for (const char* version : {"v1", "v1beta1"}) {
        const ExecPlugin plugin = plugin_of(version);
        CHECK(plugin.command == "/home/ann/.kube/bin/login");
        CHECK(plugin.args == std::vector<std::string>{"--for", "me"});
        CHECK(plugin.env.front().second == "b");
        CHECK(exec_info(plugin) == R"({"kind":"ExecCredential","apiVersion":")" + group + version +
                                       R"(","spec":{"interactive":false}})");
    }
    CHECK_THROWS_WITH_AS(plugin_of("v1alpha1"), doctest::Contains("known are"), Error);
}

TEST_CASE("an answer gives a token or a certificate, maybe with an end") {
    const ExecPlugin plugin = plugin_of("v1beta1");
    const Credential token = read_exec_answer(
        plugin, answer(R"({"token":"t","expirationTimestamp":"2026-09-21T14:13:20Z"})", "v1beta1"));
    CHECK(token.token == "t");
    CHECK(token.until == parse_rfc3339("2026-09-21T14:13:20Z"));
    const Credential pair = read_exec_answer(
        plugin, answer(R"({"clientCertificateData":"C","clientKeyData":"K"})", "v1beta1"));
    CHECK(pair.certificate_pem == "C");
    CHECK(pair.key_pem == "K");
    CHECK(!pair.until);
}

TEST_CASE("an answer that cannot be used is refused in words") {
    CHECK(problem_of("").find("no JSON") != std::string::npos);
    CHECK(problem_of("{\"kind\":\"Exec").find("no JSON") != std::string::npos);
    CHECK(problem_of("[]").find("not an ExecCredential") != std::string::npos);
    CHECK(problem_of(std::string(2 << 20, ' ')).find("more than a megabyte") != std::string::npos);
    CHECK(problem_of(std::string(100'000, '[')).find("no JSON") != std::string::npos);
    CHECK(problem_of(answer("{}", "v1beta1")).find("asked in") != std::string::npos);
    CHECK(problem_of(answer("{}")).find("neither a token") != std::string::npos);
    CHECK(problem_of(answer("null")).find("neither a token") != std::string::npos);
    CHECK(problem_of(answer(R"({"token":7})")).find("not a text") != std::string::npos);
    CHECK(problem_of(answer(R"({"token":"t","clientKeyData":"K"})")).find("without") !=
          std::string::npos);
    CHECK(problem_of(answer(R"({"token":"t","expirationTimestamp":"soon"})")).find("no time") !=
          std::string::npos);
}

TEST_CASE("a token is used until shortly before its end, or until the server refuses it") {
    Source source;
    source.until = start + minutes(10);
    CHECK(source.credentials.token(start) == "token-1");
    CHECK(source.credentials.token(start + minutes(9)) == "token-1");
    source.until = start + hours(1);
    CHECK(source.credentials.token(start + minutes(10) - seconds(5)) == "token-2");
    CHECK(!source.credentials.refused(start + minutes(10) -
                                      seconds(1)));  // It has only just been made.
    CHECK(source.credentials.token(start + minutes(11)) == "token-2");
    CHECK(source.credentials.refused(start + minutes(11)));
    CHECK(source.credentials.token(start + minutes(11)) == "token-3");
}

TEST_CASE("a source that is down is asked again, not too often, and the old token is used on") {
    Source source;
    CHECK(source.credentials.token(start) == "token-1");
    source.down = true;
    CHECK(source.credentials.token(start + minutes(2)) == "token-1");
    CHECK(source.credentials.problem() == "the source is down");
    CHECK(source.credentials.token(start + minutes(2) + seconds(1)) == "token-1");
    CHECK(source.asked == 2);
    source.down = false;
    CHECK(source.credentials.token(start + minutes(2) + seconds(6)) == "token-3");
    CHECK(source.credentials.problem().empty());
}

TEST_CASE("a plugin that runs beside: the old token is used until the new one is there") {
    std::vector<std::function<void(const PluginAnswer&)>> running;
    Time until = start + minutes(10);
    Credentials credentials(plugin_of("v1"), [&] {
        Credential credential;
        credential.token = "first";
        credential.until = until;
        return credential;
    });
    credentials.run_beside([&](const ExecPlugin&, const auto& done) { running.push_back(done); });
    CHECK(credentials.token(start) == "first");  // There is nothing yet: it is waited for.
    CHECK(running.empty());
    Time now = start + minutes(10) - seconds(9);
    CHECK(credentials.token(now) == "first");
    REQUIRE(running.size() == 1);
    CHECK(credentials.is_under_way());
    CHECK(credentials.token(now + seconds(6)) == "first");
    CHECK(credentials.refused(now + seconds(8)));  // Another is on its way.
    CHECK(running.size() == 1);
    int woken = 0;
    credentials.when_renewed([&] { ++woken; });
    now = now + seconds(20);
    running[0]({answer(R"({"token":"second","expirationTimestamp":")" +
                       to_rfc3339(now + minutes(10)) + R"("})"),
                "", now});
    CHECK(woken == 1);
    CHECK(!credentials.is_under_way());
    CHECK(credentials.token(now) == "second");
    // It took twenty seconds: the next is asked for so much earlier.
    CHECK(credentials.token(now + minutes(10) - seconds(51)) == "second");
    CHECK(running.size() == 1);
    CHECK(credentials.token(now + minutes(10) - seconds(49)) == "second");
    REQUIRE(running.size() == 2);
    // One that fails, or says nonsense, changes nothing but the words, and is asked again.
    now = now + minutes(10) - seconds(40);
    running[1]({"", "it was killed", now});
    CHECK(credentials.problem() == "it was killed");
    CHECK(credentials.token(now) == "second");
    REQUIRE(running.size() == 3);
    running[2]({"nonsense", "", now});
    CHECK(credentials.problem().find("no JSON") != std::string::npos);
    CHECK(credentials.token(now + seconds(1)) == "second");
    CHECK(running.size() == 3);
}

TEST_CASE("of a short life half is used before another is made") {
    int made = 0;
    Credentials credentials(
        [&] {
            Credential credential;
            credential.token = std::to_string(++made);
            credential.until = start + seconds(12);
            return credential;
        },
        Duration());
    CHECK(credentials.token(start) == "1");
    CHECK(credentials.token(start + seconds(5)) == "1");
    CHECK(credentials.token(start + seconds(7)) == "2");
}

TEST_CASE("a token file is read again after a minute, without its line end") {
    std::string content = "first\n";
    Credentials credentials =
        token_file_credentials("/t", [&](const std::string&) { return content; });
    CHECK(credentials.token(start) == "first");
    content = "second\n";
    CHECK(credentials.token(start + seconds(50)) == "first");
    CHECK(credentials.token(start + seconds(61)) == "second");
    content = "\n";
    CHECK(credentials.token(start + seconds(122)) == "second");
    CHECK(credentials.problem().find("is empty") != std::string::npos);
}

}  // namespace muster::kube
