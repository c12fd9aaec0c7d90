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
    CHECK(problem_of({two_contexts}, choice).find("\"exec\" are not supported") !=
          std::string::npos);
    CHECK(problem_of({}, {}).find("no context is chosen") != std::string::npos);
    CHECK(problem_of({{"f", "a: [b"}}, {}).find("not valid YAML") != std::string::npos);
}

}  // namespace muster::kube
