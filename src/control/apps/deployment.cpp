// control/apps/deployment.cpp - the Deployment controller: one ReplicaSet per template, and how
// pods move from the old to the new.
#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "control/apps/apps.h"
#include "control/apps/deployment_status.h"
#include "control/apps/pod_family.h"
#include "control/apps/rollout.h"
#include "control/fold_pod.h"
#include "control/owner.h"

namespace muster::control::apps {
namespace {

/// The ReplicaSet's template without the label that tells its pods apart.
api::Value plain_template(const kube::Object& set) {
    api::Value plain = set.value["spec"]["template"];
    api::Value* metadata = plain.find("metadata");
    api::Value* labels = metadata == nullptr ? nullptr : metadata->find("labels");
    if (labels != nullptr) labels->erase(pod_template_hash);
    return plain;
}

void find_sets(DeploymentPass& pass) {
    for (const kube::ObjectPtr& set : pass.seen.owned_by(replica_sets, pass.deployment.uid)) {
        if (!set->is_terminating()) pass.sets.push_back(set);
    }
    std::sort(pass.sets.begin(), pass.sets.end(), [](const auto& a, const auto& b) {
        const Time first = fold_time(a->value["metadata"]["creationTimestamp"]);
        const Time second = fold_time(b->value["metadata"]["creationTimestamp"]);
        return std::tuple(first, a->key.name) < std::tuple(second, b->key.name);
    });
    for (const kube::ObjectPtr& set : pass.sets) {
        if (pass.current == nullptr && plain_template(*set) == pass.spec["template"]) {
            pass.current = set;
        }
    }
    for (const kube::ObjectPtr& set : pass.sets) {
        if (set != pass.current) pass.old.push_back(set);
    }
}

std::int64_t next_revision(const DeploymentPass& pass) {
    std::int64_t last = 0;
    for (const kube::ObjectPtr& set : pass.old)
        last = std::max(last, revision_of(*set));
    return last + 1;
}

/// What a ReplicaSet carries of its Deployment's annotations.
api::Value set_annotations(const DeploymentPass& pass, std::int64_t revision) {
    api::Value annotations;
    for (const auto& [key, value] : pass.deployment.value["metadata"]["annotations"].members()) {
        if (key != "kubectl.kubernetes.io/last-applied-configuration" && key != revision_key)
            annotations.set(key, value);
    }
    annotations.set(revision_key, std::to_string(revision));
    annotations.set(desired_key, std::to_string(pass.rollout.replicas));
    annotations.set(max_key, std::to_string(pass.rollout.replicas + pass.rollout.max_surge));
    return annotations;
}

void make_current(DeploymentPass& pass, std::int64_t replicas) {
    const std::int64_t collisions = pass.deployment.value["status"]["collisionCount"].integer_or(0);
    const std::string hash = template_hash(pass.spec["template"], collisions);
    api::Value pod_template = pass.spec["template"];
    pod_template.at("metadata").at("labels").set(pod_template_hash, hash);
    api::Value selector = pass.spec["selector"];
    selector.at("matchLabels").set(pod_template_hash, hash);
    api::Value spec = api::Value::object({{"replicas", replicas}});
    if (pass.spec.has("minReadySeconds")) spec.set("minReadySeconds", pass.spec["minReadySeconds"]);
    spec.set("selector", std::move(selector));
    api::Value metadata =
        api::Value::object({{"name", pass.deployment.key.name.substr(0, 242) + "-" + hash},
                            {"namespace", pass.deployment.key.ns},
                            {"labels", pod_template["metadata"]["labels"]},
                            {"annotations", set_annotations(pass, next_revision(pass))}});
    spec.set("template", std::move(pod_template));
    metadata.set("ownerReferences", api::Value::array({owner_reference(pass.deployment)}));
    const api::Key key{replica_sets, pass.deployment.key.ns, metadata["name"].text()};
    pass.created_name = key.name;
    pass.result.writes.push_back(create_of(key, "apps/v1",
                                           api::Value::object({{"apiVersion", "apps/v1"},
                                                               {"kind", "ReplicaSet"},
                                                               {"metadata", std::move(metadata)},
                                                               {"spec", std::move(spec)}})));
    tell_scaled(pass, key.name, 0, replicas);
}

/// Sets a ReplicaSet's size and keeps its annotations true.
void set_size(DeploymentPass& pass, const kube::ObjectPtr& set, std::int64_t replicas) {
    const std::int64_t before = count_of(set->value["spec"], "replicas", 1);
    const std::int64_t revision =
        set == pass.current ? std::max(revision_of(*set), next_revision(pass)) : revision_of(*set);
    api::Value body;
    const api::Value wanted = set_annotations(pass, revision);
    for (const auto& [key, value] : wanted.members()) {
        if (!(set->value["metadata"]["annotations"][key] == value))
            body.at("metadata").at("annotations").set(key, value);
    }
    if (before != replicas) {
        body.at("spec").set("replicas", replicas);
        tell_scaled(pass, set->key.name, before, replicas);
    }
    if (!body.is_null()) pass.result.writes.push_back(patch_of(*set, "apps/v1", std::move(body)));
}

void take_step(DeploymentPass& pass, const Step& step) {
    if (pass.current != nullptr) set_size(pass, pass.current, step.current);
    for (std::size_t i = 0; i < pass.old.size(); ++i)
        set_size(pass, pass.old[i], step.old[i]);
}

std::int64_t annotated(const kube::Object& set, const char* key) {
    const std::string_view text = set.annotation(key);
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

Share share_of(const kube::Object& set) {
    return {count_of(set.value["spec"], "replicas", 1),
            set.value["status"]["replicas"].integer_or(0),
            set.value["status"]["availableReplicas"].integer_or(0), annotated(set, max_key)};
}

void read_wishes(DeploymentPass& pass) {
    Rollout& rollout = pass.rollout;
    rollout.replicas = count_of(pass.spec, "replicas", 1);
    const api::Value& strategy = pass.spec["strategy"];
    pass.recreates = strategy["type"].text_or("") == "Recreate";
    if (!pass.recreates) {
        const api::Value& rolling = strategy["rollingUpdate"];
        rollout.max_surge = scaled(rolling["maxSurge"], rollout.replicas, Rounding::up);
        rollout.max_unavailable =
            scaled(rolling["maxUnavailable"], rollout.replicas, Rounding::down);
        allow_progress(rollout);
    }
    for (const kube::ObjectPtr& set : pass.old)
        rollout.old.push_back(share_of(*set));
    if (pass.current != nullptr) rollout.current = share_of(*pass.current);
}

/// The Deployment was scaled since its ReplicaSets were last sized.
bool was_scaled(const DeploymentPass& pass) {
    return std::any_of(pass.sets.begin(), pass.sets.end(), [&](const kube::ObjectPtr& set) {
        return count_of(set->value["spec"], "replicas", 1) > 0 &&
               annotated(*set, desired_key) != pass.rollout.replicas;
    });
}

/// The one ReplicaSet that has pods, else the present one, else the latest; null when several have.
kube::ObjectPtr only_active(const DeploymentPass& pass) {
    kube::ObjectPtr found;
    for (const kube::ObjectPtr& set : pass.sets) {
        if (count_of(set->value["spec"], "replicas", 1) == 0) continue;
        if (found != nullptr) return nullptr;
        found = set;
    }
    if (found != nullptr) return found;
    return pass.current != nullptr ? pass.current : pass.sets.back();
}

/// Requires: there are ReplicaSets.
void scale_only(DeploymentPass& pass) {
    const kube::ObjectPtr only = only_active(pass);
    if (only != nullptr) {
        set_size(pass, only, pass.rollout.replicas);
    } else {
        take_step(pass, proportional_step(pass.rollout));
    }
}

void recreate(DeploymentPass& pass) {
    bool gone = true;
    for (const kube::ObjectPtr& set : pass.old) {
        set_size(pass, set, 0);
        for (const kube::ObjectPtr& pod : pass.seen.owned_by(pods, set->uid))
            gone = gone && is_finished_pod(*pod);
    }
    if (!gone) return;
    if (pass.current == nullptr) {
        make_current(pass, pass.rollout.replicas);
    } else {
        set_size(pass, pass.current, pass.rollout.replicas);
    }
}

void roll(DeploymentPass& pass) {
    if (pass.current == nullptr) {
        std::int64_t wanted = 0;
        for (const Share& share : pass.rollout.old)
            wanted += share.wanted;
        const std::int64_t room = pass.rollout.replicas + pass.rollout.max_surge - wanted;
        make_current(pass, std::clamp<std::int64_t>(room, 0, pass.rollout.replicas));
        return;
    }
    take_step(pass, rolling_step(pass.rollout));
}

/// Old ReplicaSets without pods beyond the history that is kept, oldest revision first.
void clean_up(DeploymentPass& pass) {
    if (!is_complete(pass)) return;
    std::vector<kube::ObjectPtr> idle;
    for (const kube::ObjectPtr& set : pass.old) {
        if (share_of(*set).wanted == 0 && share_of(*set).present == 0) idle.push_back(set);
    }
    const auto keep = static_cast<std::size_t>(count_of(pass.spec, "revisionHistoryLimit", 10));
    std::stable_sort(idle.begin(), idle.end(), [](const auto& a, const auto& b) {
        return revision_of(*a) < revision_of(*b);
    });
    for (std::size_t i = 0; i + keep < idle.size(); ++i)
        pass.result.writes.push_back(remove_of(*idle[i], "apps/v1"));
}

void keep_revision(DeploymentPass& pass) {
    if (pass.current == nullptr) return;
    const std::string revision =
        std::to_string(std::max(revision_of(*pass.current), next_revision(pass)));
    if (pass.deployment.annotation(revision_key) == revision) return;
    api::Value body;
    body.at("metadata").at("annotations").set(revision_key, revision);
    Write write = patch_of(pass.deployment, "apps/v1", std::move(body));
    write.version = 0;
    pass.result.writes.push_back(std::move(write));
}

Reconciled reconcile(const kube::Cache& seen, const api::Key& key, Time now) {
    const kube::ObjectPtr deployment = seen.find(key);
    if (!seen.synced() || deployment == nullptr) return {};
    DeploymentPass pass{seen, *deployment, now, deployment->value["spec"]};
    find_sets(pass);
    read_wishes(pass);
    if (!deployment->is_terminating()) {
        if (pass.spec["paused"].boolean_or(false) || was_scaled(pass)) {
            if (!pass.sets.empty()) scale_only(pass);
        } else if (pass.recreates) {
            recreate(pass);
        } else {
            roll(pass);
        }
        clean_up(pass);
        keep_revision(pass);
    }
    if (auto write = status_of(*deployment, deployment_status(pass)))
        pass.result.writes.insert(pass.result.writes.begin(), std::move(*write));
    return std::move(pass.result);
}

}  // namespace

std::int64_t revision_of(const kube::Object& set) {
    return annotated(set, revision_key);
}

Controller deployment_controller() {
    Controller controller;
    controller.name = "deployment-controller";
    Watch of_pods{pods, "v1", {}};
    // Recreate waits for the last pod: its end wakes the Deployment over its ReplicaSet.
    of_pods.wakes = [](const kube::Cache& seen, const kube::Object* before,
                       const kube::Object* after) {
        std::vector<api::Key> keys;
        if (after != nullptr) return keys;
        for (const api::Value& owner : before->value["metadata"]["ownerReferences"].items()) {
            if (owner["kind"].text_or("") != "ReplicaSet") continue;
            const auto set = seen.find({replica_sets, before->key.ns, owner["name"].text()});
            if (set == nullptr) continue;
            for (const api::Value& above : set->value["metadata"]["ownerReferences"].items())
                keys.push_back({deployments, before->key.ns, above["name"].text()});
        }
        return keys;
    };
    controller.watches = {watch_self(deployments, "v1"),
                          watch_owned(replica_sets, "v1", deployments), std::move(of_pods)};
    controller.reconcile = reconcile;
    return controller;
}

}  // namespace muster::control::apps
