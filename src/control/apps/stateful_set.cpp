// control/apps/stateful_set.cpp - the StatefulSet controller: pods with fixed names, in order.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "api/json.h"
#include "control/apps/apps.h"
#include "control/apps/pod_family.h"
#include "control/fold_pod.h"
#include "control/owner.h"

namespace muster::control::apps {
namespace {

constexpr const char* controller_name = "statefulset-controller";
constexpr const char* revision_label = "controller-revision-hash";

/// One reconcile of one StatefulSet in the making.
struct Pass {
    const kube::Cache& seen;
    const kube::Object& set;
    const Time now;
    const api::Value& spec;
    std::int64_t replicas = 1;
    std::int64_t first = 0;  // spec.ordinals.start
    Duration min_ready = {};
    bool in_order = true;
    std::map<std::int64_t, kube::ObjectPtr> pods = {};  // By ordinal, also terminating ones.
    std::string current = {};                           // Revision names.
    std::string update = {};
    Reconciled result = {};

    bool waits(const kube::Object& pod) const { return !is_available(pod, min_ready, now); }
    bool is_wanted(std::int64_t ordinal) const {
        return ordinal >= first && ordinal < first + replicas;
    }
    std::string name_of(std::int64_t ordinal) const {
        return set.key.name + "-" + std::to_string(ordinal);
    }
    void tell(const char* type, const char* reason, const std::string& message) {
        result.events.push_back({set.key, type, reason, message, ""});
    }
};

std::optional<std::int64_t> ordinal_of(const kube::Object& set, const kube::Object& pod) {
    const std::string prefix = set.key.name + "-";
    if (pod.key.name.rfind(prefix, 0) != 0) return std::nullopt;
    const std::string_view digits = std::string_view(pod.key.name).substr(prefix.size());
    std::int64_t ordinal = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
    if (error != std::errc() || end != digits.data() + digits.size() || ordinal < 0) return {};
    return ordinal;
}

api::Value revision_data(const api::Value& pod_template) {
    api::Value data = pod_template;
    data.set("$patch", "replace");
    return api::Value::object({{"spec", api::Value::object({{"template", std::move(data)}})}});
}

std::int64_t number_of(const kube::Object& revision) {
    return revision.value["revision"].integer_or(0);
}

std::vector<kube::ObjectPtr> revisions_of(const Pass& pass) {
    std::vector<kube::ObjectPtr> revisions = pass.seen.owned_by(controller_revisions, pass.set.uid);
    std::sort(revisions.begin(), revisions.end(), [](const auto& a, const auto& b) {
        return std::pair(number_of(*a), a->key.name) < std::pair(number_of(*b), b->key.name);
    });
    return revisions;
}

/// Finds or makes the revision of the present template; an earlier equal one becomes the newest.
void find_revisions(Pass& pass) {
    const api::Value data = revision_data(pass.spec["template"]);
    const std::vector<kube::ObjectPtr> revisions = revisions_of(pass);
    const std::int64_t last = revisions.empty() ? 0 : number_of(*revisions.back());
    for (const kube::ObjectPtr& revision : revisions) {
        if (!(revision->value["data"] == data)) continue;
        pass.update = revision->key.name;
        if (number_of(*revision) == last) continue;
        pass.result.writes.push_back(
            patch_of(*revision, "apps/v1", api::Value::object({{"revision", last + 1}})));
    }
    if (pass.update.empty()) {
        const std::string hash = template_hash(pass.spec["template"], 0);
        pass.update = pass.set.key.name.substr(0, 242) + "-" + hash;
        api::Value labels = pass.spec["template"]["metadata"]["labels"];
        labels.set("controller.kubernetes.io/hash", hash);
        const api::Value metadata = api::Value::object(
            {{"name", pass.update},
             {"namespace", pass.set.key.ns},
             {"labels", std::move(labels)},
             {"ownerReferences", api::Value::array({owner_reference(pass.set)})}});
        pass.result.writes.push_back(create_of({controller_revisions, pass.set.key.ns, pass.update},
                                               "apps/v1",
                                               api::Value::object({{"apiVersion", "apps/v1"},
                                                                   {"kind", "ControllerRevision"},
                                                                   {"metadata", metadata},
                                                                   {"data", data},
                                                                   {"revision", last + 1}})));
    }
    pass.current = pass.set.value["status"]["currentRevision"].text();
    if (pass.current.empty()) pass.current = pass.update;
}

/// The template of a revision; the present one when the revision is gone.
api::Value template_of(const Pass& pass, const std::string& revision) {
    const auto found = pass.seen.find({controller_revisions, pass.set.key.ns, revision});
    if (revision == pass.update || found == nullptr) return pass.spec["template"];
    api::Value pod_template = found->value["data"]["spec"]["template"];
    if (pod_template.is_object()) pod_template.erase("$patch");
    return pod_template;
}

std::int64_t partition_of(const Pass& pass) {
    return count_of(pass.spec["updateStrategy"]["rollingUpdate"], "partition", 0);
}

/// New pods below the partition are of the old revision, as long as there is one.
const std::string& revision_for(const Pass& pass, std::int64_t ordinal) {
    return ordinal - pass.first < partition_of(pass) ? pass.current : pass.update;
}

void make(Pass& pass, std::int64_t ordinal) {
    const std::string name = pass.name_of(ordinal);
    const std::string& revision = revision_for(pass, ordinal);
    api::Value pod = make_pod(pass.set, template_of(pass, revision), name);
    api::Value& labels = pod.at("metadata").at("labels");
    labels.set(revision_label, revision);
    labels.set("statefulset.kubernetes.io/pod-name", name);
    labels.set("apps.kubernetes.io/pod-index", std::to_string(ordinal));
    pod.at("spec").set("hostname", name);
    if (!pass.spec["serviceName"].text_or("").empty())
        pod.at("spec").set("subdomain", pass.spec["serviceName"]);
    const api::Key key{pods, pass.set.key.ns, name};
    if (const auto* refused = find_refusal(pass.seen, controller_name, key)) {
        pass.tell("Warning", "FailedCreate",
                  "create Pod " + name + " in StatefulSet " + pass.set.key.name +
                      " failed error: " + refused->value["message"].text());
        pass.result.events.back().told = Event::Told::always;
    }
    pass.result.writes.push_back(create_of(key, "v1", std::move(pod)));
    pass.tell("Normal", "SuccessfulCreate",
              "create Pod " + name + " in StatefulSet " + pass.set.key.name + " successful");
}

void remove(Pass& pass, const kube::Object& pod) {
    if (pod.is_terminating()) return;
    pass.result.writes.push_back(remove_of(pod, "v1"));
    pass.tell(
        "Normal", "SuccessfulDelete",
        "delete Pod " + pod.key.name + " in StatefulSet " + pass.set.key.name + " successful");
}

/// Makes what is missing and replaces what has ended, in rising order. False: with OrderedReady, a
/// pod is not there yet for which the rest has to wait.
bool fill(Pass& pass) {
    std::int64_t made = 0;
    for (std::int64_t ordinal = pass.first; ordinal < pass.first + pass.replicas; ++ordinal) {
        const auto held = pass.pods.find(ordinal);
        if (held == pass.pods.end()) {
            if (made == pods_per_pass) return true;
            make(pass, ordinal);
            ++made;
            if (pass.in_order) return false;
            continue;
        }
        const kube::Object& pod = *held->second;
        // A pod that has ended is removed; its name is free again when it is gone.
        if (is_finished_pod(pod)) remove(pass, pod);
        if (!pass.in_order) continue;
        if (is_finished_pod(pod) || pod.is_terminating() || pass.waits(pod)) return false;
    }
    return true;
}

/// Removes what is too much, highest first; with OrderedReady one at a time. False: some are left.
bool trim(Pass& pass) {
    bool none = true;
    for (auto held = pass.pods.rbegin(); held != pass.pods.rend(); ++held) {
        if (pass.is_wanted(held->first)) continue;
        none = false;
        remove(pass, *held->second);
        if (pass.in_order) return false;
    }
    return none;
}

/// Replaces pods of another revision, highest first, at most maxUnavailable at a time.
void update_pods(Pass& pass) {
    if (pass.spec["updateStrategy"]["type"].text_or("RollingUpdate") == "OnDelete") return;
    const api::Value& limit = pass.spec["updateStrategy"]["rollingUpdate"]["maxUnavailable"];
    std::int64_t left =
        limit.is_null() ? 1 : std::max<std::int64_t>(1, scaled(limit, pass.replicas, Rounding::up));
    for (const auto& [ordinal, pod] : pass.pods) {
        if (pass.is_wanted(ordinal) && pass.waits(*pod)) --left;
    }
    for (auto held = pass.pods.rbegin(); held != pass.pods.rend(); ++held) {
        if (!pass.is_wanted(held->first)) continue;
        if (held->first - pass.first < partition_of(pass)) return;
        const kube::Object& pod = *held->second;
        const bool old = pod.label(revision_label) != pass.update;
        // An unavailable old pod would never become available by waiting: it goes at once.
        if (old && !pod.is_terminating() && (left > 0 || pass.waits(pod))) {
            if (!pass.waits(pod)) --left;
            remove(pass, pod);
        }
        if (left <= 0) return;
    }
}

api::Value status_now(Pass& pass) {
    std::int64_t alive = 0;
    std::int64_t ready = 0;
    std::int64_t available = 0;
    std::int64_t of_current = 0;
    std::int64_t of_update = 0;
    for (const auto& [ordinal, pod] : pass.pods) {
        if (is_finished_pod(*pod)) continue;
        ++alive;
        if (is_ready_pod(*pod)) ++ready;
        if (is_available(*pod, pass.min_ready, pass.now)) ++available;
        if (const auto left = until_available(*pod, pass.min_ready, pass.now))
            pass.result.look_again = std::min(pass.result.look_again.value_or(*left), *left);
        if (pod->is_terminating()) continue;
        if (pod->label(revision_label) == pass.current) ++of_current;
        if (pod->label(revision_label) == pass.update) ++of_update;
    }
    // An update is over when every pod is of the new revision and ready.
    if (pass.current != pass.update && of_update == pass.replicas && ready == pass.replicas &&
        partition_of(pass) == 0) {
        pass.current = pass.update;
        of_current = of_update;
    }
    api::Value status = pass.set.value["status"];
    status.set("observedGeneration", pass.set.value["metadata"]["generation"].integer_or(0));
    status.set("replicas", alive);
    status.set("readyReplicas", ready);
    status.set("availableReplicas", available);
    status.set("currentReplicas", of_current);
    status.set("updatedReplicas", of_update);
    status.set("currentRevision", pass.current);
    status.set("updateRevision", pass.update);
    status.set("collisionCount", 0);
    return status;
}

/// Revisions that no pod and no status needs, beyond the history that is kept.
void clean_up(Pass& pass) {
    std::set<std::string_view> needed = {pass.current, pass.update};
    for (const auto& [ordinal, pod] : pass.pods)
        needed.insert(pod->label(revision_label));
    std::vector<kube::ObjectPtr> idle;
    for (const kube::ObjectPtr& revision : revisions_of(pass)) {
        if (!needed.contains(revision->key.name)) idle.push_back(revision);
    }
    const auto keep = static_cast<std::size_t>(count_of(pass.spec, "revisionHistoryLimit", 10));
    for (std::size_t i = 0; i + keep < idle.size(); ++i)
        pass.result.writes.push_back(remove_of(*idle[i], "apps/v1"));
}

Reconciled reconcile(const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr set = seen.find(key);
    if (!seen.synced() || set == nullptr || set->is_terminating()) return {};
    Pass pass{seen, *set, now, set->value["spec"]};
    pass.replicas = count_of(pass.spec, "replicas", 1);
    pass.first = count_of(pass.spec["ordinals"], "start", 0);
    pass.min_ready = seconds(count_of(pass.spec, "minReadySeconds", 0));
    pass.in_order = pass.spec["podManagementPolicy"].text_or("") != "Parallel";
    for (const kube::ObjectPtr& pod : seen.owned_by(pods, set->uid)) {
        if (const auto ordinal = ordinal_of(*set, *pod)) pass.pods.emplace(*ordinal, pod);
    }
    find_revisions(pass);
    const bool filled = fill(pass);
    // In order, nothing is taken away before everything that should be there is.
    const bool trimmed = (filled || !pass.in_order) && trim(pass);
    if (trimmed) update_pods(pass);
    const api::Value status = status_now(pass);
    if (trimmed) clean_up(pass);
    if (auto write = status_of(*set, status))
        pass.result.writes.insert(pass.result.writes.begin(), std::move(*write));
    return std::move(pass.result);
}

}  // namespace

Controller stateful_set_controller() {
    Controller controller;
    controller.name = controller_name;
    controller.watches = {watch_self(stateful_sets, "v1"), watch_owned(pods, "v1", stateful_sets),
                          watch_owned(controller_revisions, "v1", stateful_sets)};
    controller.reconcile = reconcile;
    return controller;
}

}  // namespace muster::control::apps
