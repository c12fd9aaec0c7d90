// api/ray/kinds.cpp - the kinds of KubeRay: names, versions, columns, and what may not change.
#include "api/field_error.h"
#include "api/kind_families.h"

namespace muster::api {
namespace {

Column column(const char* name, const char* type, const char* path, int priority = 0) {
    Column made;
    made.name = name;
    made.type = type;
    made.path = path;
    made.priority = priority;
    return made;
}

/// What may not change once it is there; it may be added and taken away.
void check_same(const Value& now, const Value& before, const Path& path,
                std::vector<FieldError>& errors) {
    if (now.is_null() || before.is_null() || now == before) return;
    errors.push_back(invalid(path, now, "the field is immutable"));
}

void check_cluster_changes(const Value& now, const Value& before, const Path& spec,
                           std::vector<FieldError>& errors) {
    const Path fault_tolerance = spec.child("gcsFaultToleranceOptions");
    check_same(now["gcsFaultToleranceOptions"]["backend"],
               before["gcsFaultToleranceOptions"]["backend"], fault_tolerance.child("backend"),
               errors);
}

/// What KubeRay forbids beyond the rules of its schemas; whether a spec makes sense otherwise is
/// the controller's to say.
std::vector<FieldError> validate_ray(const Value& object, const Value* old) {
    std::vector<FieldError> errors;
    const Path root;
    const Path spec = root.child("spec");
    const Value& now = object["spec"];
    if (now.is_null()) errors.push_back(required(spec));
    if (old == nullptr) return errors;
    const Value& before = (*old)["spec"];
    check_cluster_changes(now, before, spec, errors);
    check_cluster_changes(now["rayClusterSpec"], before["rayClusterSpec"],
                          spec.child("rayClusterSpec"), errors);
    return errors;
}

/// RayJob had no columns in v1alpha1.
Kind make(const char* kind, const char* plural, const char* singular,
          const std::vector<Column>& columns) {
    Kind made;
    made.group = "ray.io";
    made.kind = kind;
    made.plural = plural;
    made.singular = singular;
    made.categories = {"all"};
    made.has_status = true;
    made.custom = true;
    for (const char* name : {"v1", "v1alpha1"}) {
        Version version;
        version.name = name;
        version.schema = LazySchema(std::string("ray.") + name + "." + kind);
        version.columns = columns;
        made.versions.push_back(std::move(version));
    }
    if (made.kind == "RayJob") made.versions[1].columns.clear();
    made.storage = "v1";
    made.validate = validate_ray;
    return made;
}

}  // namespace

std::vector<Kind> ray_kinds() {
    return {
        make("RayCluster", "rayclusters", "raycluster",
             {column("desired workers", "integer", ".status.desiredWorkerReplicas"),
              column("available workers", "integer", ".status.availableWorkerReplicas"),
              column("cpus", "string", ".status.desiredCPU"),
              column("memory", "string", ".status.desiredMemory"),
              column("gpus", "string", ".status.desiredGPU"),
              column("tpus", "string", ".status.desiredTPU", 1),
              column("status", "string", ".status.state"),
              column("age", "date", ".metadata.creationTimestamp"),
              column("head pod IP", "string", ".status.head.podIP", 1),
              column("head service IP", "string", ".status.head.serviceIP", 1)}),
        make("RayJob", "rayjobs", "rayjob",
             {column("job status", "string", ".status.jobStatus"),
              column("deployment status", "string", ".status.jobDeploymentStatus"),
              column("ray cluster name", "string", ".status.rayClusterName"),
              column("start time", "string", ".status.startTime"),
              column("end time", "string", ".status.endTime"),
              column("age", "date", ".metadata.creationTimestamp")}),
    };
}

}  // namespace muster::api
