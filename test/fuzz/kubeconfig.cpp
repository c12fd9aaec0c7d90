// test/fuzz/kubeconfig.cpp - Kubeconfig files.
#include "kube/kubeconfig.h"

#include "base/error.h"
#include "test/fuzz/target.h"

namespace muster::fuzz {
namespace {

void take(std::string_view input) {
    try {
        kube::connection_of({{"/home/u/.kube/config", std::string(input)}}, {},
                            [](const std::string&) { return std::string("content"); });
    } catch (const Error& error) {
        demand(error.what()[0] != 0, "a refusal says why");
    }
}

}  // namespace

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
