// api/guest_kinds.cpp - the list of guests.
#include "api/guest_kinds.h"

#include "base/text.h"

namespace muster::api {
namespace {

/// Their plurals are the kind in small letters and an s.
Kind guest(std::string_view group, std::string_view version, std::string_view name) {
    Kind kind;
    kind.group = group;
    kind.kind = name;
    kind.singular = to_lower(name);
    kind.plural = kind.singular + "s";
    kind.has_status = true;
    kind.custom = true;
    kind.storage = version;
    Version served;
    served.name = version;
    kind.versions.push_back(std::move(served));
    return kind;
}

Kind of_cluster(Kind kind) {
    kind.namespaced = false;
    return kind;
}

}  // namespace

const std::vector<Kind>& guest_kinds() {
    static const std::vector<Kind> kinds = {
        guest("jobset.x-k8s.io", "v1alpha2", "JobSet"),
        guest("kubeflow.org", "v1", "PyTorchJob"),
        guest("kubeflow.org", "v1", "TFJob"),
        guest("kubeflow.org", "v1", "XGBoostJob"),
        guest("kubeflow.org", "v1", "PaddleJob"),
        guest("kubeflow.org", "v1", "JAXJob"),
        guest("kubeflow.org", "v2beta1", "MPIJob"),
        guest("trainer.kubeflow.org", "v1alpha1", "TrainJob"),
        guest("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime"),
        of_cluster(guest("trainer.kubeflow.org", "v1alpha1", "ClusterTrainingRuntime")),
        guest("sparkoperator.k8s.io", "v1beta2", "SparkApplication"),
        guest("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),
    };
    return kinds;
}

const Kind* find_known_kind(std::string_view group, std::string_view plural) {
    if (const Kind* kind = find_kind(group, plural)) return kind;
    for (const Kind& kind : guest_kinds()) {
        if (kind.group == group && kind.plural == plural) return &kind;
    }
    return nullptr;
}

const Kind* find_known_kind_named(std::string_view group, std::string_view name) {
    if (const Kind* kind = find_kind_named(group, name)) return kind;
    for (const Kind& kind : guest_kinds()) {
        if (kind.group == group && kind.kind == name) return &kind;
    }
    return nullptr;
}

}  // namespace muster::api
