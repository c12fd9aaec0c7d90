// control/ray/pods.cpp - pods and services of a Ray cluster.
#include "control/ray/pods.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>

#include "control/owner.h"
#include "control/ray/auth.h"
#include "control/ray/names.h"
#include "control/ray/upgrade.h"

namespace muster::control::ray {
namespace {

using api::Value;

constexpr std::string_view serve_label = "ray.io/serve";
constexpr std::size_t worker_prefix_max = 50;  // KubeRay cuts what stands before the suffix here.

bool has_named(const Value& list, std::string_view name) {
    const auto& items = list.items();
    return std::any_of(items.begin(), items.end(),
                       [&](const Value& item) { return item["name"].text_or("") == name; });
}

void add_env(Value& container, std::string_view name, Value value) {
    Value& env = container.at("env");
    if (env.is_null()) env = Value::array();
    if (!has_named(env, name))
        env.push(Value::object({{"name", name}, {"value", std::move(value)}}));
}

void add_field_env(Value& container, std::string_view name, std::string_view field_path) {
    Value& env = container.at("env");
    if (env.is_null()) env = Value::array();
    if (has_named(env, name)) return;
    Value source = Value::object({{"fieldRef", Value::object({{"fieldPath", field_path}})}});
    env.push(Value::object({{"name", name}, {"valueFrom", std::move(source)}}));
}

/// Rays's probes: the node agent of 2.53 and later has one endpoint for all of it; older ones tell
/// of the raylet.
Value probe(const Value& cluster, NodeType type, const std::string& agent_port, int initial_delay,
            int period, int failures) {
    const bool has_healthz = is_ray_at_least(cluster["spec"]["rayVersion"].text_or(""), 2, 53);
    int port = 52365;
    std::from_chars(agent_port.data(), agent_port.data() + agent_port.size(), port);
    return Value::object(
        {{"httpGet",
          Value::object({{"path", has_healthz ? "/api/healthz" : "/api/local_raylet_healthz"},
                         {"port", port},
                         {"scheme", "HTTP"}})},
         {"initialDelaySeconds", initial_delay},
         {"periodSeconds", period},
         {"timeoutSeconds", type == NodeType::head ? 5 : 2},
         {"successThreshold", 1},
         {"failureThreshold", failures}});
}

/// Adds the probes that the user did not set. True when one was added.
bool add_probes(Value& container, const Value& cluster, NodeType type,
                const std::string& agent_port) {
    bool added = false;
    if (!container.has("readinessProbe")) {
        container.set("readinessProbe", probe(cluster, type, agent_port, 10, 5, 10));
        added = true;
    }
    if (!container.has("livenessProbe")) {
        container.set("livenessProbe", probe(cluster, type, agent_port, 30, 5, 120));
        added = true;
    }
    return added;
}

void add_shared_memory(Value& pod_spec, Value& container,
                       const std::map<std::string, std::string>& parameters) {
    if (parameters.contains("plasma-directory")) return;
    for (const Value& mount : container["volumeMounts"].items()) {
        if (mount["mountPath"].text_or("") == "/dev/shm") return;
    }
    const Value& resources = container["resources"];
    Value medium = Value::object({{"medium", "Memory"}});
    const Value* size = resources["limits"].find("memory");
    if (size == nullptr) size = resources["requests"].find("memory");
    if (size != nullptr) medium.set("sizeLimit", *size);
    if (!has_named(pod_spec["volumes"], "shared-mem")) {
        pod_spec.at("volumes").push(
            Value::object({{"name", "shared-mem"}, {"emptyDir", std::move(medium)}}));
    }
    container.at("volumeMounts")
        .push(Value::object({{"mountPath", "/dev/shm"}, {"name", "shared-mem"}}));
}

std::string joined_user_command(const Value& container) {
    std::string line;
    for (const char* part : {"command", "args"}) {
        for (const Value& word : container[part].items()) {
            if (!line.empty()) line += " ";
            line += word.text_or("");
        }
    }
    return line;
}

void set_command(Value& container, const Value& cluster, const std::string& start) {
    const std::string own = joined_user_command(container);
    const bool keep =
        own.find("ray start") != std::string::npos ||
        cluster["metadata"]["annotations"]["ray.io/overwrite-container-cmd"].text_or("") == "true";
    if (keep) return;
    std::string line = own.empty() ? std::string() : own + " && ";
    line += "ulimit -n ${RAY_START_ULIMIT_OPEN_FILES:-65536}; " + start;
    container.set("command", Value::array({"/bin/bash", "-c", "--"}));
    container.set("args", Value::array({line}));
}

void add_environment(Value& container, NodeType type, const kube::Object& cluster,
                     const std::string& start, const std::string& port) {
    const std::string host = head_service_host(cluster.value);
    add_field_env(container, "RAY_CLUSTER_NAME", "metadata.labels['ray.io/cluster']");
    add_field_env(container, "RAY_CLUSTER_NAMESPACE", "metadata.namespace");
    add_field_env(container, "RAY_CLOUD_INSTANCE_ID", "metadata.name");
    add_field_env(container, "RAY_NODE_TYPE_NAME", "metadata.labels['ray.io/group']");
    add_env(container, "KUBERAY_GEN_RAY_START_CMD", start);
    add_env(container, "RAY_PORT", port);
    add_env(container, "RAY_ADDRESS", (type == NodeType::head ? "127.0.0.1" : host) + ":" + port);
    add_env(container, "RAY_USAGE_STATS_KUBERAY_IN_USE", "1");
    add_env(container, "RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1");
    if (type == NodeType::head) {
        add_env(container, "RAY_USAGE_STATS_EXTRA_TAGS",
                "kuberay_version=" + std::string(kuberay_version) + ";kuberay_crd=RayCluster");
    } else {
        add_env(container, "FQ_RAY_IP", host);
        add_env(container, "RAY_IP", head_service_name(cluster.value));
    }
}

/// Waits until the head's GCS takes connections: without it, a worker's log fills with failed
/// tries. KubeRay asks with `ray health-check`, a second of Python each time, every five seconds; a
/// connection tells as much at once.
Value wait_container(const Value& ray_container, const kube::Object& cluster,
                     const std::string& port) {
    const std::string host = head_service_host(cluster.value);
    const std::string script =
        "SECONDS=0\n"
        "until (exec 3<>/dev/tcp/" +
        host + "/" + port +
        ") 2>/dev/null; do\n"
        "  if (( SECONDS >= 120 && SECONDS % 10 == 0 )); then\n"
        "    echo \"$SECONDS seconds elapsed: the GCS at " +
        host + ":" + port +
        " does not answer yet\"\n"
        "    sleep 0.8\n"
        "  fi\n"
        "  sleep 0.2\n"
        "done\n"
        "echo \"GCS is ready.\"\n";
    Value container = Value::object({{"name", "wait-gcs-ready"},
                                     {"image", ray_container["image"]},
                                     {"command", Value::array({"/bin/bash", "-c", "--"})},
                                     {"args", Value::array({script})}});
    for (const char* same :
         {"imagePullPolicy", "env", "envFrom", "volumeMounts", "securityContext"}) {
        if (const Value* value = ray_container.find(same)) container.set(same, *value);
    }
    const Value amounts = Value::object({{"cpu", "200m"}, {"memory", "256Mi"}});
    container.set("resources", Value::object({{"limits", amounts}, {"requests", amounts}}));
    return container;
}

struct Names {
    std::string pod;
    std::string group;
};

Value pod_of(const kube::Object& cluster, const Value& group, NodeType type, const Names& names) {
    const std::string port = gcs_port(cluster.value["spec"]["headGroupSpec"]);
    const std::string host = head_service_host(cluster.value);
    const auto parameters = start_parameters(type, group, host + ":" + port);
    const std::string start = start_command(type, parameters);

    Value metadata = group["template"]["metadata"];
    if (metadata.is_null()) metadata = Value::object();
    metadata.erase("generateName");
    metadata.set("name", names.pod);
    metadata.set("namespace", cluster.key.ns);
    Value& labels = metadata.at("labels");
    if (labels.is_null()) labels = Value::object();
    const std::string_view node_type = type == NodeType::head ? "head" : "worker";
    const auto default_label = [&labels](std::string_view name, std::string_view value) {
        if (!labels.has(name)) labels.set(name, value);
    };
    default_label("ray.io/is-ray-node", "yes");
    default_label("ray.io/identifier", cluster.key.name + "-" + std::string(node_type));
    default_label("app.kubernetes.io/name", "kuberay");
    default_label("app.kubernetes.io/created-by", "kuberay-operator");
    for (const auto& [name, value] : group["labels"].members())
        labels.set(name, value);
    labels.set(node_type_label, node_type);
    labels.set(group_label, names.group);
    labels.set(cluster_label, cluster.key.name);
    if (wants_serve_service(cluster)) labels.set(serve_label, "true");
    metadata.set("ownerReferences", Value::array({owner_reference(cluster)}));

    Value spec = group["template"]["spec"];
    Value container = spec["containers"][0];
    set_command(container, cluster.value, start);
    add_environment(container, type, cluster, start, port);
    add_token(container, cluster.value["spec"], cluster.key.name);
    if (!has_named(container["ports"], "metrics")) {
        container.at("ports").push(
            Value::object({{"name", "metrics"}, {"containerPort", 8080}, {"protocol", "TCP"}}));
    }
    add_shared_memory(spec, container, parameters);
    if (type == NodeType::head && wants_recreate(cluster.value["spec"])) {
        metadata.at("annotations").set(spec_hash_annotation, spec_hash(cluster.value["spec"]));
        metadata.at("annotations").set(version_annotation, kuberay_version);
    }
    const auto agent_port = parameters.find("dashboard-agent-listen-port");
    if (add_probes(container, cluster.value, type, agent_port->second)) {
        metadata.at("annotations").set(injected_probes_annotation, container["name"].text());
    }
    if (type == NodeType::worker)
        spec.at("initContainers").push(wait_container(container, cluster, port));
    spec.at("containers").mutable_items()[0] = std::move(container);

    return Value::object({{"apiVersion", "v1"},
                          {"kind", "Pod"},
                          {"metadata", std::move(metadata)},
                          {"spec", std::move(spec)}});
}

}  // namespace

std::string head_pod_name(const kube::Object& cluster, int number) {
    return cluster.key.name + "-head-" +
           derived_suffix(cluster.uid, "head/" + std::to_string(number));
}

std::string worker_pod_name(const kube::Object& cluster, const Value& group, int number) {
    const std::string group_name = group["groupName"].text();
    std::string prefix = cluster.key.name + "-" + group_name + "-worker-";
    std::transform(prefix.begin(), prefix.end(), prefix.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (prefix.size() > worker_prefix_max) prefix.resize(worker_prefix_max);
    return prefix +
           derived_suffix(cluster.uid, "worker/" + group_name + "/" + std::to_string(number));
}

Value head_pod(const kube::Object& cluster, int number) {
    return pod_of(cluster, cluster.value["spec"]["headGroupSpec"], NodeType::head,
                  {head_pod_name(cluster, number), std::string(head_group_name)});
}

Value worker_pod(const kube::Object& cluster, const Value& group, int number) {
    return pod_of(cluster, group, NodeType::worker,
                  {worker_pod_name(cluster, group, number), group["groupName"].text()});
}

bool wants_serve_service(const kube::Object& cluster) {
    return cluster.annotation("ray.io/enable-serve-service") == "true";
}

Value serve_service(const kube::Object& cluster) {
    const Value& head = cluster.value["spec"]["headGroupSpec"];
    std::int64_t number = 8000;
    for (const Value& port : head["template"]["spec"]["containers"][0]["ports"].items()) {
        if (port["name"].text_or("") == "serve") number = port["containerPort"].integer_or(number);
    }
    const Value port = Value::object({{"name", "serve"},
                                      {"port", number},
                                      {"targetPort", number},
                                      {"protocol", "TCP"},
                                      {"appProtocol", "tcp"}});
    const Value selector =
        Value::object({{cluster_label, cluster.key.name}, {serve_label, "true"}});
    Value metadata = Value::object({{"name", cluster.key.name + "-serve-svc"},
                                    {"namespace", cluster.key.ns},
                                    {"labels", selector},
                                    {"ownerReferences", Value::array({owner_reference(cluster)})}});
    return Value::object(
        {{"apiVersion", "v1"},
         {"kind", "Service"},
         {"metadata", std::move(metadata)},
         {"spec", Value::object({{"selector", selector},
                                 {"type", head["serviceType"].text_or("ClusterIP")},
                                 {"ports", Value::array({port})}})}});
}

Value head_service(const kube::Object& cluster) {
    const Value& head = cluster.value["spec"]["headGroupSpec"];
    const Value selector = Value::object({{"app.kubernetes.io/created-by", "kuberay-operator"},
                                          {"app.kubernetes.io/name", "kuberay"},
                                          {cluster_label, cluster.key.name},
                                          {"ray.io/identifier", cluster.key.name + "-head"},
                                          {node_type_label, "head"}});
    Value service = head["headService"];
    Value metadata = service["metadata"];
    if (metadata.is_null()) metadata = Value::object();
    if (metadata["name"].text_or("").empty())
        metadata.set("name", head_service_name(cluster.value));
    metadata.set("namespace", cluster.key.ns);
    for (const auto& [name, value] : selector.members())
        metadata.at("labels").set(name, value);
    for (const auto& [name, value] : cluster.value["spec"]["headServiceAnnotations"].members()) {
        metadata.at("annotations").set(name, value);
    }
    metadata.set("ownerReferences", Value::array({owner_reference(cluster)}));

    Value spec = service["spec"];
    if (spec.is_null()) spec = Value::object();
    spec.set("selector", selector);
    // A service of the user's own keeps its type; ours has no address of its own unless asked.
    const std::string type = head["serviceType"].text();
    if (!type.empty() && spec["type"].text_or("").empty()) spec.set("type", type);
    if (!head["headService"].is_object() && spec["type"].text_or("ClusterIP") == "ClusterIP") {
        spec.set("clusterIP", "None");
        spec.set("publishNotReadyAddresses", true);
    }
    std::vector<std::pair<std::string, std::int64_t>> ports;
    for (const Value& port : head["template"]["spec"]["containers"][0]["ports"].items()) {
        const std::int64_t number = port["containerPort"].integer_or(0);
        const std::string name = port["name"].text();
        ports.emplace_back(name.empty() ? std::to_string(number) + "-port" : name, number);
    }
    if (ports.empty()) {
        ports = {{"client", 10001}, {"gcs-server", 6379}, {"dashboard", 8265}, {"serve", 8000}};
    }
    if (std::none_of(ports.begin(), ports.end(),
                     [](const auto& port) { return port.first == "metrics"; })) {
        ports.emplace_back("metrics", 8080);
    }
    std::sort(ports.begin(), ports.end());
    Value all = Value::array();
    for (const Value& port : spec["ports"].items()) {
        const bool ours = std::any_of(ports.begin(), ports.end(), [&](const auto& known) {
            return known.first == port["name"].text_or("");
        });
        if (!ours) all.push(port);
    }
    for (const auto& [name, number] : ports) {
        all.push(Value::object({{"name", name},
                                {"port", number},
                                {"targetPort", number},
                                {"protocol", "TCP"},
                                {"appProtocol", "tcp"}}));
    }
    spec.set("ports", std::move(all));
    return Value::object({{"apiVersion", "v1"},
                          {"kind", "Service"},
                          {"metadata", std::move(metadata)},
                          {"spec", std::move(spec)}});
}

}  // namespace muster::control::ray
