// api/builtin/columns.cpp - the columns of the built-in kinds, as Kubernetes prints them.
#include "api/builtin/columns.h"

#include <algorithm>

#include "api/json.h"
#include "base/text.h"

namespace muster::api {
namespace {

std::string joined(const Value& containers, const char* key) {
    std::vector<std::string> texts;
    for (const Value& container : containers.items())
        texts.push_back(container[key].text());
    return join(texts, ",");
}

Value name_of(const Value& object) {
    return object["metadata"]["name"];
}

std::int64_t count(const Value& value) {
    return value.integer_or(0);
}

std::string fraction(std::int64_t part, std::int64_t whole) {
    return std::to_string(part) + "/" + std::to_string(whole);
}

Cells plain_row(const Value& object, Time now) {
    return {name_of(object), age_of(object, now)};
}

Cells created_row(const Value& object, Time) {
    return {name_of(object), object["metadata"]["creationTimestamp"]};
}

Cells namespace_row(const Value& ns, Time now) {
    return {name_of(ns), ns["status"]["phase"], age_of(ns, now)};
}

Cells config_map_row(const Value& map, Time now) {
    const std::size_t size = map["data"].size() + map["binaryData"].size();
    return {name_of(map), static_cast<std::int64_t>(size), age_of(map, now)};
}

Cells secret_row(const Value& secret, Time now) {
    return {name_of(secret), secret["type"], static_cast<std::int64_t>(secret["data"].size()),
            age_of(secret, now)};
}

Cells webhooks_row(const Value& configuration, Time now) {
    return {name_of(configuration), static_cast<std::int64_t>(configuration["webhooks"].size()),
            age_of(configuration, now)};
}

/// The first three of many, and how many more.
std::string some_of(const std::vector<std::string>& all, const char* when_none) {
    constexpr std::size_t shown = 3;
    if (all.empty()) return when_none;
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(shown, all.size()));
    std::string text = join(std::vector<std::string>(all.begin(), end), ",");
    if (all.size() > shown) text += " + " + std::to_string(all.size() - shown) + " more...";
    return text;
}

Cells endpoints_row(const Value& endpoints, Time now) {
    std::vector<std::string> all;
    for (const Value& subset : endpoints["subsets"].items()) {
        for (const Value& address : subset["addresses"].items()) {
            if (subset["ports"].empty()) all.push_back(address["ip"].text());
            for (const Value& port : subset["ports"].items()) {
                all.push_back(address["ip"].text() + ":" + std::to_string(count(port["port"])));
            }
        }
    }
    return {name_of(endpoints), some_of(all, "<none>"), age_of(endpoints, now)};
}

Cells endpoint_slice_row(const Value& slice, Time now) {
    std::vector<std::string> ports;
    for (const Value& port : slice["ports"].items()) {
        const Value& number = port["port"];
        ports.push_back(number.is_null() ? "*" : std::to_string(count(number)));
    }
    std::vector<std::string> addresses;
    for (const Value& endpoint : slice["endpoints"].items()) {
        for (const Value& address : endpoint["addresses"].items()) {
            addresses.push_back(address.text());
        }
    }
    return {name_of(slice), slice["addressType"], some_of(ports, "<unset>"),
            some_of(addresses, "<unset>"), age_of(slice, now)};
}

Cells lease_row(const Value& lease, Time now) {
    return {name_of(lease), lease["spec"]["holderIdentity"].text(), age_of(lease, now)};
}

Cells priority_class_row(const Value& priority_class, Time now) {
    return {name_of(priority_class), count(priority_class["value"]),
            priority_class["globalDefault"].boolean_or(false), age_of(priority_class, now),
            priority_class["preemptionPolicy"]};
}

Cells runtime_class_row(const Value& runtime_class, Time now) {
    return {name_of(runtime_class), runtime_class["handler"], age_of(runtime_class, now)};
}

Cells role_binding_row(const Value& binding, Time now) {
    std::vector<std::string> users;
    std::vector<std::string> groups;
    std::vector<std::string> accounts;
    for (const Value& subject : binding["subjects"].items()) {
        const std::string_view kind = subject["kind"].text_or("");
        const std::string name = subject["name"].text();
        if (kind == "User") users.push_back(name);
        if (kind == "Group") groups.push_back(name);
        if (kind == "ServiceAccount") accounts.push_back(subject["namespace"].text() + "/" + name);
    }
    return {name_of(binding),
            binding["roleRef"]["kind"].text() + "/" + binding["roleRef"]["name"].text(),
            age_of(binding, now),
            join(users, ", "),
            join(groups, ", "),
            join(accounts, ", ")};
}

Cells workload_tail(Cells cells, const Value& object) {
    const Value& pod_spec = object["spec"]["template"]["spec"];
    cells.emplace_back(container_names(pod_spec));
    cells.emplace_back(container_images(pod_spec));
    cells.emplace_back(selector_text(object["spec"]["selector"]));
    return cells;
}

Cells deployment_row(const Value& object, Time now) {
    const Value& status = object["status"];
    return workload_tail(
        {name_of(object),
         fraction(count(status["readyReplicas"]), count(object["spec"]["replicas"])),
         count(status["updatedReplicas"]), count(status["availableReplicas"]), age_of(object, now)},
        object);
}

Cells replica_set_row(const Value& object, Time now) {
    const Value& status = object["status"];
    return workload_tail(
        {name_of(object), count(object["spec"]["replicas"]), count(status["replicas"]),
         count(status["readyReplicas"]), age_of(object, now)},
        object);
}

Cells stateful_set_row(const Value& object, Time now) {
    const Value& pod_spec = object["spec"]["template"]["spec"];
    return {name_of(object),
            fraction(count(object["status"]["readyReplicas"]), count(object["spec"]["replicas"])),
            age_of(object, now), container_names(pod_spec), container_images(pod_spec)};
}

Cells daemon_set_row(const Value& object, Time now) {
    const Value& status = object["status"];
    const Value& selector = object["spec"]["template"]["spec"]["nodeSelector"];
    return workload_tail({name_of(object), count(status["desiredNumberScheduled"]),
                          count(status["currentNumberScheduled"]), count(status["numberReady"]),
                          count(status["updatedNumberScheduled"]), count(status["numberAvailable"]),
                          labels_text(selector), age_of(object, now)},
                         object);
}

Cells cron_job_row(const Value& object, Time now) {
    const Value& spec = object["spec"];
    const Value& last = object["status"]["lastScheduleTime"];
    const Value& pod_spec = spec["jobTemplate"]["spec"]["template"]["spec"];
    return {name_of(object),
            spec["schedule"],
            text_or_none(spec["timeZone"]),
            spec["suspend"].boolean_or(false) ? "True" : "False",
            static_cast<std::int64_t>(object["status"]["active"].size()),
            last.is_null() ? Value("<none>") : age_cell(last, now),
            age_of(object, now),
            container_names(pod_spec),
            container_images(pod_spec),
            selector_text(spec["jobTemplate"]["spec"]["selector"])};
}

Cells controller_revision_row(const Value& revision, Time now) {
    std::string owner = "<none>";
    for (const Value& reference : revision["metadata"]["ownerReferences"].items()) {
        if (!reference["controller"].boolean_or(false)) continue;
        const std::string version = reference["apiVersion"].text();
        const std::size_t slash = version.find('/');
        owner = to_lower(reference["kind"].text());
        if (slash != std::string::npos) owner += "." + version.substr(0, slash);
        owner += "/" + reference["name"].text();
    }
    return {name_of(revision), owner, count(revision["revision"]), age_of(revision, now)};
}

/// "Name,Port(s),Selector+": + is wide only, # an integer.
std::vector<Column> columns(std::string_view names) {
    std::vector<Column> made;
    for (std::string_view name : split(names, ',')) {
        Column column;
        column.type = "string";
        if (name.ends_with('+')) {
            column.priority = 1;
            name.remove_suffix(1);
        }
        if (name.ends_with('#')) {
            column.type = "integer";
            name.remove_suffix(1);
        }
        column.name = name;
        column.description = name;
        if (name == "Name") column.format = "name";
        made.push_back(std::move(column));
    }
    return made;
}

constexpr std::string_view pod_columns =
    "Name,Ready,Status,Restarts,Age,IP+,Node+,Nominated Node+,Readiness Gates+";
constexpr std::string_view node_columns =
    "Name,Status,Roles,Age,Version,Internal-IP+,External-IP+,OS-Image+,Kernel-Version+,"
    "Container-Runtime+";
constexpr std::string_view event_columns =
    "Last Seen,Type,Reason,Object,Subobject+,Source+,Message,First Seen+,Count#+,Name+";
constexpr std::string_view cron_job_columns =
    "Name,Schedule,Timezone,Suspend,Active#,Last Schedule,Age,Containers+,Images+,Selector+";
constexpr std::string_view binding_columns = "Name,Role,Age,Users+,Groups+,ServiceAccounts+";
constexpr std::string_view tail = ",Containers+,Images+,Selector+";

std::vector<PrintedKind> make_all() {
    const std::string rbac = "rbac.authorization.k8s.io";
    const auto with_tail = [](const char* names) {
        return columns(std::string(names) + std::string(tail));
    };
    return {
        {"", "Pod", columns(pod_columns), pod_row},
        {"", "Node", columns(node_columns), node_row},
        {"", "Service", columns("Name,Type,Cluster-IP,External-IP,Port(s),Age,Selector+"),
         service_row},
        {"", "Event", columns(event_columns), event_row},
        {"events.k8s.io", "Event", columns(event_columns), event_row},
        {"", "Namespace", columns("Name,Status,Age"), namespace_row},
        {"", "ConfigMap", columns("Name,Data#,Age"), config_map_row},
        {"", "Secret", columns("Name,Type,Data#,Age"), secret_row},
        {"", "ServiceAccount", columns("Name,Age"), plain_row},
        {"", "Endpoints", columns("Name,Endpoints,Age"), endpoints_row},
        {"", "LimitRange", columns("Name,Created At"), created_row},
        {"", "ReplicationController", with_tail("Name,Desired#,Current#,Ready#,Age"),
         replica_set_row},
        {"apps", "Deployment", with_tail("Name,Ready,Up-to-date#,Available#,Age"), deployment_row},
        {"apps", "ReplicaSet", with_tail("Name,Desired#,Current#,Ready#,Age"), replica_set_row},
        {"apps", "StatefulSet", columns("Name,Ready,Age,Containers+,Images+"), stateful_set_row},
        {"apps", "DaemonSet",
         with_tail("Name,Desired#,Current#,Ready#,Up-to-date#,Available#,Node Selector,Age"),
         daemon_set_row},
        {"apps", "ControllerRevision", columns("Name,Controller,Revision#,Age"),
         controller_revision_row},
        {"batch", "Job", with_tail("Name,Status,Completions,Duration,Age"), job_row},
        {"batch", "CronJob", columns(cron_job_columns), cron_job_row},
        {"coordination.k8s.io", "Lease", columns("Name,Holder,Age"), lease_row},
        {"discovery.k8s.io", "EndpointSlice", columns("Name,AddressType,Ports,Endpoints,Age"),
         endpoint_slice_row},
        {"node.k8s.io", "RuntimeClass", columns("Name,Handler,Age"), runtime_class_row},
        {"scheduling.k8s.io", "PriorityClass",
         columns("Name,Value#,Global-Default,Age,PreemptionPolicy"), priority_class_row},
        {"apiextensions.k8s.io", "CustomResourceDefinition", columns("Name,Created At"),
         created_row},
        {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration",
         columns("Name,Webhooks#,Age"), webhooks_row},
        {"admissionregistration.k8s.io", "MutatingWebhookConfiguration",
         columns("Name,Webhooks#,Age"), webhooks_row},
        {rbac, "Role", columns("Name,Created At"), created_row},
        {rbac, "ClusterRole", columns("Name,Created At"), created_row},
        {rbac, "RoleBinding", columns(binding_columns), role_binding_row},
        {rbac, "ClusterRoleBinding", columns(binding_columns), role_binding_row},
        {"policy", "PodDisruptionBudget", columns("Name,Age"), plain_row},
    };
}

std::string requirement_text(const Value& requirement) {
    std::vector<std::string> values;
    for (const Value& value : requirement["values"].items())
        values.push_back(value.text());
    std::sort(values.begin(), values.end());
    const std::string key = requirement["key"].text();
    const std::string_view operation = requirement["operator"].text_or("");
    if (operation == "Exists") return key;
    if (operation == "DoesNotExist") return "!" + key;
    return key + (operation == "In" ? " in (" : " notin (") + join(values, ",") + ")";
}

}  // namespace

