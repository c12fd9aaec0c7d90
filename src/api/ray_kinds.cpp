// api/ray_kinds.cpp - the kinds of KubeRay.
#include "api/definition.h"
#include "api/kind_families.h"

namespace muster::api {
namespace {

Kind make(const char* kind, const char* plural, const char* singular) {
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
        version.schema = LazySchema("ray.Any");
        made.versions.push_back(std::move(version));
    }
    made.storage = "v1";
    return made;
}

}  // namespace

std::string_view ray_definitions() {
    return R"(@ray.Any
apiVersion string
kind string
metadata meta.v1.ObjectMeta
spec any
status any
)";
}

std::vector<Kind> ray_kinds() {
    return {make("RayCluster", "rayclusters", "raycluster"), make("RayJob", "rayjobs", "rayjob")};
}

}  // namespace muster::api
