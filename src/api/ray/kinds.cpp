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

/// Who manages an object is decided when it is made; whether its spec makes sense is the
/// controller's to say.
std::vector<FieldError> validate_ray(const Value& object, const Value* old) {
    std::vector<FieldError> errors;
    const Path spec = Path().child("spec");
    if (object["spec"].is_null()) errors.push_back(required(spec));
    if (old != nullptr && !(object["spec"]["managedBy"] == (*old)["spec"]["managedBy"])) {
        errors.push_back(invalid(spec.child("managedBy"), object["spec"]["managedBy"],
                                 "the managedBy field is immutable"));
    }
    return errors;
}

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
        version.schema = LazySchema(std::string("ray.v1.") + kind);
        version.columns = columns;
        made.versions.push_back(std::move(version));
    }
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
