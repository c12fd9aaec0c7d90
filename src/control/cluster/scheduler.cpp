// control/cluster/scheduler.cpp - what is seen of pods and nodes becomes seats, seats become
// bindings, refusals become conditions.
#include "control/cluster/scheduler.h"

#include <utility>

#include "base/verify.h"
#include "control/cluster/resources.h"
#include "control/conditions.h"
#include "control/fold_pod.h"

namespace muster::control::cluster {
namespace {

constexpr std::string_view scheduler_name = "default-scheduler";

std::string full_name(const api::Key& key) {
    return key.ns + "/" + key.name;
}

api::Key pod_key(const std::string& full_name) {
    const std::size_t slash = full_name.find('/');
    return {pods, full_name.substr(0, slash), full_name.substr(slash + 1)};
}

std::string_view node_of(const kube::Object& pod) {
    return pod.value["spec"]["nodeName"].text_or("");
}

bool is_ours(const kube::Object& pod) {
    return pod.value["spec"]["schedulerName"].text_or(scheduler_name) == scheduler_name;
}

bool wants_neighbours(const decide::PodShape& shape) {
    return !shape.affinity.empty();
}

/// What a pod asks for that placement would have to ignore; empty when nothing.
std::string not_obeyed(const api::Value& spec) {
    for (const api::Value& spread : spec["topologySpreadConstraints"].items()) {
        if (spread["whenUnsatisfiable"].text_or("DoNotSchedule") == "DoNotSchedule") {
            return "spec.topologySpreadConstraints with whenUnsatisfiable DoNotSchedule is not "
                   "obeyed by this version of Muster: remove it, or set ScheduleAnyway";
        }
    }
    if (!spec["resourceClaims"].empty()) {
        return "spec.resourceClaims are not served by this version of Muster: ask for devices as "
               "extended resources";
    }
    return {};
}

/// The status write that says why a pod has no node; absent when the pod says so already.
std::optional<Write> tell_unscheduled(const kube::Object& pod, const std::string& reason,
                                      const std::string& message, Time now) {
    api::Value conditions = pod.value["status"]["conditions"];
    if (!set_condition(conditions, {"PodScheduled", "False", reason, message}, now))
        return std::nullopt;
    Write write;
    write.verb = Write::Verb::merge_patch;
    write.key = pod.key;
    write.api_version = "v1";
    write.subresource = "status";
    write.version = pod.version;
    write.body.at("status").set("conditions", std::move(conditions));
    return write;
}

}  // namespace

std::vector<std::pair<api::GroupResource, std::string>> Scheduler::watches() const {
    return {{pods, "v1"}, {nodes, "v1"}, {namespaces, "v1"}};
}

void Scheduler::observe(const kube::Object* before, const kube::Object* after) {
    const api::Key& key = (after != nullptr ? after : before)->key;
    if (key.resource == pods) {
        observe_pod(before, after);
    } else if (key.resource == namespaces) {
        if (is_chosen_otherwise(before, after)) read_namespaces_again();
    } else if (key.resource == nodes) {
        if (after == nullptr) {
            nodes_.erase(key.name);
            try_all_again();  // The counts in the refusals are other ones now.
            return;
        }
        decide::Node node = fold_node(*after);
        decide::Node& held = nodes_[key.name];
        if (held == node) return;
        held = std::move(node);
        try_all_again();
    }
}

void Scheduler::observe_pod(const kube::Object* before, const kube::Object* after) {
    const api::Key& key = (after != nullptr ? after : before)->key;
    const std::string name = full_name(key);
    if (after == nullptr || is_finished_pod(*after)) {
        unseat(name);
        waiting_.erase(name);
        assumed_.erase(name);
        return;
    }
    const std::string node(node_of(*after));
    if (node.empty()) {
        wait_for_seat(*after);
        return;
    }
    waiting_.erase(name);
    const auto assumed = assumed_.find(name);
    if (assumed != assumed_.end()) {
        if (assumed->second.first == node) bound_.push_back({key, node});
        assumed_.erase(assumed);
    }
    const auto held = seat_of_.find(name);
    if (held != seat_of_.end()) {
        const bool same =
            seated_[held->second].node == node && before != nullptr &&
            before->value["metadata"]["labels"] == after->value["metadata"]["labels"] &&
            before->value["metadata"]["generation"] == after->value["metadata"]["generation"];
        if (same) return;
    }
    unfolded_[name] = key;
}

void Scheduler::wait_for_seat(const kube::Object& pod) {
    const std::string name = full_name(pod.key);
    if (pod.is_terminating() || !is_ours(pod)) {
        waiting_.erase(name);
        return;
    }
    if (assumed_.contains(name)) return;
    Waiting& waiting = waiting_[name];
    const api::Value& labels = pod.value["metadata"]["labels"];
    const api::Value& gates = pod.value["spec"]["schedulingGates"];
    if (waiting.uid == pod.uid && waiting.labels == labels && waiting.gates == gates) return;
    waiting = Waiting{pod.uid, labels, gates};
}

void Scheduler::seat(decide::SeatedPod pod) {
    if (!pod.shape.labels.empty()) {
        for (auto& [name, waiting] : waiting_) {
            if (waiting.folded && wants_neighbours(waiting.folded->shape)) waiting.tried = false;
        }
    }
    const auto [held, added] = seat_of_.emplace(pod.name, seated_.size());
    if (added) {
        seated_.push_back(std::move(pod));
    } else {
        seated_[held->second] = std::move(pod);
    }
}

void Scheduler::unseat(const std::string& name) {
    unfolded_.erase(name);
    const auto held = seat_of_.find(name);
    if (held == seat_of_.end()) return;
    const std::size_t index = held->second;
    seat_of_.erase(held);
    if (index + 1 != seated_.size()) {
        seated_[index] = std::move(seated_.back());
        seat_of_[seated_[index].name] = index;
    }
    seated_.pop_back();
    try_all_again();
}

// Whom a pod wants to be with or without may be said by labels of namespaces.
void Scheduler::read_namespaces_again() {
    for (auto& [name, waiting] : waiting_) {
        if (!waiting.selects_namespaces) continue;
        waiting.folded.reset();
        waiting.tried = false;
    }
}

void Scheduler::try_all_again() {
    for (auto& [name, waiting] : waiting_)
        waiting.tried = false;
}

void Scheduler::failed(const Write& write) {
    const std::string name = full_name(write.key);
    if (write.subresource != "binding") {
        const auto waiting = waiting_.find(name);
        if (waiting == waiting_.end()) return;
        waiting->second.tried = false;
        waiting->second.gate_told = false;
        waiting->second.told.clear();
        return;
    }
    if (assumed_.contains(name)) unsure_.insert(write.key);
}

void Scheduler::looked(const api::Key& key, const kube::Object* found) {
    const std::string name = full_name(key);
    const auto assumed = assumed_.find(name);
    if (assumed == assumed_.end()) return;                     // Seen bound, or gone, meanwhile.
    if (found != nullptr && !node_of(*found).empty()) return;  // It will be seen bound.
    Waiting waiting = std::move(assumed->second.second);
    assumed_.erase(assumed);
    unseat(name);
    if (found == nullptr) return;
    waiting.uid = found->uid;
    waiting.labels = found->value["metadata"]["labels"];
    waiting.gates = found->value["spec"]["schedulingGates"];
    waiting.tried = false;
    waiting.folded.reset();  // Its labels may have changed while it was assumed.
    waiting_.emplace(name, std::move(waiting));
}

Reconciled Scheduler::plan(const kube::Cache& seen, Time now) {
    Reconciled result;
    if (!seen.synced()) return result;
    for (const api::Key& key : std::exchange(unsure_, {}))
        result.looks.push_back(key);
    for (const Bound& bound : std::exchange(bound_, {})) {
        result.events.push_back(
            {bound.pod, "Normal", "Scheduled",
             "Successfully assigned " + full_name(bound.pod) + " to " + bound.node, "Binding"});
    }
    fold_new(seen);
    tell_gates(seen, now, result);
    std::vector<decide::PodToPlace> to_place;
    for (auto& [name, waiting] : waiting_) {
        if (waiting.tried || !waiting.gates.empty() || !waiting.folded) continue;
        waiting.tried = true;
        const kube::ObjectPtr pod = seen.find(pod_key(name));
        const std::string problem = pod == nullptr ? "" : not_obeyed(pod->value["spec"]);
        if (problem.empty()) {
            to_place.push_back(*waiting.folded);
        } else if (auto write = tell_unscheduled(*pod, "Unschedulable", problem, now)) {
            result.writes.push_back(std::move(*write));
            result.events.push_back(
                {pod->key, "Warning", "FailedScheduling", problem, "Scheduling"});
        }
    }
    if (to_place.empty()) return result;
    std::vector<decide::Node> open;
    for (const auto& [name, node] : nodes_)
        open.push_back(node);
    for (const decide::Seat& seat : decide::place(to_place, open, seated_)) {
        if (seat.node) {
            take_seat(seat, result);
        } else {
            tell_refusal(seat, seen, now, result);
        }
    }
    return result;
}

void Scheduler::fold_new(const kube::Cache& seen) {
    for (const auto& [name, key] : std::exchange(unfolded_, {})) {
        const kube::ObjectPtr pod = seen.find(key);
        if (pod == nullptr) continue;
        seat({name, std::string(node_of(*pod)),
              fold_pod_shape(key.ns, pod->value["metadata"]["labels"], pod->value["spec"], seen)});
    }
    for (auto& [name, waiting] : waiting_) {
        if (waiting.folded) continue;
        const kube::ObjectPtr pod = seen.find(pod_key(name));
        if (pod == nullptr) continue;
        const api::Value& metadata = pod->value["metadata"];
        const api::Value& spec = pod->value["spec"];
        decide::PodToPlace folded;
        folded.name = name;
        folded.shape = fold_pod_shape(pod->key.ns, metadata["labels"], spec, seen);
        folded.priority = spec["priority"].integer_or(0);
        folded.created = fold_time(metadata["creationTimestamp"]);
        waiting.folded = std::move(folded);
        waiting.selects_namespaces = selects_namespaces(spec);
    }
}

void Scheduler::tell_gates(const kube::Cache& seen, Time now, Reconciled& result) {
    for (auto& [name, waiting] : waiting_) {
        if (waiting.gates.empty() || std::exchange(waiting.gate_told, true)) continue;
        const kube::ObjectPtr pod = seen.find(pod_key(name));
        if (pod == nullptr) continue;
        if (auto write =
                tell_unscheduled(*pod, "SchedulingGated",
                                 "Scheduling is blocked due to non-empty scheduling gates", now)) {
            result.writes.push_back(std::move(*write));
        }
    }
}

void Scheduler::take_seat(const decide::Seat& seat, Reconciled& result) {
    auto waiting = waiting_.extract(seat.pod);
    VERIFY(!waiting.empty());
    const api::Key key = pod_key(seat.pod);
    this->seat({seat.pod, *seat.node, waiting.mapped().folded->shape});
    Write write;
    write.verb = Write::Verb::create;
    write.key = key;
    write.api_version = "v1";
    write.subresource = "binding";
    write.body = api::Value::object(
        {{"apiVersion", "v1"},
         {"kind", "Binding"},
         {"metadata",
          api::Value::object(
              {{"name", key.name}, {"namespace", key.ns}, {"uid", waiting.mapped().uid}})},
         {"target",
          api::Value::object({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", *seat.node}})}});
    result.writes.push_back(std::move(write));
    assumed_[seat.pod] = {*seat.node, std::move(waiting.mapped())};
}

void Scheduler::tell_refusal(const decide::Seat& seat, const kube::Cache& seen, Time now,
                             Reconciled& result) {
    const kube::ObjectPtr pod = seen.find(pod_key(seat.pod));
    if (pod == nullptr) return;
    const std::string message =
        nodes_.empty() ? "no nodes available to schedule pods" : decide::refusal_text(seat);
    const auto waiting = waiting_.find(seat.pod);
    VERIFY(waiting != waiting_.end());
    // On its way already: sent once more it would meet its own first write.
    if (waiting->second.told == message && waiting->second.told_at == pod->version) return;
    auto write = tell_unscheduled(*pod, "Unschedulable", message, now);
    if (!write) return;
    waiting->second.told = message;
    waiting->second.told_at = pod->version;
    result.writes.push_back(std::move(*write));
    result.events.push_back({pod->key, "Warning", "FailedScheduling", message, "Scheduling"});
}

}  // namespace muster::control::cluster
