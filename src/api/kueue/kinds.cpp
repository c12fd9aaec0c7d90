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
        version.deprecated = version.name == "v1beta1";
        made.versions.push_back(std::move(version));
    }
    made.storage = "v1beta2";
    return made;
}

Column column(const char* name, const char* type, const char* path, const char* description,
              int priority = 0) {
    Column made;
    made.name = name;
    made.type = type;
    made.path = path;
    made.description = description;
    made.priority = priority;
    return made;
}

Kind resource_flavor() {
    Kind kind = make("ResourceFlavor", "resourceflavors", {"flavor", "flavors", "rf"},
                     Scope::cluster, Status::none, {});
    kind.validate = validate_resource_flavor;
    return kind;
}

Kind cluster_queue() {
    Kind kind = make(
        "ClusterQueue", "clusterqueues", {"cq"}, Scope::cluster, Status::subresource,
        {column("Cohort", "string", ".spec.cohortName", "Cohort that this ClusterQueue belongs to"),
         column("Strategy", "string", ".spec.queueingStrategy",
                "The queueing strategy used to prioritize workloads", 1),
         column("Pending Workloads", "integer", ".status.pendingWorkloads",
                "Number of pending workloads"),
         column("Admitted Workloads", "integer", ".status.admittedWorkloads",
                "Number of admitted workloads that haven't finished yet", 1)});
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

constexpr const char* not_acted_on =
    " objects are kept, but this version of Muster has no controller that acts on them";

Kind passive(Kind kind) {
    kind.caveat = kind.kind + not_acted_on;
    return kind;
}

Kind multi_kueue_cluster() {
    Kind kind = make(
        "MultiKueueCluster", "multikueueclusters", {"mkc"}, Scope::cluster, Status::subresource,
        {column("Connected", "string", ".status.conditions[?(@.type=='Active')].status",
                "MultiKueueCluster is connected"),
         column("Age", "date", ".metadata.creationTimestamp", "Time this workload was created")});
    kind.convert = convert_multi_kueue_cluster;
    return passive(std::move(kind));
}

Kind multi_kueue_config() {
    Kind kind =
        make("MultiKueueConfig", "multikueueconfigs", {"mkconf"}, Scope::cluster, Status::none, {});
    kind.versions[1].deprecated = false;  // Alone among Kueue's kinds.
    return passive(std::move(kind));
}

Kind provisioning_request_config() {
    return passive(make("ProvisioningRequestConfig", "provisioningrequestconfigs", {"prc"},
                        Scope::cluster, Status::none, {}));
}

Kind topology() {
    return make("Topology", "topologies", {"topo"}, Scope::cluster, Status::none, {});
}

Kind admission_check() {
    return make("AdmissionCheck", "admissionchecks", {"ac"}, Scope::cluster, Status::subresource,
                {});
}

Kind local_queue() {
    Kind kind =
        make("LocalQueue", "localqueues", {"queue", "queues", "lq"}, Scope::namespaced,
             Status::subresource,
             {column("ClusterQueue", "string", ".spec.clusterQueue", "Backing ClusterQueue"),
              column("Pending Workloads", "integer", ".status.pendingWorkloads",
                     "Number of pending workloads"),
              column("Admitted Workloads", "integer", ".status.admittedWorkloads",
                     "Number of admitted workloads that haven't finished yet.")});
    kind.convert = convert_local_queue;
    kind.validate = validate_local_queue;
    return kind;
}

Kind workload() {
    Kind kind = make(
        "Workload", "workloads", {"kwl", "kueueworkload", "kueueworkloads"}, Scope::namespaced,
        Status::subresource,
        {column("Queue", "string", ".spec.queueName",
                "Name of the queue this workload was submitted to"),
         column("Reserved in", "string", ".status.admission.clusterQueue",
                "Name of the ClusterQueue where the workload is reserving quota"),
         column("Admitted", "string", ".status.conditions[?(@.type=='Admitted')].status",
                "Admission status"),
         column("Finished", "string", ".status.conditions[?(@.type=='Finished')].status",
                "Workload finished"),
         column("Age", "date", ".metadata.creationTimestamp", "Time this workload was created")});
    kind.selectable_fields = {"status.admission.clusterQueue"};
    kind.convert = convert_workload;
    kind.validate = validate_workload;
    kind.defaulting = default_workload;
    return kind;
}

}  // namespace

std::vector<Kind> kueue_kinds() {
    return {
        admission_check(),
        cluster_queue(),
        cohort(),
        local_queue(),
        multi_kueue_cluster(),
        multi_kueue_config(),
        provisioning_request_config(),
        resource_flavor(),
        topology(),
        workload(),
        make("WorkloadPriorityClass", "workloadpriorityclasses", {"wpc"}, Scope::cluster,
             Status::none,
             {column("Value", "integer", ".value", "Value of workloadPriorityClass's Priority")})};
}

}  // namespace muster::api
