// api/kueue_kinds.cpp - the kinds of Kueue: names, columns, versions.
#include "api/definition.h"
#include "api/kind_families.h"

namespace muster::api {
namespace {

enum class Scope { cluster, namespaced };
enum class Status { none, subresource };

std::string to_lower(std::string text) {
    for (char& c : text)
        c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    return text;
}

Version version(const char* name, const char* kind, std::vector<Column> columns) {
    Version made;
    made.name = name;
    made.schema = LazySchema(std::string("kueue.") + (*kind != 0 ? "Any" : ""));
    made.columns = std::move(columns);
    return made;
}

Kind make(const char* kind, const char* plural, std::vector<std::string> short_names, Scope scope,
          Status status, std::vector<Column> columns) {
    Kind made;
    made.group = "kueue.x-k8s.io";
    made.kind = kind;
    made.plural = plural;
    made.singular = to_lower(kind);
    made.short_names = std::move(short_names);
    made.namespaced = scope == Scope::namespaced;
    made.has_status = status == Status::subresource;
    made.custom = true;
    made.versions = {version("v1beta2", kind, columns), version("v1beta1", kind, columns)};
    made.storage = "v1beta2";
    return made;
}

}  // namespace

std::string_view kueue_definitions() {
    return R"(@kueue.Any
apiVersion string
kind string
metadata meta.v1.ObjectMeta
spec any
status any
value any
description any
)";
}

std::vector<Kind> kueue_kinds() {
    Kind workload = make("Workload", "workloads", {"kwl", "kueueworkload", "kueueworkloads"},
                         Scope::namespaced, Status::subresource, {});
    workload.selectable_fields = {"status.admission.clusterQueue"};
    return {
        make("ClusterQueue", "clusterqueues", {"cq"}, Scope::cluster, Status::subresource, {}),
        make("LocalQueue", "localqueues", {"lq", "queue", "queues"}, Scope::namespaced,
             Status::subresource, {}),
        make("ResourceFlavor", "resourceflavors", {"rf", "flavor", "flavors"}, Scope::cluster,
             Status::none, {}),
        std::move(workload),
        make("WorkloadPriorityClass", "workloadpriorityclasses", {"wpc"}, Scope::cluster,
             Status::none, {}),
    };
}

}  // namespace muster::api
