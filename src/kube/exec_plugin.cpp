// kube/exec_plugin.cpp - reads the ExecConfig of a kubeconfig and the ExecCredential of a plugin.
#include "kube/exec_plugin.h"

#include <variant>

#include "api/json.h"
#include "base/error.h"

namespace muster::kube {
namespace {

using api::Value;

constexpr std::string_view group = "client.authentication.k8s.io/";
constexpr std::size_t answer_max = 1 << 20;

[[noreturn]] void refuse(const ExecPlugin& plugin, const std::string& text) {
    throw Error(Reason::unauthorized, "the credential plugin " + plugin.command + " " + text);
}

std::string text_at(const ExecPlugin& plugin, const Value& status, const char* field) {
    const Value& value = status[field];
    if (!value.is_null() && !value.is_string())
        refuse(plugin, std::string("gave a status.") + field + " that is not a text");
    return value.text();
}

}  // namespace

ExecPlugin read_exec_plugin(const Value& exec, const std::string& folder) {
    ExecPlugin plugin;
    plugin.api_version = exec["apiVersion"].text();
    plugin.command = exec["command"].text();
    plugin.install_hint = exec["installHint"].text();
    if (plugin.command.empty()) throw Error(Reason::invalid, "the user's exec has no command");
    const bool known = plugin.api_version == std::string(group) + "v1" ||
                       plugin.api_version == std::string(group) + "v1beta1";
    if (!known)
        refuse(plugin, "speaks \"" + plugin.api_version + "\"; known are " + std::string(group) +
                           "v1 and v1beta1");
    if (exec["interactiveMode"].text_or("") == "Always")
        refuse(plugin,
               "wants to ask questions (interactiveMode: Always), which is not possible here");
    const bool is_path = plugin.command.find('/') != std::string::npos;
    if (is_path && !plugin.command.starts_with('/')) plugin.command = folder + plugin.command;
    for (const Value& argument : exec["args"].items())
        plugin.args.push_back(argument.text());
    for (const Value& variable : exec["env"].items())
        plugin.env.emplace_back(variable["name"].text(), variable["value"].text());
    return plugin;
}

std::string exec_info(const ExecPlugin& plugin) {
    Value spec = Value::object({{"interactive", false}});
    if (!plugin.cluster.is_null()) spec.set("cluster", plugin.cluster);
    return api::to_json(Value::object(
        {{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", spec}}));
}

Credential read_exec_answer(const ExecPlugin& plugin, std::string_view printed) {
    if (printed.size() > answer_max) refuse(plugin, "printed more than a megabyte");
    auto parsed = api::parse_json(printed);
    if (const auto* error = std::get_if<api::ParseError>(&parsed))
        refuse(plugin, "printed no JSON: " + error->text);
    const Value& answer = std::get<api::Parsed>(parsed).value;
    if (answer["kind"].text_or("") != "ExecCredential")
        refuse(plugin, "printed something that is not an ExecCredential");
    if (answer["apiVersion"].text_or("") != plugin.api_version)
        refuse(plugin, "answered in \"" + answer["apiVersion"].text() + "\", asked in \"" +
                           plugin.api_version + "\"");
    const Value& status = answer["status"];
    Credential credential;
    credential.token = text_at(plugin, status, "token");
    credential.certificate_pem = text_at(plugin, status, "clientCertificateData");
    credential.key_pem = text_at(plugin, status, "clientKeyData");
    if (credential.certificate_pem.empty() != credential.key_pem.empty())
        refuse(plugin, "gave a client certificate without its key, or a key without certificate");
    if (credential.token.empty() && credential.key_pem.empty())
        refuse(plugin, "gave neither a token nor a client certificate");
    if (const std::string until = text_at(plugin, status, "expirationTimestamp"); !until.empty()) {
        credential.until = parse_rfc3339(until);
        if (!credential.until)
            refuse(plugin, "gave an expirationTimestamp that is no time: \"" + until + "\"");
    }
    return credential;
}

}  // namespace muster::kube