const PrintedKind* find_printed(const Kind& kind) {
    static const std::vector<PrintedKind> all = make_all();
    for (const PrintedKind& printed : all) {
        if (printed.group == kind.group && printed.kind == kind.kind) return &printed;
    }
    return nullptr;
}

Value age_cell(const Value& timestamp, Time now) {
    const std::optional<Time> time = parse_rfc3339(timestamp.text_or(""));
    if (!time) return "<unknown>";
    return human_duration(now - *time);
}

Value age_of(const Value& object, Time now) {
    return age_cell(object["metadata"]["creationTimestamp"], now);
}

Value text_or_none(const Value& text) {
    return text.text_or("").empty() ? Value("<none>") : text;
}

std::string labels_text(const Value& labels) {
    std::vector<std::string> pairs;
    for (const Value::Member& label : labels.members()) {
        pairs.push_back(label.key + "=" + label.value.text());
    }
    std::sort(pairs.begin(), pairs.end());
    return pairs.empty() ? "<none>" : join(pairs, ",");
}

std::string selector_text(const Value& selector) {
    const bool plain = !selector.has("matchLabels") && !selector.has("matchExpressions");
    if (plain) return labels_text(selector);  // Services and replication controllers.
    std::vector<std::string> parts;
    for (const Value::Member& label : selector["matchLabels"].members()) {
        parts.push_back(label.key + "=" + label.value.text());
    }
    std::sort(parts.begin(), parts.end());
    for (const Value& requirement : selector["matchExpressions"].items()) {
        parts.push_back(requirement_text(requirement));
    }
    return parts.empty() ? "<none>" : join(parts, ",");
}

std::string container_names(const Value& pod_spec) {
    return joined(pod_spec["containers"], "name");
}

std::string container_images(const Value& pod_spec) {
    return joined(pod_spec["containers"], "image");
}

}  // namespace muster::api
