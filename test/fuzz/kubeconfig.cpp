// test/fuzz/kubeconfig.cpp - kubeconfig files and what their plugins print.
#include "kube/kubeconfig.h"

#include "base/error.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    try {
        kube::connection_of(
            {{"/home/u/.kube/config", std::string(input)}}, {},
            [](const std::string&) { return std::string("content"); },
            [](const kube::ExecPlugin&) { return std::string("{}"); });
    } catch (const Error& error) {
        demand(error.what()[0] != 0, "a refusal says why");
    }
}

/// What a credential plugin prints.
void take_answer(std::string_view input) {
    kube::ExecPlugin plugin;
    plugin.api_version = "client.authentication.k8s.io/v1";
    plugin.command = "login";
    try {
        const kube::Credential read = kube::read_exec_answer(plugin, input);
        demand(!read.token.empty() || !read.key_pem.empty(), "what is taken can be used");
    } catch (const Error& error) {
        demand(error.what()[0] != 0, "a refusal says why");
    }
}

}  // namespace

Target exec_answer_target() {
    return {"exec_answer",
            {R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
             R"("status":{"token":"t","expirationTimestamp":"2026-09-21T14:13:20Z"}})",
             R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",)"
             R"("status":{"clientCertificateData":"C","clientKeyData":"K"}})"},
            take_answer};
}

Target kubeconfig_target() {
    return {"kubeconfig",
            {R"(apiVersion: v1
kind: Config
current-context: m
contexts: [{name: m, context: {cluster: c, user: u, namespace: n}}]
clusters:
- name: c
  cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: YQ==, tls-server-name: x}
users:
- {name: u, user: {token: t, client-certificate: a.crt, client-key-data: Yg==, tokenFile: /t}}
)",
             "users: [{name: u, user: {exec: {command: x}}}]\ncurrent-context: z\n"},
            take};
}

}  // namespace muster::fuzz
