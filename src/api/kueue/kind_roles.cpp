// api/kueue/kind_roles.cpp - the table of Kueue's roles for people, and their objects.
#include "api/kueue/kind_roles.h"

#include <string_view>
#include <utility>

namespace muster::api {
namespace {

/// Whom a role about a kind is for. An administrator of queues has all of them.
struct Row {
    const char* name;  // "clusterqueue"
    const char* group;
    const char* resource;
    enum class Users { neither, view, edit };
    Users users;  // What users of queues may; to edit is to view.
    enum class Namespaces { nobody, admins, everybody };
    Namespaces seen_by;  // Of those who have view, edit or admin of a namespace.
};
constexpr auto neither = Row::Users::neither;
constexpr auto view = Row::Users::view;
constexpr auto edit = Row::Users::edit;
constexpr auto nobody = Row::Namespaces::nobody;
constexpr auto admins = Row::Namespaces::admins;
constexpr auto everybody = Row::Namespaces::everybody;

// Lists of what waits, where the server has them.
constexpr Row pending_rows[] = {
    {"pending-workloads-cq", "visibility.kueue.x-k8s.io", "clusterqueues/pendingworkloads", neither,
     everybody},
    {"pending-workloads-lq", "visibility.kueue.x-k8s.io", "localqueues/pendingworkloads", view,
     everybody},
};

constexpr Row rows[] = {
    {"admissioncheck", "kueue.x-k8s.io", "admissionchecks", neither, nobody},
    {"clusterqueue", "kueue.x-k8s.io", "clusterqueues", neither, admins},
    {"cohort", "kueue.x-k8s.io", "cohorts", neither, admins},
    {"localqueue", "kueue.x-k8s.io", "localqueues", view, everybody},
    {"resourceflavor", "kueue.x-k8s.io", "resourceflavors", neither, admins},
    {"topology", "kueue.x-k8s.io", "topologies", neither, admins},
    {"workload", "kueue.x-k8s.io", "workloads", view, everybody},
    {"workloadpriorityclass", "kueue.x-k8s.io", "workloadpriorityclasses", view, nobody},
    {"job", "batch", "jobs", edit, everybody},
    {"raycluster", "ray.io", "rayclusters", edit, everybody},
    {"rayjob", "ray.io", "rayjobs", edit, everybody},
    {"jobset", "jobset.x-k8s.io", "jobsets", edit, everybody},
    {"pytorchjob", "kubeflow.org", "pytorchjobs", edit, everybody},
    {"tfjob", "kubeflow.org", "tfjobs", edit, everybody},
    {"xgboostjob", "kubeflow.org", "xgboostjobs", edit, everybody},
    {"paddlejob", "kubeflow.org", "paddlejobs", edit, everybody},
    {"jaxjob", "kubeflow.org", "jaxjobs", edit, everybody},
    {"mpijob", "kubeflow.org", "mpijobs", edit, everybody},
    {"trainjob", "trainer.kubeflow.org", "trainjobs", edit, everybody},
    {"sparkapplication", "sparkoperator.k8s.io", "sparkapplications", edit, everybody},
    {"leaderworkerset", "leaderworkerset.x-k8s.io", "leaderworkersets", edit, everybody},
    {"appwrapper", "workload.codeflare.dev", "appwrappers", edit, everybody},
    {"mcad-appwrapper", "mcad.ibm.com", "appwrappers", edit, everybody},
};

Value words(std::initializer_list<const char*> list) {
    Value array = Value::array();
    for (const char* word : list)
        array.push(word);
    return array;
}

Value cluster_role(const std::string& name) {
    return Value::object({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                          {"kind", "ClusterRole"},
                          {"metadata", Value::object({{"name", name}})}});
}

std::string batch_label(const std::string& whom) {
    return "rbac.kueue.x-k8s.io/batch-" + whom;
}

Value gathering_role(const KindRoleNames& names, const std::string& whom) {
    // Without rules: the cluster fills them in, and whoever applies this again must not own them.
    Value made = cluster_role(names.prefix + "-batch-" + whom + "-role");
    const Value selector =
        Value::object({{"matchLabels", Value::object({{batch_label(whom), "true"}})}});
    made.set("aggregationRule",
             Value::object({{"clusterRoleSelectors", Value::array({selector})}}));
    return made;
}

Value rule(const Row& row, const std::string& part, Value verbs) {
    return Value::object({{"apiGroups", words({row.group})},
                          {"resources", Value::array({Value(row.resource + part)})},
                          {"verbs", std::move(verbs)}});
}

Value kind_role(const KindRoleNames& names, const Row& row, const std::string& what, Value verbs,
                Value labels) {
    Value made = cluster_role(names.prefix + "-" + row.name + "-" + what + "-role");
    Value rules = Value::array({rule(row, "", std::move(verbs))});
    const bool is_part = std::string_view(row.resource).find('/') != std::string_view::npos;
    if (!is_part) rules.push(rule(row, "/status", words({"get"})));
    made.set("rules", std::move(rules));
    labels.set(batch_label("admin"), "true");
    made.at("metadata").set("labels", std::move(labels));
    return made;
}

std::string aggregate_to(const std::string& role) {
    return "rbac.authorization.k8s.io/aggregate-to-" + role;
}

Value editor_of(const KindRoleNames& names, const Row& row) {
    Value labels = Value::object();
    if (row.users == edit) {
        labels.set(batch_label("user"), "true");
        if (names.server == KindRoleNames::Server::muster_up)
            labels.set(aggregate_to("edit"), "true");
    }
    return kind_role(names, row, "editor",
                     words({"create", "delete", "get", "list", "patch", "update", "watch"}),
                     std::move(labels));
}

Value viewer_of(const KindRoleNames& names, const Row& row) {
    Value labels = Value::object();
    if (row.users != neither) labels.set(batch_label("user"), "true");
    if (row.seen_by != nobody) labels.set(aggregate_to("admin"), "true");
    if (row.seen_by == everybody) {
        labels.set(aggregate_to("edit"), "true");
        labels.set(aggregate_to("view"), "true");
    }
    return kind_role(names, row, "viewer", words({"get", "list", "watch"}), std::move(labels));
}

}  // namespace

std::vector<Value> kind_roles(const KindRoleNames& names) {
    std::vector<Value> roles = {gathering_role(names, "admin"), gathering_role(names, "user")};
    for (const Row& row : rows) {
        roles.push_back(editor_of(names, row));
        roles.push_back(viewer_of(names, row));
    }
    if (names.server == KindRoleNames::Server::a_cluster) return roles;
    for (const Row& row : pending_rows)
        roles.push_back(viewer_of(names, row));
    return roles;
}

}  // namespace muster::api
