// control/queue/explain.cpp - explanations of decide as JSON.
#include "control/queue/explain.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "api/guest_kinds.h"
#include "api/kind.h"
#include "base/text.h"
#include "control/queue/fold.h"
#include "control/queue/identifiers.h"
#include "control/queue/integration.h"
#include "control/queue/managed.h"
#include "control/queue/names.h"
#include "control/queue/workload.h"
#include "decide/why.h"
#include "decide/why_text.h"

namespace muster::control::queue {
namespace {

using api::Value;
using decide::Explanation;

const char* word_of(Explanation::Verdict verdict) {
    using Verdict = Explanation::Verdict;
    switch (verdict) {
        case Verdict::unknown:
            return "unknown";
        case Verdict::runs:
            return "runs";
        case Verdict::reserved:
            return "reserved";
        case Verdict::starts_by_itself:
            return "starts_by_itself";
        case Verdict::finished:
            return "finished";
        case Verdict::needs_someone:
            return "needs_someone";
        case Verdict::never:
            return "never";
    }
    return "unknown";
}

Value constraint_of(const decide::Constraint& constraint) {
    const std::string& resource = constraint.resource;
    const auto amount = [&resource](Amount value) { return quantity_text(resource, value); };
    Value made = Value::object();
    made.set("place", constraint.place == decide::Constraint::Place::quota ? "quota" : "nodes");
    const auto set = [&made](const char* field, const std::string& text) {
        if (!text.empty()) made.set(field, text);
    };
    set("queue", constraint.queue);
    set("flavor", constraint.flavor);
    set("node", constraint.node);
    set("podSet", constraint.pod_set);
    made.set("resource", resource);
    made.set("needed", amount(constraint.needed));
    made.set("free", amount(constraint.free));
    made.set("capacity", amount(constraint.capacity));
    made.set("shortBy", amount(constraint.short_by));
    Value holders = Value::array();
    for (const decide::Holder& holder : constraint.holders) {
        holders.push(Value::object({{"name", holder.workload}, {"amount", amount(holder.amount)}}));
    }
    made.set("holders", std::move(holders));
    if (constraint.more_holders > 0) made.set("moreHolders", constraint.more_holders);
    return made;
}

const char* action_of(decide::Remedy::Kind kind) {
    using Kind = decide::Remedy::Kind;
    switch (kind) {
        case Kind::none:
            return "";
        case Kind::raise_quota:
            return "raise_quota";
        case Kind::raise_borrowing_limit:
            return "raise_borrowing_limit";
        case Kind::cover_resource:
            return "cover_resource";
        case Kind::end_workload:
            return "end_workload";
        case Kind::raise_priority:
            return "raise_priority";
        case Kind::resume_queue:
            return "resume_queue";
        case Kind::activate:
            return "activate";
        case Kind::create_queue:
            return "create_queue";
        case Kind::create_flavor:
            return "create_flavor";
        case Kind::create_topology:
            return "create_topology";
        case Kind::create_check:
            return "create_check";
        case Kind::label_namespace:
            return "label_namespace";
        case Kind::tolerate_taint:
            return "tolerate_taint";
        case Kind::open_gate:
            return "open_gate";
        case Kind::fit_flavor:
            return "fit_flavor";
        case Kind::fewer_pods:
            return "fewer_pods";
        case Kind::ask_less:
            return "ask_less";
        case Kind::add_capacity:
            return "add_capacity";
        case Kind::add_node:
            return "add_node";
    }
    return "";
}

Value remedy_of(const decide::Remedy& remedy) {
    using Kind = decide::Remedy::Kind;
    if (remedy.kind == Kind::none) return {};
    Value made =
        Value::object({{"action", action_of(remedy.kind)}, {"text", decide::change_text(remedy)}});
    if (remedy.kind == Kind::raise_priority) made.set("priority", remedy.priority);
    if (!remedy.resource.empty()) made.set("amount", quantity_text(remedy.resource, remedy.amount));
    if (remedy.kind == Kind::fewer_pods) made.set("pods", remedy.amount.value);
    return made;
}

Value plain_answer(const char* verdict, std::string text) {
    return Value::object({{"verdict", verdict},
                          {"lines", Value::array({Value(text)})},
                          {"text", std::move(text)},
                          {"constraints", Value::array()},
                          {"startsByItself", false},
                          {"suggestion", nullptr}});
}

Value to_value(const Explanation& explanation) {
    Value made = Value::object();
    made.set("verdict", word_of(explanation.verdict));
    made.set("text", decide::sentence(explanation));
    Value lines = Value::array();
    for (std::string& line : decide::lines(explanation))
        lines.push(std::move(line));
    made.set("lines", std::move(lines));
    Value constraints = Value::array();
    for (const decide::Constraint& constraint : explanation.constraints)
        constraints.push(constraint_of(constraint));
    made.set("constraints", std::move(constraints));
    made.set("startsByItself", explanation.verdict == Explanation::Verdict::starts_by_itself);
    made.set("suggestion", remedy_of(explanation.remedy));
    if (explanation.reason && explanation.remedy.kind == decide::Remedy::Kind::none)
        made.set("changesTried", explanation.changes_tried);
    if (explanation.position > 0) made.set("position", explanation.position);
    if (explanation.waiting > 0) made.set("waiting", explanation.waiting);
    if (explanation.starts_at) made.set("startsAt", to_rfc3339(*explanation.starts_at));
    if (explanation.reason) made.set("reason", decide::condition_reason(*explanation.reason));
    return made;
}

std::string title(const kube::Object& object) {
    return to_lower(object.value["kind"].text()) + " " + object.key.ns + "/" + object.key.name;
}

/// The id under which it, or the job that it is a part of, waits.
std::optional<std::string> find_id(const QueuePlanner& planner, const kube::Cache& seen,
                                   const kube::Object& object) {
    if (const auto id = planner.id_of(object.key)) return id;
    for (const kube::ObjectPtr& workload : seen.owned_by(workloads, object.uid)) {
        if (is_finished(workload->value)) continue;
        if (const auto id = planner.id_of(workload->key)) return id;
    }
    if (const std::string group(group_of(object)); !group.empty()) {
        if (const auto id = planner.id_of({workloads, object.key.ns, group})) return id;
    }
    const Value& owner = controller_of(object.value);
    const auto version = api::parse_group_version(owner["apiVersion"].text_or(""));
    const api::Kind* kind = api::find_known_kind_named(version.group, owner["kind"].text_or(""));
    if (kind == nullptr || !kind->namespaced) return std::nullopt;
    const auto parent = seen.find({kind->resource(), object.key.ns, owner["name"].text()});
    if (parent == nullptr) return std::nullopt;
    return find_id(planner, seen, *parent);
}

bool is_over(const kube::Cache& seen, const kube::Object& object) {
    if (object.key.resource == workloads) return is_finished(object.value);
    const JobKind* kind = find_job_kind(object.key.resource);
    if (kind != nullptr && end_of(*kind, object.value)) return true;
    if (const std::string group(group_of(object)); !group.empty()) {
        const auto workload = seen.find({workloads, object.key.ns, group});
        if (workload != nullptr && is_finished(workload->value)) return true;
    }
    // A slice that was replaced is finished, its job is not.
    const auto all = seen.owned_by(workloads, object.uid);
    return !all.empty() && std::all_of(all.begin(), all.end(), [](const kube::ObjectPtr& each) {
        return is_finished(each->value);
    });
}

/// The first line of what is said, without what would have followed it.
std::string first_line(std::string text) {
    text.resize(std::min(text.find('\n'), text.size()));
    while (text.ends_with('.') || text.ends_with(':') || text.ends_with(' '))
        text.pop_back();
    return text;
}

/// What an AppWrapper says last of itself: its state has no message of its own.
std::string last_message(const Value& status) {
    std::string said;
    for (const Value& condition : status["conditions"].items()) {
        if (!condition["message"].text_or("").empty()) said = condition["message"].text();
    }
    return said;
}

/// How what is over has ended.
std::string end_text(const kube::Object& object) {
    const JobKind* kind = find_job_kind(object.key.resource);
    const auto end = kind != nullptr ? end_of(*kind, object.value) : std::nullopt;
    if (!end || end->success == EndRule::Success::yes) return " is finished.";
    const std::string said = first_line(is_app_wrapper(object.key.resource) && end->message.empty()
                                            ? last_message(object.value["status"])
                                            : end->message);
    return " has failed" + (said.empty() ? "" : ": " + said) + ".";
}

/// Why a controller refuses the object as it is; empty when it does not.
std::string fault_text(const Value& status) {
    if (status["jobDeploymentStatus"].text_or("") == "ValidationFailed")
        return status["message"].text();
    return status["state"].text_or("") == "failed" ? status["reason"].text() : std::string();
}

/// Its Workload when that has quota and waits for its admission checks; else null.
kube::ObjectPtr checked_workload(const QueuePlanner& planner, const kube::Cache& seen,
                                 const std::string& id) {
    const api::Key* key = planner.key_of(id);
    auto workload = key != nullptr && key->resource == workloads ? seen.find(*key) : nullptr;
    if (workload == nullptr || !has_admission(workload->value) || is_admitted(workload->value) ||
        is_evicted(workload->value)) {
        return nullptr;
    }
    return workload;
}

std::string checks_text(const kube::Object& workload) {
    std::vector<std::string> parts;
    for (const Value& check : workload.value["status"]["admissionChecks"].items()) {
        if (check["state"].text_or("") == "Ready") continue;
        const std::string message = check["message"].text();
        parts.push_back(check["name"].text() + " is " + check["state"].text() +
                        (message.empty() ? "" : " (" + message + ")"));
    }
    return join(parts, ", ") + ".";
}

}  // namespace

std::vector<api::GroupResource> explainable() {
    std::vector<api::GroupResource> resources{workloads};
    for (const JobKind& kind : job_kinds())
        resources.push_back(kind.resource);
    return resources;
}

Value explain(const QueuePlanner& planner, const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr object = seen.find(key);
    if (object == nullptr) return {};
    if (is_over(seen, *object)) return plain_answer("finished", title(*object) + end_text(*object));
    if (const std::string fault = fault_text(object->value["status"]); !fault.empty()) {
        return plain_answer("invalid", title(*object) + " is not valid: " + first_line(fault) +
                                           "; it goes on when that is corrected.");
    }
    const auto id = find_id(planner, seen, *object);
    if (id) {
        if (const auto workload = checked_workload(planner, seen, *id))
            return plain_answer("reserved", *id + " has its quota and starts when its admission " +
                                                "checks are ready: " + checks_text(*workload));
        Value answer = to_value(decide::why(planner.state(), *id, now));
        // In the words of a Workload's condition, also for what has none.
        if (const auto told = decide::wait_reason(planner.state(), *id))
            answer.set("message", decide::condition_message(*told));
        return answer;
    }
    if (is_on_hold(object->value))
        return plain_answer("on_hold", title(*object) + " is scaled to nothing, and so on hold.");
    if (key.resource == deployments && !object->label(queue_name_label).empty()) {
        return plain_answer("by_pods",
                            title(*object) + " queues pod by pod: ask why of one of its pods.");
    }
    const bool has_queue = !object->label(queue_name_label).empty();
    if (key.resource != workloads && !has_queue) {
        return plain_answer("unmanaged", title(*object) +
                                             " has no queue (label kueue.x-k8s.io/queue-name): no "
                                             "quota holds it back.");
    }
    return plain_answer("unknown",
                        title(*object) + (has_queue ? " has no Workload yet; its events say why."
                                                    : " names no queue, so nothing admits it."));
}

}  // namespace muster::control::queue
