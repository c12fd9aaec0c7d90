// api/builtin/kinds.cpp - the kinds of Kubernetes that Muster serves: names, scopes, subresources.
#include "api/apiextensions/crd_validation.h"
#include "api/builtin/validation.h"
#include "api/kind_families.h"

namespace muster::api {
namespace {

enum class Scope { cluster, namespaced };
enum class Status { none, subresource };

/// The definition in the tables that belongs to a group: "apps" -> "apps",
/// "rbac.authorization.k8s.io" -> "rbac".
std::string definition_of(const std::string& group, const std::string& version,
                          const std::string& kind) {
    const std::string family = group.empty() ? "core" : group.substr(0, group.find('.'));
    return family + "." + version + "." + kind;
}

Kind make(const char* group, const char* kind, const char* plural, Scope scope, Status status,
          std::vector<std::string> short_names = {}) {
    Kind made;
    made.group = group;
    made.kind = kind;
    made.plural = plural;
    for (const char* c = kind; *c != '\0'; ++c) {
        made.singular += static_cast<char>(*c >= 'A' && *c <= 'Z' ? *c + ('a' - 'A') : *c);
    }
    made.short_names = std::move(short_names);
    made.namespaced = scope == Scope::namespaced;
    made.has_status = status == Status::subresource;
    Version version;
    version.name = "v1";
    version.schema = LazySchema(definition_of(group, "v1", kind));
    made.versions.push_back(std::move(version));
    made.storage = "v1";
    return made;
}

constexpr const char* not_acted_on =
    " objects are kept, but this version of Muster has no controller that acts on them";

Kind passive(Kind kind) {
    kind.caveat = kind.kind + not_acted_on;
    return kind;
}

Kind scalable(Kind kind) {
    kind.scale_spec_path = ".spec.replicas";
    kind.scale_status_path = ".status.replicas";
    kind.scale_selector_path = ".spec.selector";
    kind.categories = {"all"};
    return kind;
}

Kind checked(Kind kind, std::vector<FieldError> (*validate)(const Value&, const Value*),
             void (*defaulting)(Value&) = nullptr) {
    kind.validate = validate;
    kind.defaulting = defaulting;
    return kind;
}

/// Others act on it, or nobody does.
Kind filled(Kind kind, void (*defaulting)(Value&)) {
    kind.defaulting = defaulting;
    return kind;
}

Kind endpoints() {
    Kind kind = make("", "Endpoints", "endpoints", Scope::namespaced, Status::none, {"ep"});
    kind.versions.front().deprecated = true;
    kind.versions.front().deprecation_warning =
        "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice";
    return checked(std::move(kind), validate_endpoints, default_endpoints);
}

Kind pod() {
    Kind kind = make("", "Pod", "pods", Scope::namespaced, Status::subresource, {"po"});
    kind.categories = {"all"};
    kind.selectable_fields = {"spec.nodeName",
                              "spec.restartPolicy",
                              "spec.schedulerName",
                              "spec.serviceAccountName",
                              "spec.hostNetwork",
                              "status.phase",
                              "status.podIP",
                              "status.podIPs",
                              "status.nominatedNodeName"};
    return checked(std::move(kind), validate_pod, default_pod);
}

Kind service() {
    Kind kind = make("", "Service", "services", Scope::namespaced, Status::subresource, {"svc"});
    kind.categories = {"all"};
    kind.selectable_fields = {"spec.clusterIP", "spec.type"};
    return checked(std::move(kind), validate_service, default_service);
}

Kind event() {
    Kind kind = make("", "Event", "events", Scope::namespaced, Status::none, {"ev"});
    kind.selectable_fields = {"involvedObject.kind",
                              "involvedObject.namespace",
                              "involvedObject.name",
                              "involvedObject.uid",
                              "involvedObject.apiVersion",
                              "involvedObject.resourceVersion",
                              "involvedObject.fieldPath",
                              "reason",
                              "reportingComponent",
                              "source",
                              "type"};
    return checked(std::move(kind), validate_event);
}

Kind new_event() {
    Kind kind = make("events.k8s.io", "Event", "events", Scope::namespaced, Status::none, {"ev"});
    kind.stored_as = "events";
    kind.convert = convert_event;
    kind.selectable_fields = {"regarding.kind",
                              "regarding.namespace",
                              "regarding.name",
                              "regarding.uid",
                              "reason",
                              "reportingController",
                              "type"};
    return checked(std::move(kind), validate_new_event);
}

Kind job() {
    Kind kind = make("batch", "Job", "jobs", Scope::namespaced, Status::subresource);
    kind.categories = {"all"};
    kind.selectable_fields = {"status.successful"};
    return checked(std::move(kind), validate_job, default_job);
}

void add_core(std::vector<Kind>& kinds) {
    const auto space = Scope::namespaced;
    const auto cluster = Scope::cluster;
    const auto status = Status::subresource;
    const auto none = Status::none;
    const auto add = [&kinds](Kind kind) { kinds.push_back(std::move(kind)); };
    add(pod());
    add(service());
    Kind node = make("", "Node", "nodes", cluster, status, {"no"});
    node.selectable_fields = {"spec.unschedulable"};
    add(checked(std::move(node), validate_node, default_node));
    Kind space_kind = make("", "Namespace", "namespaces", cluster, status, {"ns"});
    space_kind.selectable_fields = {"status.phase"};
    add(checked(std::move(space_kind), validate_namespace, default_namespace));
    add(checked(make("", "ConfigMap", "configmaps", space, none, {"cm"}), validate_config_map,
                nullptr));
    Kind secret = make("", "Secret", "secrets", space, none);
    secret.selectable_fields = {"type"};
    add(checked(std::move(secret), validate_secret, default_secret));
    add(make("", "ServiceAccount", "serviceaccounts", space, none, {"sa"}));
    add(event());
    add(endpoints());
    add(filled(make("", "LimitRange", "limitranges", space, none, {"limits"}),
               default_limit_range));
    add(passive(make("", "ResourceQuota", "resourcequotas", space, status, {"quota"})));
    add(filled(passive(make("", "PersistentVolumeClaim", "persistentvolumeclaims", space, status,
                            {"pvc"})),
               default_volume_claim));
    add(filled(passive(make("", "PersistentVolume", "persistentvolumes", cluster, status, {"pv"})),
               default_persistent_volume));
    add(filled(passive(scalable(make("", "ReplicationController", "replicationcontrollers", space,
                                     status, {"rc"}))),
               default_replication_controller));
    add(filled(make("", "PodTemplate", "podtemplates", space, none), default_pod_template));
}

void add_groups(std::vector<Kind>& kinds) {
    const auto space = Scope::namespaced;
    const auto cluster = Scope::cluster;
    const auto status = Status::subresource;
    const auto none = Status::none;
    const auto add = [&kinds](Kind kind) { kinds.push_back(std::move(kind)); };
    add(checked(scalable(make("apps", "Deployment", "deployments", space, status, {"deploy"})),
                validate_deployment, default_deployment));
    add(checked(scalable(make("apps", "ReplicaSet", "replicasets", space, status, {"rs"})),
                validate_replica_set, default_replica_set));
    add(checked(scalable(make("apps", "StatefulSet", "statefulsets", space, status, {"sts"})),
                validate_stateful_set, default_stateful_set));
    Kind daemon_set = passive(make("apps", "DaemonSet", "daemonsets", space, status, {"ds"}));
    daemon_set.categories = {"all"};
    add(filled(std::move(daemon_set), default_daemon_set));
    add(make("apps", "ControllerRevision", "controllerrevisions", space, none));
    add(job());
    Kind cron_job = passive(make("batch", "CronJob", "cronjobs", space, status, {"cj"}));
    cron_job.categories = {"all"};
    add(filled(std::move(cron_job), default_cron_job));
    add(checked(make("coordination.k8s.io", "Lease", "leases", space, none), validate_lease));
    add(checked(make("discovery.k8s.io", "EndpointSlice", "endpointslices", space, none),
                validate_endpoint_slice, default_endpoint_slice));
    add(new_event());
    add(passive(make("networking.k8s.io", "Ingress", "ingresses", space, status, {"ing"})));
    add(filled(passive(make("networking.k8s.io", "NetworkPolicy", "networkpolicies", space, none,
                            {"netpol"})),
               default_network_policy));
    add(make("networking.k8s.io", "IngressClass", "ingressclasses", cluster, none));
    add(checked(make("node.k8s.io", "RuntimeClass", "runtimeclasses", cluster, none),
                validate_runtime_class, nullptr));
    add(passive(
        make("policy", "PodDisruptionBudget", "poddisruptionbudgets", space, status, {"pdb"})));
    const char* rbac = "rbac.authorization.k8s.io";
    const char* admission = "admissionregistration.k8s.io";
    add(checked(make(rbac, "ClusterRole", "clusterroles", cluster, none), validate_role, nullptr));
    add(checked(make(rbac, "ClusterRoleBinding", "clusterrolebindings", cluster, none),
                validate_role_binding, default_role_binding));
    add(checked(make(rbac, "Role", "roles", space, none), validate_role, nullptr));
    add(checked(make(rbac, "RoleBinding", "rolebindings", space, none), validate_role_binding,
                default_role_binding));
    add(checked(
        make("scheduling.k8s.io", "PriorityClass", "priorityclasses", cluster, none, {"pc"}),
        validate_priority_class, default_priority_class));
    add(filled(
        passive(make("storage.k8s.io", "StorageClass", "storageclasses", cluster, none, {"sc"})),
        default_storage_class));
    for (const bool mutating : {true, false}) {
        Kind kind = mutating ? make(admission, "MutatingWebhookConfiguration",
                                    "mutatingwebhookconfigurations", cluster, none)
                             : make(admission, "ValidatingWebhookConfiguration",
                                    "validatingwebhookconfigurations", cluster, none);
        kind.categories = {"api-extensions"};
        add(checked(std::move(kind), validate_webhooks, default_webhooks));
    }
    Kind crd = make("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions",
                    cluster, status, {"crd", "crds"});
    crd.categories = {"api-extensions"};
    add(checked(std::move(crd), validate_crd, default_crd));
}

}  // namespace

std::vector<Kind> builtin_kinds() {
    std::vector<Kind> kinds;
    add_core(kinds);
    add_groups(kinds);
    return kinds;
}

std::vector<Kind> builtin_review_kinds() {
    const char* authentication = "authentication.k8s.io";
    const char* authorization = "authorization.k8s.io";
    const auto cluster = Scope::cluster;
    const auto none = Status::none;
    std::vector<Kind> kinds;
    const auto add = [&kinds](Kind kind) { kinds.push_back(std::move(kind)); };
    add(make("", "Binding", "bindings", Scope::namespaced, none));
    add(make(authentication, "TokenReview", "tokenreviews", cluster, none));
    add(make(authentication, "SelfSubjectReview", "selfsubjectreviews", cluster, none));
    add(make(authorization, "SubjectAccessReview", "subjectaccessreviews", cluster, none));
    add(make(authorization, "SelfSubjectAccessReview", "selfsubjectaccessreviews", cluster, none));
    add(make(authorization, "SelfSubjectRulesReview", "selfsubjectrulesreviews", cluster, none));
    add(make(authorization, "LocalSubjectAccessReview", "localsubjectaccessreviews",
             Scope::namespaced, none));
    return kinds;
}

}  // namespace muster::api
