// sim/scenario_write.cpp - what a scenario says, written as objects through the server.
#include <algorithm>
#include <utility>

#include "api/json.h"
#include "base/text.h"
#include "control/appwrapper/status.h"
#include "control/conditions.h"
#include "control/queue/configuration.h"
#include "control/queue/fold.h"
#include "control/queue/names.h"
#include "control/queue/workload.h"
#include "control/queue/workload_status.h"
#include "sim/scenario_ground.h"
#include "sim/scenario_objects.h"

namespace muster::sim {
namespace {

using api::Value;

constexpr Duration wrapper_backoff = seconds(20);
const std::string kueue = "/apis/kueue.x-k8s.io/v1beta2/";

std::string in_namespace(const std::string& ns, const char* plural, const std::string& name) {
    return kueue + "namespaces/" + ns + "/" + plural + "/" + name;
}

kube::Object as_object(const api::GroupResource& resource, const Value& value) {
    return *kube::make_object(resource, value);
}

}  // namespace

const SimGround::Submitted& SimGround::submitted(const std::string& id) const {
    const auto found = submitted_.find(id);
    if (found == submitted_.end()) throw Broken{"'" + id + "' was not submitted"};
    return found->second;
}

void SimGround::ensure_namespace(const std::string& ns) {
    if (!world_.get("/api/v1/namespaces/" + ns).is_null()) return;
    world_.create_object(Value::object({{"apiVersion", "v1"},
                                        {"kind", "Namespace"},
                                        {"metadata", Value::object({{"name", ns}})}}));
}

void SimGround::put(const std::string& path, const Value& object) {
    if (world_.get(path).is_null()) return world_.create_object(object);
    world_.change(path, "", [&](Value& there) { there.set("spec", object["spec"]); });
}

/// What each change is in the world. What has no line of its own is refused.
struct SimGround::Writer {
    SimGround& ground;
    Time now;
    using Refusal = std::optional<std::string>;

