// control/cluster/small_cluster.h - for tests: a server that fits in a cache, with versions,
// finalizers and graceful deletion, and the verbs to tell a story with.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/json.h"
#include "api/patch.h"
#include "api/yaml.h"
#include "base/time.h"
#include "base/verify.h"
#include "control/controller.h"
#include "kube/cache.h"

namespace muster::control::cluster {

/// Takes writes as the API server does and shows them at once. Planners that follow are told of
/// every change. Pods with a node end gracefully: they stay, terminating, until `end_pod`.
class SmallCluster {
public:
    kube::Cache seen;
    Time now{1'700'000'000'000'000'000};
    std::vector<Event> events;
    std::vector<Planner*> followers;

    SmallCluster() { seen.set_synced(); }

    /// Creates or replaces an object from YAML or JSON.
    kube::ObjectPtr put(const api::GroupResource& resource, std::string_view text) {
        auto parsed = api::parse_yaml(text);
        VERIFY(std::holds_alternative<std::vector<api::Parsed>>(parsed));
        return store(resource, std::get<std::vector<api::Parsed>>(parsed).at(0).value);
    }

    kube::ObjectPtr find(const api::GroupResource& resource, const std::string& ns,
                         const std::string& name) const {
        return seen.find({resource, ns, name});
    }

    /// Merges JSON or YAML into the object.
    void patch(const kube::ObjectPtr& object, std::string_view text) {
        auto parsed = api::parse_yaml(text);
        VERIFY(std::holds_alternative<std::vector<api::Parsed>>(parsed));
        merge(object->key, std::get<std::vector<api::Parsed>>(parsed).at(0).value);
    }

    /// The pod's processes are gone: phase and, if it was being deleted, the end of the pod.
    void end_pod(const kube::ObjectPtr& pod, const std::string& phase) {
        patch(pod, "{status: {phase: " + phase + ", containerStatuses: [{name: main, state: " +
                       "{terminated: {exitCode: " + (phase == "Failed" ? "1" : "0") +
                       ", finishedAt: '" + to_rfc3339(now) + "'}}}]}}");
        const kube::ObjectPtr after = seen.find(pod->key);
        if (after == nullptr || !after->is_terminating()) return;
        ended_.insert({after->key, after->uid});
        remove_if_free(after->key);
    }

    /// Deletes as a user would.
    void remove(const api::Key& key, const std::string& propagation = "") {
        Write write;
        write.verb = Write::Verb::remove;
        write.key = key;
        write.propagation = propagation;
        take(write);
    }

    /// Carries out writes in order. Stops at the first that fails, or when `most` are done (a crash
    /// between two writes). True when all were taken.
    bool carry_out(const Reconciled& result, std::size_t most = 100'000) {
        for (std::size_t i = 0; i < result.writes.size(); ++i) {
            if (i == most || !take(result.writes[i])) return false;
        }
        events.insert(events.end(), result.events.begin(), result.events.end());
        return true;
    }

    /// Plans and carries out until the planner wants nothing more.
    void rest(Planner& planner) {
        for (int round = 0; round < 50; ++round) {
            const Reconciled result = planner.plan(seen, now);
            for (const Write& write : result.writes) {
                if (!take(write)) planner.failed(write);
            }
            for (const api::Key& key : result.looks)
                planner.looked(key, seen.find(key).get());
            events.insert(events.end(), result.events.begin(), result.events.end());
            if (result.writes.empty() && result.looks.empty()) return;
        }
        VERIFY(!"the planner comes to rest");
    }

    bool has_event(std::string_view reason) const {
        return std::any_of(events.begin(), events.end(),
                           [&](const Event& event) { return event.reason == reason; });
    }

    kube::ObjectPtr store(const api::GroupResource& resource, api::Value value) {
        api::Value& metadata = value.at("metadata");
        metadata.set("resourceVersion", std::to_string(++version_));
        if (!metadata.has("uid")) metadata.set("uid", "uid-" + std::to_string(version_));
        if (!metadata.has("creationTimestamp")) metadata.set("creationTimestamp", to_rfc3339(now));
        kube::ObjectPtr after = kube::make_object(resource, std::move(value));
        const kube::ObjectPtr before = seen.find(after->key);
        seen.put(after);
        tell(before.get(), after.get());
        return after;
    }

    void erase(const api::Key& key) {
        const kube::ObjectPtr before = seen.find(key);
        if (before == nullptr) return;
        seen.remove(key);
        tell(before.get(), nullptr);
    }

