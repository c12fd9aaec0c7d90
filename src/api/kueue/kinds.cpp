// api/kueue/kinds.cpp - the kinds of Kueue: names, versions, columns.
#include "api/kind_families.h"
#include "api/kueue/rules.h"

namespace muster::api {
namespace {

enum class Scope { cluster, namespaced };
enum class Status { none, subresource };

std::string to_lower(std::string text) {
    for (char& c : text)
        c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
    return text;
}

Kind make(const char* kind, const char* plural, std::vector<std::string> short_names, Scope scope,
          Status status, const std::vector<Column>& columns) {
    Kind made;
    made.group = "kueue.x-k8s.io";
    made.kind = kind;
    made.plural = plural;
    made.singular = to_lower(kind);
    made.short_names = std::move(short_names);
    made.namespaced = scope == Scope::namespaced;
    made.has_status = status == Status::subresource;
    made.custom = true;
    for (const char* name : {"v1beta2", "v1beta1"}) {
        Version version;
        version.name = name;
        version.schema = LazySchema(std::string("kueue.") + name + "." + kind);
        version.columns = columns;
        made.versions.push_back(std::move(version));
    }
    made.storage = "v1beta2";
    return made;
}

Column column(const char* name, const char* type, const char* path, int priority = 0) {
    Column made;
    made.name = name;
    made.type = type;
    made.path = path;
    made.priority = priority;
    return made;
}

Kind resource_flavor() {
    Kind kind = make("ResourceFlavor", "resourceflavors", {"rf", "flavor", "flavors"},
                     Scope::cluster, Status::none, {});
    kind.validate = validate_resource_flavor;
    return kind;
}

Kind cluster_queue() {
    Kind kind = make("ClusterQueue", "clusterqueues", {"cq"}, Scope::cluster, Status::subresource,
                     {column("Cohort", "string", ".spec.cohortName"),
                      column("Strategy", "string", ".spec.queueingStrategy", 1),
                      column("Pending Workloads", "integer", ".status.pendingWorkloads"),
                      column("Admitted Workloads", "integer", ".status.admittedWorkloads", 1)});
    kind.versions[1].columns[0].path = ".spec.cohort";
    kind.convert = convert_cluster_queue;
    kind.validate = validate_cluster_queue;
    return kind;
}

Kind cohort() {
    Kind kind = make("Cohort", "cohorts", {"co"}, Scope::cluster, Status::subresource, {});
    kind.convert = convert_cohort;
    kind.validate = validate_cohort;
    return kind;
}

Kind topology() {
    Kind kind = make("Topology", "topologies", {"topo"}, Scope::cluster, Status::none, {});
    kind.validate = validate_topology;
    return kind;
}

Kind admission_check() {
    Kind kind =
        make("AdmissionCheck", "admissionchecks", {"ac"}, Scope::cluster, Status::subresource, {});
    kind.validate = validate_admission_check;
    return kind;
}

Kind local_queue() {
    Kind kind = make("LocalQueue", "localqueues", {"lq", "queue", "queues"}, Scope::namespaced,
                     Status::subresource,
                     {column("ClusterQueue", "string", ".spec.clusterQueue"),
                      column("Pending Workloads", "integer", ".status.pendingWorkloads"),
                      column("Admitted Workloads", "integer", ".status.admittedWorkloads")});
    kind.convert = convert_local_queue;
    kind.validate = validate_local_queue;
    return kind;
}

Kind workload() {
    Kind kind =
        make("Workload", "workloads", {"kwl", "kueueworkload", "kueueworkloads"}, Scope::namespaced,
             Status::subresource,
             {column("Queue", "string", ".spec.queueName"),
              column("Reserved in", "string", ".status.admission.clusterQueue"),
              column("Admitted", "string", ".status.conditions[?(@.type=='Admitted')].status"),
              column("Finished", "string", ".status.conditions[?(@.type=='Finished')].status"),
              column("Age", "date", ".metadata.creationTimestamp")});
    kind.selectable_fields = {"status.admission.clusterQueue"};
    kind.convert = convert_workload;
    kind.validate = validate_workload;
    kind.defaulting = default_workload;
    return kind;
}

}  // namespace

std::vector<Kind> kueue_kinds() {
    return {admission_check(),
            cluster_queue(),
            cohort(),
            local_queue(),
            resource_flavor(),
            topology(),
            workload(),
            make("WorkloadPriorityClass", "workloadpriorityclasses", {"wpc"}, Scope::cluster,
                 Status::none, {column("Value", "integer", ".value")})};
}

}  // namespace muster::api