    template <typename Said>
    Refusal operator()(const Said&) const {
        return "the simulated world has no object for it yet";
    }
    Refusal operator()(const decide::FlavorSet& set) const {
        ground.put(kueue + "resourceflavors/" + set.flavor.name, to_object(set.flavor));
        return std::nullopt;
    }
    Refusal operator()(const decide::QueueSet& set) const {
        const std::string path = kueue + "clusterqueues/" + set.queue.name;
        ground.put(path, to_object(set.queue));
        if (std::find(ground.queues_.begin(), ground.queues_.end(), set.queue.name) ==
            ground.queues_.end())
            ground.queues_.push_back(set.queue.name);
        const Value written = ground.world_.get(path);
        if (control::queue::fold_cluster_queue(
                as_object(control::queue::cluster_queues, written)) == set.queue)
            return std::nullopt;
        return "the object of queue " + set.queue.name + " does not say all that was said";
    }
    Refusal operator()(const decide::LocalQueueSet& set) const {
        ground.ensure_namespace(set.queue.ns);
        ground.put(in_namespace(set.queue.ns, "localqueues", set.queue.name), to_object(set.queue));
        ground.queue_behind_[set.queue.ns + "/" + set.queue.name] = set.queue.cluster_queue;
        return std::nullopt;
    }
    Refusal operator()(const decide::QueueRemoved& removed) const {
        ground.world_.remove(kueue + "clusterqueues/" + removed.name);
        return std::nullopt;
    }
    Refusal operator()(const decide::LocalQueueRemoved& removed) const {
        ground.world_.remove(in_namespace(removed.ns, "localqueues", removed.name));
        return std::nullopt;
    }
    Refusal operator()(const decide::CohortSet& set) const {
        ground.put(kueue + "cohorts/" + set.cohort.name, to_object(set.cohort));
        return std::nullopt;
    }
    Refusal operator()(const decide::CohortRemoved& removed) const {
        ground.world_.remove(kueue + "cohorts/" + removed.name);
        return std::nullopt;
    }
    Refusal operator()(const decide::TopologySet& set) const {
        ground.put(kueue + "topologies/" + set.topology.name, to_object(set.topology));
        return std::nullopt;
    }
    Refusal operator()(const decide::TopologyRemoved& removed) const {
        ground.world_.remove(kueue + "topologies/" + removed.name);
        return std::nullopt;
    }
    Refusal operator()(const decide::AdmissionCheckSet& set) const {
        const std::string path = kueue + "admissionchecks/" + set.check.name;
        ground.put(path, to_object(set.check));
        const bool active = set.check.state == decide::AdmissionCheck::State::active;
        ground.world_.change(path, "status", [&](Value& object) {
            control::set_condition(object.at("status").at("conditions"),
                                   {"Active", active ? "True" : "False", active ? "Active" : "Gone",
                                    "as the scenario says"},
                                   now);
        });
        return std::nullopt;
    }
    Refusal operator()(const decide::AdmissionCheckRemoved& removed) const {
        ground.world_.remove(kueue + "admissionchecks/" + removed.name);
        return std::nullopt;
    }
    Refusal operator()(const decide::FlavorRemoved& removed) const {
        ground.world_.remove(kueue + "resourceflavors/" + removed.name);
        return std::nullopt;
    }
    Refusal operator()(const decide::NamespaceSet& set) const {
        ground.ensure_namespace(set.name);
        const Value metadata = Value::object({{"labels", to_labels(set.labels)}});
        ground.world_.merge("/api/v1/namespaces/" + set.name,
                            api::to_json(Value::object({{"metadata", metadata}})));
        return std::nullopt;
    }
    Refusal operator()(const decide::NodeSet& set) const {
        const NodeSpec node = to_node(set.node);
        if (ground.told_) {
            ground.told_(Value::object({{"node", node.name},
                                        {"amounts", node.amounts},
                                        {"labels", node.labels},
                                        {"spec", node.spec},
                                        {"ready", node.is_ready}}));
        }
        ground.world_.nodes().declare(node);
        return std::nullopt;
    }
    Refusal operator()(const decide::NodeRemoved& removed) const {
        ground.world_.nodes().forget(removed.name);
        ground.world_.remove("/api/v1/nodes/" + removed.name);
        return std::nullopt;
    }
    Refusal operator()(const decide::PodBound& pod) const {
        ground.bind(pod);
        return std::nullopt;
    }
    Refusal operator()(const decide::PodGone& gone) const {
        ground.lose_pod(gone.name);
        return std::nullopt;
    }
    Refusal operator()(const decide::WorkloadSet& set) const {
        const auto known = ground.submitted_.find(set.workload.id);
        if (known == ground.submitted_.end()) return ground.submit(set.workload);
        return ground.alter(known->second, set.workload, now);
    }
    Refusal operator()(const decide::WorkloadRemoved& removed) const {
        ground.world_.remove(ground.submitted(removed.id).path);
        return std::nullopt;
    }
    Refusal operator()(const decide::WorkloadReleased& released) const {
        ground.release(ground.submitted(released.id));
        return std::nullopt;
    }
    Refusal operator()(const decide::WorkloadFinished& finished) const {
        const Submitted& known = ground.submitted(finished.id);
        ground.end(known, [&](Value& object) {
            if (known.wrapped) {
                object.set("status", control::appwrapper::completed(object, {}, now));
                return;
            }
            control::set_condition(object.at("status").at("conditions"),
                                   {"Finished", "True", "Succeeded", "Job finished successfully"},
                                   now);
        });
        return std::nullopt;
    }
    Refusal operator()(const decide::WorkloadEvicted& evicted) const {
        const Submitted& known = ground.submitted(evicted.id);
        ground.end(known, [&](Value& object) {
            if (known.wrapped) {
                object.set("status", control::appwrapper::preempted(object, "MinPodsNotRunning",
                                                                    "as the scenario says", now));
                return;
            }
            control::set_condition(object.at("status").at("conditions"),
                                   {"Evicted", "True", "Preempted", "as the scenario says"}, now);
        });
        return std::nullopt;
    }
    Refusal operator()(const decide::WorkloadAdmitted& admitted) const {
        const Submitted& known = ground.submitted(admitted.id);
        ground.end(known, [&](Value& object) {
            if (known.wrapped) {
                object.set("status", control::appwrapper::can_run(object, now));
                return;
            }
            const auto told = control::queue::tell_admitted(
                as_object(control::queue::workloads, object), admitted.assignment, now);
            object.set("status", told.status);
        });
        return std::nullopt;
    }
    Refusal operator()(const decide::OptionsSet& set) const {
        Value documents = Value::array();
        std::string text;
        for (Value& document : to_configuration(set.options)) {
            text += api::to_json(document) + "\n---\n";
            documents.push(std::move(document));
        }
        const auto read = control::queue::read_configuration(text);
        if (const auto* wrong = std::get_if<control::queue::WrongConfiguration>(&read))
            return "no operator may be told these options: " + wrong->text();
        decide::Options wanted = set.options;
        if (wanted.fair_sharing) wanted.fair_sharing = said_strategies(*wanted.fair_sharing);
        if (std::get<control::queue::Settings>(read).decisions != wanted)
            return "no operator's file says all of these options";
        if (ground.told_) ground.told_(Value::object({{"options", std::move(documents)}}));
        ground.world_.set_options(set.options);
        return std::nullopt;
    }
};

std::optional<std::string> SimGround::take(const decide::Change& change, Time now) {
    catch_up(now);
    changed_ = true;
    try {
        return std::visit(Writer{*this, now}, change);
    } catch (const Broken& broken) {
        return broken.what;
    }
}

std::optional<std::string> SimGround::submit(const decide::Workload& workload) {
    Submitted& made = submitted_[workload.id];
    made.said = workload;
    made.wrapped = workload.binds == decide::Workload::Binds::quota_and_nodes;
    const std::string name = object_name(workload.id);
    ensure_namespace(workload.ns);
    if (made.wrapped) {
        made.path = "/apis/workload.codeflare.dev/v1beta1/namespaces/" + workload.ns +
                    "/appwrappers/" + name;
        if (!workload.local_queue.empty() && workload.priority != 0)
            return "an AppWrapper in a queue has its priority from a class";
        world_.create_object(to_wrapper(workload));
        if (workload.local_queue.empty()) return std::nullopt;
        // Who queues has its turn from then on.
        world_.until("the Workload of " + workload.id + " is there", minutes(5),
                     [&] { return !workload_of(made).is_null(); });
        return std::nullopt;
    }
    made.path = in_namespace(workload.ns, "workloads", name);
    world_.create_object(to_workload(workload));
    const kube::Object written = as_object(control::queue::workloads, world_.get(made.path));
    decide::Workload folded = control::queue::fold_workload(
        written, {workload.id, workload.queued, workload.not_before}, kube::Cache());
    folded.created = workload.created;
    folded.pods_ready = workload.pods_ready;
    for (decide::PodSet& set : folded.pod_sets)
        set.pod.ns.clear();
    if (folded == workload) return std::nullopt;
    return "the object of " + workload.id + " does not say all that was said";
}

/// What a scenario may change of something submitted, one field a verb.
std::optional<std::string> SimGround::alter(Submitted& known, const decide::Workload& workload,
                                            Time now) {
    const decide::Workload before = std::exchange(known.said, workload);
    decide::Workload rest = before;
    rest.activity = workload.activity;
    rest.priority = workload.priority;
    rest.not_before = workload.not_before;
    rest.pods_ready = workload.pods_ready;
    rest.barred_by = workload.barred_by;
    rest.stage = workload.stage;
    if (rest.barrier != decide::Workload::Barrier::failed_checks &&
        workload.barrier != decide::Workload::Barrier::failed_checks)
        rest.barrier = workload.barrier;
    for (std::size_t i = 0; i < rest.pod_sets.size(); ++i)
        rest.pod_sets[i].reclaimable = workload.pod_sets[i].reclaimable;
    if (rest != workload) return "the simulated world cannot change that";
    if (before.not_before != workload.not_before) {
        if (known.wrapped && workload.not_before - now != wrapper_backoff)
            return "an AppWrapper that was sent back waits 20 s";
        if (!known.wrapped) {
            end(known, [&](Value& object) {
                Value& state = object.at("status").at("requeueState");
                state.set("count", state["count"].integer_or(0) + 1);
                state.set("requeueAt", to_rfc3339(workload.not_before));
            });
        }
    }
    if (known.wrapped && (before.activity != workload.activity || rest.pod_sets != before.pod_sets))
        return "an AppWrapper has no such field";
    if (before.pods_ready != workload.pods_ready && !known.wrapped) {
        const bool ready = workload.pods_ready == decide::Workload::PodsReady::yes;
        end(known, [&](Value& object) {
            control::set_condition(object.at("status").at("conditions"),
                                   {"PodsReady", ready ? "True" : "False",
                                    ready ? "Started" : "WaitForRecovery", "as the scenario says"},
                                   now);
        });
    }
    // A change of nothing says that the checks have passed: until they are asked, none is pending.
    if (!known.wrapped && (before.stage != workload.stage || before == workload))
        pass_checks(known, workload.stage, now);
    world_.change(known.path, "", [&](Value& object) {
        if (before.barred_by != workload.barred_by) {
            Value& annotations = object.at("metadata").at("annotations");
            if (workload.barred_by.empty()) {
                annotations.erase(control::queue::admission_gates_annotation);
            } else {
                annotations.set(control::queue::admission_gates_annotation, workload.barred_by);
            }
        }
        if (before.priority != workload.priority)
            object.at("spec").set("priority", workload.priority);
        if (before.activity != workload.activity) {
            object.at("spec").set("active",
                                  workload.activity == decide::Workload::Activity::active);
        }
    });
    if (rest.pod_sets == before.pod_sets) return std::nullopt;
    end(known, [&](Value& object) {
        Value done = Value::array();
        for (const decide::PodSet& set : workload.pod_sets) {
            if (set.reclaimable == 0) continue;
            done.push(Value::object({{"name", set.name}, {"count", set.reclaimable}}));
        }
        object.at("status").set("reclaimablePods", std::move(done));
    });
    return std::nullopt;
}

/// All that it has are ready when it is admitted.
void SimGround::pass_checks(const Submitted& known, decide::Workload::Stage stage, Time now) {
    const bool passed = stage == decide::Workload::Stage::admitted;
    if (world_.get(known.path)["status"]["admissionChecks"].empty()) return;
    end(known, [&](Value& object) {
        for (Value& check : object.at("status").at("admissionChecks").mutable_items()) {
            check.set("state", passed ? "Ready" : "Pending");
            check.set("message", "as the scenario says");
            check.set("lastTransitionTime", to_rfc3339(now));
        }
    });
}

/// Changes the status of its object.
void SimGround::end(const Submitted& known, const std::function<void(Value&)>& status) {
    world_.change(known.path, "status", [&](Value& object) {
        if (!object["status"].is_object()) object.set("status", Value::object());
        status(object);
    });
}

/// Its processes are gone. An AppWrapper's are when its pods are, and no one need say so.
void SimGround::release(const Submitted& known) {
    if (known.wrapped) return;
    const Value object = world_.get(known.path);
    if (object.is_null()) return;
    if (object["metadata"].has("deletionTimestamp")) {
        world_.change(known.path, "", [](Value& there) {
            Value left = Value::array();
            for (const Value& each : there["metadata"]["finalizers"].items()) {
                if (each.text_or("") != process_finalizer) left.push(each);
            }
            there.at("metadata").set("finalizers", std::move(left));
        });
        return;
    }
    end(known, [this](Value& there) {
        if (there["status"]["admission"].is_object())
            control::queue::clear_admission(there.at("status"), world_.now());
    });
}

void SimGround::bind(const decide::PodBound& pod) {
    const auto halves = split_first(pod.name, '/');
    const std::string ns(halves ? halves->before : "default");
    const std::string name(halves ? halves->after : std::string_view(pod.name));
    ensure_namespace(ns);
    Value object = to_pod(pod, ns, name);
    if (!pod.workload.empty()) {
        const Submitted& owner = submitted(pod.workload);
        const std::string owner_name = object_name(owner.said.id);
        if (owner.wrapped) {
            const Value wrapper = world_.get(owner.path);
            object.at("metadata")
                .set("ownerReferences",
                     Value::array({Value::object({{"apiVersion", wrapper["apiVersion"]},
                                                  {"kind", wrapper["kind"]},
                                                  {"name", owner_name},
                                                  {"uid", wrapper["metadata"]["uid"]},
                                                  {"controller", true},
                                                  {"blockOwnerDeletion", true}})}));
        } else {
            object.at("metadata")
                .at("annotations")
                .set(control::queue::workload_annotation, owner_name);
        }
    }
    world_.create_object(object);
    pods_[pod.name] = "/api/v1/namespaces/" + ns + "/pods/" + name;
}

void SimGround::lose_pod(const std::string& name) {
    const auto found = pods_.find(name);
    if (found == pods_.end()) throw Broken{"no pod is called '" + name + "'"};
    world_.remove(found->second);
    world_.merge(found->second, R"({"metadata":{"finalizers":null}})");
    world_.until("pod " + name + " is gone", minutes(5),
                 [&] { return world_.get(found->second).is_null(); });
}

}  // namespace muster::sim
