// kube/kubeconfig_test.cpp - what is written is read back; files are merged; what is missing is
// named.
#include "kube/kubeconfig.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace muster::kube {
namespace {

std::string no_file(const std::string& path) {
    throw Error(Reason::not_found, "no file " + path);
}

std::string problem_of(const std::vector<KubeconfigFile>& files, const KubeconfigChoice& choice) {
    try {
        connection_of(files, choice, no_file);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

const KubeconfigFile two_contexts{"/home/ann/.kube/config", R"(
apiVersion: v1
kind: Config
current-context: one
clusters:
- name: a
  cluster: {server: "https://a:6443", certificate-authority: ca.pem}
- name: b
  cluster: {server: "https://b:6443", insecure-skip-tls-verify: true}
contexts:
- name: one
  context: {cluster: a, user: ann, namespace: sandbox}
- name: two
  context: {cluster: b, user: bob}
users:
- name: ann
  user: {token: secret}
- name: bob
  user: {exec: {command: login}}
)"};

}  // namespace

TEST_CASE("a kubeconfig that was written is read back whole") {
    Connection connection;
    connection.server = "https://127.0.0.1:6443";
    connection.tls.authority_pem = "CA";
    connection.tls.certificate_pem = "CERT";
    connection.tls.key_pem = "KEY";
    const std::string text = kubeconfig_text(connection, "muster", "kubernetes-admin");
    const Connection read = connection_of({{"config", text}}, {}, no_file);
    CHECK(read.server == connection.server);
    CHECK(read.tls.authority_pem == "CA");
    CHECK(read.tls.certificate_pem == "CERT");
    CHECK(read.tls.key_pem == "KEY");
    CHECK(read.token.empty());
    CHECK(read.default_namespace == "default");
}

TEST_CASE("the current context is taken, its files are beside the kubeconfig") {
    std::string asked;
    const Connection one = connection_of({two_contexts}, {}, [&](const std::string& path) {
        asked = path;
        return std::string("CA");
    });
    CHECK(asked == "/home/ann/.kube/ca.pem");
    CHECK(one.server == "https://a:6443");
    CHECK(one.token == "secret");
    CHECK(one.default_namespace == "sandbox");
    KubeconfigChoice choice;
    choice.context = "two";
    choice.user = "ann";
    const Connection mixed = connection_of({two_contexts}, choice, no_file);
    CHECK(mixed.server == "https://b:6443");
    CHECK(mixed.tls.verify == net::ClientTls::Verify::no);
}

TEST_CASE("of several files the first that names a thing wins") {
    const KubeconfigFile first{"/x/first",
                               "current-context: two\nusers:\n- name: bob\n"
                               "  user: {token: t}\n"};
    const Connection merged = connection_of({first, two_contexts}, {}, no_file);
    CHECK(merged.server == "https://b:6443");
    CHECK(merged.token == "t");
}

TEST_CASE("what is missing or not supported is named") {
    KubeconfigChoice choice;
    choice.context = "three";
    CHECK(problem_of({two_contexts}, choice).find("no context named \"three\"") !=
          std::string::npos);
    choice.context = "two";
    CHECK(problem_of({two_contexts}, choice).find("known are client.authentication.k8s.io/v1") !=
          std::string::npos);
    CHECK(problem_of({}, {}).find("no context is chosen") != std::string::npos);
    CHECK(problem_of({{"f", "a: [b"}}, {}).find("not valid YAML") != std::string::npos);
}

/// One cluster and user, with these lines in them.
KubeconfigFile small(const std::string& cluster, const std::string& user) {
    return {"/k/config",
            "current-context: c\ncontexts: [{name: c, context: {cluster: a, user: u}}]\n"
            "clusters:\n- name: a\n  cluster: {server: \"https://a:6443\"" +
                cluster + "}\nusers:\n- name: u\n  user: {" + user + "}\n"};
}

TEST_CASE("a user's plugin is run when a token is needed, and told of the cluster when it asks") {
    std::string told;
    const RunPlugin run = [&](const ExecPlugin& plugin) {
        told = exec_info(plugin);
        return std::string(R"({"kind":"ExecCredential","status":{"token":"made"},)"
                           R"("apiVersion":"client.authentication.k8s.io/v1"})");
    };
    const KubeconfigFile file =
        small(", tls-server-name: name",
              "exec: {apiVersion: client.authentication.k8s.io/v1, command: login, "
              "provideClusterInfo: true}");
    const Connection connection = connection_of({file}, {}, no_file, run);
    REQUIRE(connection.credentials);
    CHECK(told.empty());
    CHECK(connection.credentials->token(Time{1}) == "made");
    CHECK(told.find(R"("cluster":{"server":"https://a:6443","tls-server-name":"name"})") !=
          std::string::npos);
    CHECK(problem_of({file}, {}).find("cannot be run here") != std::string::npos);
    KubeconfigChoice choice;
    choice.token = "given";
    CHECK(!connection_of({file}, choice, no_file, run).credentials);
}

TEST_CASE("a token file beside the kubeconfig is read at once, and again later") {
    std::string content = "one\n";
    const Connection connection =
        connection_of({small("", "tokenFile: token")}, {}, [&](const std::string& path) {
            CHECK(path == "/k/token");
            return content;
        });
    CHECK(connection.token == "one");
    content = "two";
    CHECK(connection.credentials->token(Time{1}) == "two");
    CHECK(problem_of({small("", "tokenFile: token")}, {}) == "no file /k/token");
}

TEST_CASE("client certificates in files are read again while they are used, with any token") {
    std::string content = "old";
    const ReadFile read = [&](const std::string& path) {
        CHECK((path == "/k/c.pem" || path == "/k/k.pem"));
        return content + path;
    };
    const Connection connection = connection_of(
        {small("", "token: t, client-certificate: c.pem, client-key: k.pem")}, {}, read);
    CHECK(connection.tls.certificate_pem == "old/k/c.pem");
    REQUIRE(connection.credentials);
    CHECK(connection.credentials->token(Time{1}) == "t");
    CHECK(connection.credentials->present().certificate_pem == "old/k/c.pem");
    content = "new";
    CHECK(connection.credentials->token(Time{1} + minutes(2)) == "t");
    CHECK(connection.credentials->present().certificate_pem == "new/k/c.pem");
    CHECK(connection.credentials->present().key_pem == "new/k/k.pem");
    // What stands in the kubeconfig itself goes before a file, and stays.
    const Connection inline_key = connection_of(
        {small("", "client-certificate: c.pem, client-key-data: S0VZ, client-key: k.pem")}, {},
        read);
    inline_key.credentials->token(Time{1});
    CHECK(inline_key.credentials->present().key_pem == "KEY");
}

TEST_CASE("a kubeconfig says whom its user acts for, wholly") {
    const std::string more =
        ", as-uid: \"7\", as-groups: [a, b], as-user-extra: {scopes/x: [one, two]}";
    const Connection read = connection_of({small("", "token: t, as: ann" + more)}, {}, no_file);
    CHECK(read.impersonate.user == "ann");
    CHECK(read.impersonate.uid == "7");
    CHECK(read.impersonate.groups == std::vector<std::string>{"a", "b"});
    const std::vector<std::pair<std::string, std::string>> extra{{"scopes/x", "one"},
                                                                 {"scopes/x", "two"}};
    CHECK(read.impersonate.extra == extra);
    KubeconfigChoice choice;
    choice.impersonate = "bob";
    CHECK(connection_of({small("", "token: t" + more)}, choice, no_file).impersonate.user == "bob");
    CHECK(problem_of({small("", "token: t" + more)}, {}) ==
          "requesting uid, groups or user-extra for u without impersonating a user");
}

TEST_CASE("what cannot be done is refused, also when it is huge or makes no sense") {
    CHECK(problem_of({small(", proxy-url: \"http://p:3128\"", "token: t")}, {})
              .find("behind the proxy http://p:3128") != std::string::npos);
    CHECK(problem_of({small("", "username: ann, password: x")}, {}).find("\"username\"") !=
          std::string::npos);
    CHECK(problem_of({{"f", std::string(17 << 20, '#')}}, {}).find("larger than 16 MiB") !=
          std::string::npos);
    CHECK(problem_of({small("", "client-certificate-data: QQ==")}, {})
              .find("client-key-data or client-key must be specified") != std::string::npos);
    CHECK(problem_of({small("", "client-certificate-data: \"?\"")}, {}).find("not base64") !=
          std::string::npos);
    CHECK(problem_of({{"f", "- a\n- b\n"}}, {}).find("no context is chosen") != std::string::npos);
    CHECK(problem_of({{"f", "current-context: {a: b}\nusers: 7\n"}}, {}) != "");
    const std::string whole = small("", "token: t").text;
    for (std::size_t cut = 0; cut < whole.size(); ++cut) {
        // Never anything but words; a user that is cut off is missing or has no token.
        try {
            const Connection read = connection_of({{"f", whole.substr(0, cut)}}, {}, no_file);
            CHECK((read.token.empty() || read.token == "t"));
        } catch (const Error& error) {
            CHECK(error.what()[0] != 0);
        }
    }
}

TEST_CASE("in a pod the service account is used") {
    const auto files = [](const std::string& path) -> std::string {
        if (path.ends_with("/ca.crt")) return "CA";
        if (path.ends_with("/token")) return "T\n";
        return "muster-system";
    };
    const auto connection = in_cluster_connection(
        [](const std::string& name) {
            return std::string(name == "KUBERNETES_SERVICE_HOST" ? "fd00::1" : "443");
        },
        files);
    REQUIRE(connection);
    CHECK(connection->server == "https://[fd00::1]:443");
    CHECK(connection->tls.authority_pem == "CA");
    CHECK(connection->token == "T");
    CHECK(connection->default_namespace == "muster-system");
    CHECK(!in_cluster_connection([](const std::string&) { return std::string(); }, files));
}

}  // namespace muster::kube