    bool take(const Write& write) {
        using Verb = Write::Verb;
        const kube::ObjectPtr held = seen.find(write.key);
        switch (write.verb) {
            case Verb::create:
                return write.subresource == "binding" ? bind(held, write) : create(held, write);
            case Verb::update:
                return update(held, write);
            case Verb::merge_patch:
                if (held == nullptr) return true;
                if (write.version != 0 && write.version != held->version) return false;
                merge(write.key, write.body);
                return true;
            case Verb::apply:
                return false;
            case Verb::remove:
                if (held != nullptr && (write.uid.empty() || write.uid == held->uid))
                    remove_object(*held, write);
                return true;
            case Verb::remove_all:
                for (const kube::ObjectPtr& object : seen.list(write.key.resource, write.key.ns))
                    remove_object(*object, write);
                return true;
            case Verb::demand_none:
                return seen.list(write.key.resource, write.key.ns).empty();
        }
        return false;
    }

private:
    void tell(const kube::Object* before, const kube::Object* after) {
        for (Planner* planner : followers) {
            if (before != nullptr && after != nullptr && before->uid != after->uid) {
                planner->observe(before, nullptr);
                planner->observe(nullptr, after);
            } else {
                planner->observe(before, after);
            }
        }
    }

    bool create(const kube::ObjectPtr& held, const Write& write) {
        if (held != nullptr) {
            // As the runner's writer: an own one that is there already is a success.
            return held->value["metadata"]["ownerReferences"] ==
                   write.body["metadata"]["ownerReferences"];
        }
        api::Value body = write.body;
        body.at("metadata").set("name", write.key.name);
        if (!write.key.ns.empty()) body.at("metadata").set("namespace", write.key.ns);
        if (write.key.resource.plural == "pods" && !body.has("status"))
            body.at("status").set("phase", "Pending");
        store(write.key.resource, std::move(body));
        return true;
    }

    bool bind(const kube::ObjectPtr& held, const Write& write) {
        if (held == nullptr || !held->value["spec"]["nodeName"].text_or("").empty()) return false;
        api::Value value = held->value;
        value.at("spec").set("nodeName", write.body["target"]["name"]);
        store(held->key.resource, std::move(value));
        return true;
    }

    bool update(const kube::ObjectPtr& held, const Write& write) {
        if (held == nullptr || (write.version != 0 && write.version != held->version)) return false;
        if (write.subresource != "finalize") {
            store(write.key.resource, write.body);
        } else if (write.body["spec"]["finalizers"].empty()) {
            erase(write.key);
        }
        return true;
    }

    void merge(const api::Key& key, const api::Value& with) {
        auto merged = api::merge_patch(seen.find(key)->value, with);
        VERIFY(std::holds_alternative<api::Value>(merged));
        store(key.resource, std::get<api::Value>(std::move(merged)));
        remove_if_free(key);
    }

    void remove_object(const kube::Object& object, const Write& write) {
        api::Value value = object.value;
        if (!object.is_terminating())
            value.at("metadata").set("deletionTimestamp", to_rfc3339(now));
        const bool bound = !value["spec"]["nodeName"].text_or("").empty();
        const std::int64_t usual = value["metadata"]["deletionGracePeriodSeconds"].integer_or(30);
        value.at("metadata")
            .set("deletionGracePeriodSeconds", bound ? write.grace_seconds.value_or(usual) : 0);
        if (write.propagation == "Foreground")
            value.at("metadata").at("finalizers").push("foregroundDeletion");
        if (write.propagation == "Orphan") value.at("metadata").at("finalizers").push("orphan");
        const std::string_view phase = value["status"]["phase"].text_or("");
        const bool runs = object.key.resource.plural == "pods" &&
                          !value["spec"]["nodeName"].text_or("").empty() && phase != "Succeeded" &&
                          phase != "Failed" && write.grace_seconds.value_or(1) != 0;
        if (!runs) ended_.insert({object.key, object.uid});
        if (!(value == object.value)) store(object.key.resource, std::move(value));
        remove_if_free(object.key);
    }

    void remove_if_free(const api::Key& key) {
        const kube::ObjectPtr object = seen.find(key);
        if (object == nullptr || !object->is_terminating()) return;
        if (!object->value["metadata"]["finalizers"].empty()) return;
        if (key.resource.plural == "namespaces") return;
        if (ended_.contains({key, object->uid})) erase(key);
    }

    std::int64_t version_ = 0;
    std::set<std::pair<api::Key, std::string>> ended_;  // Nothing but finalizers holds them.
};

}  // namespace muster::control::cluster
