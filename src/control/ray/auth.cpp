// control/ray/auth.cpp - the token's Secret, environment and header.
#include "control/ray/auth.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "control/owner.h"
#include "control/ray/names.h"

namespace muster::control::ray {
namespace {

using api::Value;

constexpr std::string_view token_key = "auth_token";

bool has_variable(const Value& container, std::string_view name) {
    const auto& env = container["env"].items();
    return std::any_of(env.begin(), env.end(),
                       [&](const Value& variable) { return variable["name"].text_or("") == name; });
}

Value secret_of(const kube::Object& cluster, const std::string& name, const std::string& token) {
    const Value labels = Value::object(
        {{cluster_label, cluster.key.name}, {"app.kubernetes.io/created-by", "kuberay-operator"}});
    const Value metadata =
        Value::object({{"name", name},
                       {"namespace", cluster.key.ns},
                       {"labels", labels},
                       {"ownerReferences", Value::array({owner_reference(cluster)})}});
    return Value::object({{"apiVersion", "v1"},
                          {"kind", "Secret"},
                          {"metadata", metadata},
                          {"type", "Opaque"},
                          {"data", Value::object({{token_key, to_base64(token)}})}});
}

}  // namespace

bool uses_token(const Value& cluster_spec) {
    const Value& options = cluster_spec["authOptions"];
    return options.is_object() && options["mode"].text_or("token") == "token";
}

std::string token_secret_name(const Value& cluster_spec, const std::string& cluster) {
    const std::string given = cluster_spec["authOptions"]["secretName"].text();
    return given.empty() ? cluster : given;
}

void add_token(Value& container, const Value& cluster_spec, const std::string& cluster) {
    if (!uses_token(cluster_spec)) return;
    if (!has_variable(container, "RAY_AUTH_MODE"))
        container.at("env").push(Value::object({{"name", "RAY_AUTH_MODE"}, {"value", "token"}}));
    if (has_variable(container, "RAY_AUTH_TOKEN")) return;
    const Value reference =
        Value::object({{"name", token_secret_name(cluster_spec, cluster)}, {"key", token_key}});
    container.at("env").push(Value::object(
        {{"name", "RAY_AUTH_TOKEN"}, {"valueFrom", Value::object({{"secretKeyRef", reference}})}}));
}

bool has_token(const kube::Cache& seen, const kube::Object& cluster, Reconciled& result) {
    const Value& spec = cluster.value["spec"];
    if (!uses_token(spec)) return true;
    const std::string name = token_secret_name(spec, cluster.key.name);
    const api::Key key{secrets, cluster.key.ns, name};
    // The user's own Secret is the user's to make: the pods wait for it.
    if (name != cluster.key.name || seen.find(key) != nullptr) return true;
    const std::string call_id = "ray-token/" + cluster.uid;
    const kube::Object* drawn = find_answer(seen, call_id);
    if (drawn == nullptr || drawn->value["status"].integer_or(0) != 200) {
        result.calls.push_back({call_id, "GET", "muster:random/32", "", cluster.key});
        return false;
    }
    result.events.push_back(
        {cluster.key, "Normal", "CreatedSecret", "Created Secret " + to_text(key), "Create"});
    result.writes.push_back({Write::Verb::create, key, "v1", "",
                             secret_of(cluster, name, drawn->value["body"].text()), 0, "", ""});
    return true;
}

std::optional<Header> token_header(const kube::Cache& seen, const kube::Object& cluster) {
    const Value& spec = cluster.value["spec"];
    if (!uses_token(spec)) return std::nullopt;
    const kube::ObjectPtr secret =
        seen.find({secrets, cluster.key.ns, token_secret_name(spec, cluster.key.name)});
    if (secret == nullptr) return std::nullopt;
    const auto token = from_base64(secret->value["data"][token_key].text_or(""));
    if (!token) return std::nullopt;
    return Header{"x-ray-authorization", "Bearer " + *token};
}

}  // namespace muster::control::ray
