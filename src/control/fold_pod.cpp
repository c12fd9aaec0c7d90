// control/fold_pod.cpp - the reading of pod specs and nodes into plain values.
#include "control/fold_pod.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/quantity.h"

namespace muster::control {
namespace {

std::string quantity_text(const api::Value& value) {
    if (value.is_integer()) return std::to_string(value.as_integer());
    return value.text();
}

void add(Resources& sum, const Resources& more) {
    for (const auto& [name, amount] : more)
        sum[name] += amount;
}

void raise(Resources& most, const Resources& other) {
    for (const auto& [name, amount] : other)
        most[name] = std::max(most[name], amount);
}

Resources container_requests(const api::Value& resources) {
    Resources requests = fold_resources(resources["limits"]);
    for (const auto& [name, amount] : fold_resources(resources["requests"]))
        requests[name] = amount;
    return requests;
}

decide::Requirement::Op fold_op(std::string_view op) {
    using Op = decide::Requirement::Op;
    if (op == "NotIn") return Op::not_in;
    if (op == "Exists") return Op::exists;
    if (op == "DoesNotExist") return Op::does_not_exist;
    if (op == "Gt") return Op::greater;
    if (op == "Lt") return Op::less;
    return Op::in;
}

std::vector<decide::Requirement> fold_requirements(const api::Value& expressions) {
    std::vector<decide::Requirement> requirements;
    for (const api::Value& expression : expressions.items()) {
        decide::Requirement requirement{
            expression["key"].text(), fold_op(expression["operator"].text_or("")), {}};
        for (const api::Value& value : expression["values"].items())
            requirement.values.push_back(value.text());
        requirements.push_back(std::move(requirement));
    }
    return requirements;
}

decide::Labels fold_labels(const api::Value& labels) {
    decide::Labels folded;
    for (const auto& [key, value] : labels.members())
        folded[key] = value.text();
    return folded;
}

std::vector<decide::NodeTerm> fold_node_affinity(const api::Value& affinity) {
    std::vector<decide::NodeTerm> terms;
    const api::Value& required =
        affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    for (const api::Value& term : required["nodeSelectorTerms"].items()) {
        terms.push_back(
            {fold_requirements(term["matchExpressions"]), fold_requirements(term["matchFields"])});
    }
    return terms;
}

std::vector<decide::PodTerm> fold_pod_terms(const api::Value& affinity, const kube::Cache& seen) {
    std::vector<decide::PodTerm> terms;
    for (const api::Value& term :
         affinity["requiredDuringSchedulingIgnoredDuringExecution"].items()) {
        decide::PodTerm folded;
        folded.selector = fold_selector(term["labelSelector"]);
        folded.topology_key = term["topologyKey"].text();
        for (const api::Value& ns : term["namespaces"].items())
            folded.namespaces.push_back(ns.text());
        if (term["namespaceSelector"].is_object()) {
            const decide::Selector selector = fold_selector(term["namespaceSelector"]);
            for (const kube::ObjectPtr& ns : seen.list({"", "namespaces"})) {
                if (matches(selector, fold_labels(ns->value["metadata"]["labels"])))
                    folded.namespaces.push_back(ns->key.name);
            }
            // No namespace matches: name none that can exist, for an empty list means the own one.
            if (folded.namespaces.empty()) folded.namespaces.emplace_back("/");
        }
        terms.push_back(std::move(folded));
    }
    return terms;
}

std::vector<decide::HostPort> fold_host_ports(const api::Value& pod_spec) {
    std::vector<decide::HostPort> ports;
    for (const api::Value& container : pod_spec["containers"].items()) {
        for (const api::Value& port : container["ports"].items()) {
            const std::int64_t number = port["hostPort"].integer_or(0);
            if (number == 0) continue;
            ports.push_back(
                {number, std::string(port["protocol"].text_or("TCP")), port["hostIP"].text()});
        }
    }
    return ports;
}

}  // namespace

Amount fold_amount(std::string_view resource, const api::Value& quantity) {
    const auto parsed = Quantity::parse(quantity_text(quantity));
    if (!parsed) return {};
    return {resource == "cpu" ? parsed->milli() : parsed->units()};
}

Resources fold_resources(const api::Value& quantities) {
    Resources resources;
    for (const auto& [name, quantity] : quantities.members())
        resources[name] = fold_amount(name, quantity);
    return resources;
}

Resources effective_requests(const api::Value& pod_spec) {
    Resources running;
    for (const api::Value& container : pod_spec["containers"].items())
        add(running, container_requests(container["resources"]));
    Resources sidecars;
    Resources starting;
    for (const api::Value& container : pod_spec["initContainers"].items()) {
        const Resources own = container_requests(container["resources"]);
        if (container["restartPolicy"].text_or("") == "Always") {
            add(sidecars, own);
            raise(starting, sidecars);
        } else {
            Resources with_sidecars = own;
            add(with_sidecars, sidecars);
            raise(starting, with_sidecars);
        }
    }
    add(running, sidecars);
    raise(running, starting);
    // Of what containers ask for nothing, limits of the whole pod stand in for its requests.
    for (const auto& [name, amount] : fold_resources(pod_spec["resources"]["limits"])) {
        if (name.starts_with("hugepages-")) {
            running[name] = amount;
        } else {
            running.try_emplace(name, amount);
        }
    }
    for (const auto& [name, amount] : fold_resources(pod_spec["resources"]["requests"]))
        running[name] = amount;
    add(running, fold_resources(pod_spec["overhead"]));
    return running;
}

decide::Selector fold_selector(const api::Value& selector) {
    return {fold_labels(selector["matchLabels"]), fold_requirements(selector["matchExpressions"])};
}

decide::Toleration fold_toleration(const api::Value& toleration) {
    using Effect = decide::Toleration::Effect;
    decide::Toleration folded;
    folded.key = toleration["key"].text();
    folded.value = toleration["value"].text();
    if (toleration["operator"].text_or("") == "Exists") folded.op = decide::Toleration::Op::exists;
    const std::string_view effect = toleration["effect"].text_or("");
    if (effect == "NoSchedule") folded.effect = Effect::no_schedule;
    if (effect == "PreferNoSchedule") folded.effect = Effect::prefer_no_schedule;
    if (effect == "NoExecute") folded.effect = Effect::no_execute;
    return folded;
}

std::optional<decide::Taint> fold_taint(const api::Value& taint) {
    using Effect = decide::Taint::Effect;
    decide::Taint folded{taint["key"].text(), taint["value"].text(), Effect::no_schedule};
    const std::string_view effect = taint["effect"].text_or("");
    if (effect == "PreferNoSchedule") {
        folded.effect = Effect::prefer_no_schedule;
    } else if (effect == "NoExecute") {
        folded.effect = Effect::no_execute;
    } else if (effect != "NoSchedule") {
        return std::nullopt;
    }
    return folded;
}

decide::PodShape fold_pod_shape(std::string_view ns, const api::Value& labels,
                                const api::Value& pod_spec, const kube::Cache& seen) {
    decide::PodShape shape;
    shape.ns = ns;
    shape.labels = fold_labels(labels);
    shape.requests = effective_requests(pod_spec);
    shape.node_selector = fold_labels(pod_spec["nodeSelector"]);
    shape.node_affinity = fold_node_affinity(pod_spec["affinity"]);
    for (const api::Value& toleration : pod_spec["tolerations"].items())
        shape.tolerations.push_back(fold_toleration(toleration));
    shape.affinity = fold_pod_terms(pod_spec["affinity"]["podAffinity"], seen);
    shape.anti_affinity = fold_pod_terms(pod_spec["affinity"]["podAntiAffinity"], seen);
    shape.host_ports = fold_host_ports(pod_spec);
    return shape;
}

bool selects_namespaces(const api::Value& pod_spec) {
    for (const char* affinity : {"podAffinity", "podAntiAffinity"}) {
        const api::Value& terms =
            pod_spec["affinity"][affinity]["requiredDuringSchedulingIgnoredDuringExecution"];
        for (const api::Value& term : terms.items()) {
            if (term["namespaceSelector"].is_object()) return true;
        }
    }
    return false;
}

bool is_chosen_otherwise(const kube::Object* before, const kube::Object* after) {
    return before == nullptr || after == nullptr ||
           !(before->value["metadata"]["labels"] == after->value["metadata"]["labels"]);
}

decide::Node fold_node(const kube::Object& node) {
    decide::Node folded;
    folded.name = node.key.name;
    folded.labels = fold_labels(node.value["metadata"]["labels"]);
    const api::Value& spec = node.value["spec"];
    for (const api::Value& taint : spec["taints"].items()) {
        if (auto known = fold_taint(taint)) folded.taints.push_back(std::move(*known));
    }
    if (spec["unschedulable"].boolean_or(false)) {
        folded.scheduling = decide::Node::Scheduling::cordoned;
    }
    const api::Value& status = node.value["status"];
    if (condition_of(status, "Ready")["status"].text_or("") != "True") {
        folded.condition = decide::Node::Condition::not_ready;
    }
    folded.allocatable =
        fold_resources(status.has("allocatable") ? status["allocatable"] : status["capacity"]);
    return folded;
}

bool is_finished_pod(const kube::Object& pod) {
    const std::string_view phase = pod.value["status"]["phase"].text_or("");
    return phase == "Succeeded" || phase == "Failed";
}

bool is_ready_pod(const kube::Object& pod) {
    return condition_of(pod.value["status"], "Ready")["status"].text_or("") == "True";
}

Time fold_time(const api::Value& time) {
    return parse_rfc3339(time.text_or("")).value_or(Time{});
}

}  // namespace muster::control
