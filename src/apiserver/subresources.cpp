// apiserver/subresources.cpp - the subresources, and the ones of pods and namespaces.
#include "apiserver/subresources.h"

#include <algorithm>
#include <utility>

#include "api/members_by_name.h"
#include "apiserver/answer.h"
#include "apiserver/authenticate.h"
#include "apiserver/authorize.h"
#include "apiserver/decode.h"
#include "apiserver/remove.h"
#include "apiserver/review_of_write.h"
#include "apiserver/status_error.h"
#include "apiserver/stored.h"
#include "apiserver/write.h"

namespace muster::apiserver {
namespace {

using api::Value;

const std::vector<std::string> stream_verbs{"create", "get"};
const std::vector<std::string> proxy_verbs{"create", "delete", "get", "patch", "update"};

bool is_core(const api::Kind& kind, std::string_view plural) {
    return kind.group.empty() && kind.plural == plural;
}

Newest present(Context& context, const Exchange& exchange) {
    Newest newest = newest_of(context, *exchange.kind, exchange.route.ns, exchange.route.name);
    if (newest.object.is_null()) {
        throw not_found(exchange.kind->resource(), exchange.route.name);
    }
    return newest;
}

void demand(const Exchange& exchange, std::string_view verb) {
    if (exchange.route.verb != verb) throw method_not_allowed();
}

void set_condition(Value& pod, const Value& condition) {
    Value& conditions = pod.at("status").at("conditions");
    if (!conditions.is_array()) conditions = Value::array();
    for (Value& each : conditions.mutable_items()) {
        if (each["type"] == condition["type"]) {
            each = condition;
            return;
        }
    }
    conditions.push(condition);
}

/// The pod runs where the binding says. Throws StatusError when it may not.
void bind_pod(Value& pod, const Value& binding, const std::string& now) {
    const api::GroupResource pods{"", "pods/binding"};
    const std::string name = pod["metadata"]["name"].text();
    if (!pod["metadata"]["deletionTimestamp"].is_null()) {
        throw conflict(pods, name,
                       "pod " + name + " is being deleted, cannot be assigned to a host");
    }
    const std::string before = pod["spec"]["nodeName"].text();
    if (!before.empty()) {
        throw conflict(pods, name,
                       "pod " + name + " is already assigned to node \"" + before + "\"");
    }
    if (!pod["spec"]["schedulingGates"].empty()) {
        throw conflict(pods, name, "pod " + name + " has non-empty .spec.schedulingGates");
    }
    pod.at("spec").set("nodeName", binding["target"]["name"]);
    if (const Value& given = binding["metadata"]["annotations"]; given.is_object()) {
        api::MemberTable annotations(pod.at("metadata").at("annotations"));
        for (const auto& [key, value] : given.members())
            annotations.set(key, value);
    }
    set_condition(pod, Value::object({{"type", "PodScheduled"},
                                      {"status", "True"},
                                      {"lastProbeTime", nullptr},
                                      {"lastTransitionTime", now}}));
}

/// Asks all webhooks about what was posted, then goes on.
void ask_all(Context& context, const ExchangePtr& exchange, const ReviewedPtr& reviewed,
             std::function<void()> then) {
    ask_mutating(context, exchange, reviewed,
                 {[&context, exchange, reviewed, then = std::move(then)] {
                      ask_validating(context, exchange, reviewed, {then, nullptr});
                  },
                  nullptr});
}

/// Connects once no webhook has anything against it.
void connect(Context& context, const ExchangePtr& exchange,
             void (*serve)(Context&, const ExchangePtr&)) {
    const auto reviewed = review_of_connection(context, *exchange);
    if (reviewed == nullptr) {
        serve(context, exchange);
        return;
    }
    ask_all(context, exchange, reviewed, [&context, exchange, serve] { serve(context, exchange); });
}

/// Who acts inside a pod has the pod's rights on the machine.
void check_connection(const Context& context, const Exchange& exchange) {
    const Route& route = exchange.route;
    if (route.subresource == "portforward") return;
    for (const Server::ConnectionCheck& check : context.connection_checks)
        if (const std::string why = check(exchange.user.groups); !why.empty())
            throw forbidden(exchange.kind->resource(), route.name, why);
}

Value created_status() {
    Value status = success_status({});
    status.set("code", 201);
    return status;
}

/// What is posted about a pod names it.
void check_same_name(const Exchange& exchange, const Value& body, const std::string& kind) {
    if (body["metadata"]["name"].text_or("") == exchange.route.name) return;
    throw bad_request("name in URL does not match name in " + kind + " object");
}

/// POST pods/NAME/binding (or bindings): the scheduler's word where a pod runs.
void serve_binding(Context& context, const ExchangePtr& exchange) {
    demand(*exchange, "create");
    const Value binding = typed_body(*exchange, "v1", "Binding");
    check_same_name(*exchange, binding, "Binding");
    const std::string node = binding["target"]["name"].text();
    const std::string target_kind(binding["target"]["kind"].text_or("Node"));
    if (node.empty() || (target_kind != "Node" && !target_kind.empty())) {
        throw StatusError(Reason::invalid,
                          "Binding \"" + exchange->route.name +
                              "\" is invalid: target.name: Required value: the node to bind to");
    }
    const auto reviewed = review_of_body(*exchange, "v1", "Binding", binding);
    ask_all(context, exchange, reviewed, [&context, exchange, reviewed] {
        Edit edit;
        edit.subresource = "binding";
        edit.owned = Edit::Owned::already;  // Where a pod runs is nobody's field.
        edit.change = [now = to_rfc3339(context.loop.now()),
                       binding = reviewed->object](Value& pod) { bind_pod(pod, binding, now); };
        edit.answer = [exchange](const Committed&) {
            guarded(exchange, [exchange] { send_value(*exchange, 201, created_status()); });
        };
        edit.asked = Edit::Asked::already;
        edit_object(context, exchange, edit);
    });
}

/// POST pods/NAME/eviction: a delete that a disruption budget could refuse; there are none here.
void serve_eviction(Context& context, const ExchangePtr& exchange) {
    demand(*exchange, "create");
    const Value eviction = typed_body(*exchange, "policy/v1", "Eviction");
    check_same_name(*exchange, eviction, "Eviction");
    heed_dry_run(*exchange, eviction["deleteOptions"]);
    const auto reviewed = review_of_body(*exchange, "policy/v1", "Eviction", eviction);
    ask_all(context, exchange, reviewed, [&context, exchange, reviewed] {
        Removing removing;
        removing.ns = exchange->route.ns;
        removing.name = exchange->route.name;
        removing.options = reviewed->object["deleteOptions"];
        removing.asked = Removing::Asked::already;
        removing.done = [exchange](const Removal&) {
            guarded(exchange, [exchange] { send_value(*exchange, 201, created_status()); });
        };
        remove_object(context, exchange, removing);
    });
}

/// PUT namespaces/NAME/finalize: the namespace controller's word that it is empty.
void serve_finalize(Context& context, const ExchangePtr& exchange) {
    demand(*exchange, "update");
    const Value wanted = typed_object(*exchange, decode_body(exchange->request));
    Edit edit;
    edit.subresource = "finalize";
    edit.change = [finalizers = wanted["spec"]["finalizers"]](Value& ns) {
        if (finalizers.empty()) {
            ns.at("spec").erase("finalizers");
        } else {
            ns.at("spec").set("finalizers", finalizers);
        }
    };
    edit.answer = [&context, exchange](const Committed& committed) {
        guarded(exchange, [&context, exchange, committed] {
            send_object(context, *exchange, 200, *committed.object, committed.bytes);
        });
    };
    edit_object(context, exchange, edit);
}

bool has_container(const Value& spec, std::string_view name) {
    for (const char* list : {"containers", "initContainers", "ephemeralContainers"}) {
        for (const Value& container : spec[list].items()) {
            if (container["name"].text_or("") == name) return true;
        }
    }
    return false;
}

/// log, exec, attach, portforward: the node answers.
void serve_stream(Context& context, const ExchangePtr& exchange) {
    const Newest pod = present(context, *exchange);
    const Route& route = exchange->route;
    const std::string container(exchange->request.query_value("container"));
    if (route.subresource != "portforward" && !container.empty() &&
        !has_container(pod.object["spec"], container)) {
        throw bad_request("container " + container + " is not valid for pod " + route.name);
    }
    if (pod.object["spec"]["nodeName"].text_or("").empty()) {
        throw bad_request("pod " + route.name + " does not have a host assigned");
    }
    if (context.node == nullptr) throw unavailable("no node agent is connected to this server");
    if (route.subresource == "log") {
        context.node->logs(exchange->request, route.ns, route.name, exchange->responder);
    } else {
        context.node->stream(exchange->request, route.subresource, route.ns, route.name,
                             exchange->responder);
    }
}

bool is_stream(std::string_view subresource) {
    return subresource == "log" || subresource == "exec" || subresource == "attach" ||
           subresource == "portforward";
}

}  // namespace

std::vector<Subresource> subresources_of(const Context& context, const api::Kind& kind,
                                         const std::string& version) {
    std::vector<Subresource> found;
    const auto add = [&](std::string name, std::string group, std::string of_version,
                         std::string of_kind, std::vector<std::string> verbs) {
        found.push_back({std::move(name), std::move(group), std::move(of_version),
                         std::move(of_kind), std::move(verbs)});
    };
    const std::vector<std::string> usual{"get", "patch", "update"};
    if (is_core(kind, "pods")) {
        add("attach", "", "v1", "PodAttachOptions", stream_verbs);
        add("binding", "", "v1", "Binding", {"create"});
        add("eviction", "policy", "v1", "Eviction", {"create"});
        add("exec", "", "v1", "PodExecOptions", stream_verbs);
        add("log", "", "v1", "Pod", {"get"});
        add("portforward", "", "v1", "PodPortForwardOptions", stream_verbs);
        add("proxy", "", "v1", "PodProxyOptions", proxy_verbs);
    }
    if (is_core(kind, "services")) add("proxy", "", "v1", "ServiceProxyOptions", proxy_verbs);
    if (is_core(kind, "namespaces")) add("finalize", "", "v1", "Namespace", {"update"});
    if (is_core(kind, "serviceaccounts")) {
        add("token", "authentication.k8s.io", "v1", "TokenRequest", {"create"});
    }
    if (!kind.scale_spec_path.empty()) add("scale", "autoscaling", "v1", "Scale", usual);
    if (kind.has_status) add("status", kind.group, version, kind.kind, usual);
    for (const auto& [key, answer] : context.answers) {
        if (key.first == kind.resource()) add(key.second, kind.group, version, kind.kind, {"get"});
    }
    return found;
}

void serve_subresource(Context& context, const ExchangePtr& exchange) {
    const api::Kind& kind = *exchange->kind;
    const Route& route = exchange->route;
    const std::string& subresource = route.subresource;
    if (subresource == "proxy" && (is_core(kind, "pods") || is_core(kind, "services"))) {
        connect(context, exchange, serve_proxy);
        return;
    }
    const auto answer = context.answers.find({kind.resource(), subresource});
    if (answer != context.answers.end()) {
        demand(*exchange, "get");
        (void)present(context, *exchange);  // Nothing is said of what is not there.
        answer->second(exchange->request, {kind.resource(), route.ns, route.name},
                       exchange->responder);
        return;
    }
    if (is_core(kind, "pods") && subresource == "log") {
        serve_stream(context, exchange);
    } else if (is_core(kind, "pods") && is_stream(subresource)) {
        authorize_as(context, *exchange, "create");  // A WebSocket begins with a GET.
        check_connection(context, *exchange);
        connect(context, exchange, serve_stream);
    } else if (is_core(kind, "pods") && subresource == "binding") {
        serve_binding(context, exchange);
    } else if (is_core(kind, "pods") && subresource == "eviction") {
        serve_eviction(context, exchange);
    } else if (is_core(kind, "namespaces") && subresource == "finalize") {
        serve_finalize(context, exchange);
    } else if (is_core(kind, "serviceaccounts") && subresource == "token") {
        demand(*exchange, "create");
        serve_token_request(context, exchange);
    } else if (subresource == "scale" && !kind.scale_spec_path.empty()) {
        serve_scale(context, exchange);
    } else if (kind.custom) {
        throw not_found(kind.resource(), route.name);
    } else {
        throw no_such_resource();
    }
}

}  // namespace muster::apiserver
