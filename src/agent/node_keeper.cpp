// agent/node_keeper.cpp - see node_keeper.h.
#include "agent/node_keeper.h"

#include <algorithm>
#include <set>

#include <sys/utsname.h>

#include "agent/files.h"
#include "base/dns_name.h"
#include "base/error.h"
#include "base/quantity.h"
#include "base/text.h"
#include "kube/request.h"

namespace muster::agent {

namespace {

using api::Value;

const kube::Target kNodes{{"", "nodes"}, "v1"};
const kube::Target kLeases{{"coordination.k8s.io", "leases"}, "v1"};
constexpr const char* kLeaseNamespace = "kube-node-lease";
constexpr Duration kLeasePeriod = seconds(10);
constexpr Duration kStatusPeriod = minutes(5);
constexpr Duration kRetry = seconds(1);

Value condition(const Value& before, Time now, const char* type, const char* status,
                const char* reason, const std::string& message) {
    std::string since = to_rfc3339(now);
    for (const Value& old : before["conditions"].items())
        if (old["type"].text() == type && old["status"].text() == status)
            since = old["lastTransitionTime"].text();
    return Value::object({{"type", type},
                          {"status", status},
                          {"lastHeartbeatTime", to_rfc3339(now)},
                          {"lastTransitionTime", since},
                          {"reason", reason},
                          {"message", message}});
}

/// What is wrong with the name of a resource, for which a typing error would pass otherwise.
std::string resource_fault(const std::string& name) {
    const bool usual = name == "cpu" || name == "memory" || name == "pods" ||
                       name == "ephemeral-storage" || name.starts_with("hugepages-");
    if (usual) return {};
    const bool qualified = name.find('/') != std::string::npos && label_key_faults(name).empty();
    if (qualified) return {};
    return "\"" + name +
           "\" is no resource: cpu, memory, pods, ephemeral-storage, hugepages-2Mi or one with a "
           "domain, such as nvidia.com/gpu";
}

std::string label_fault(const std::string& key, const std::string& value) {
    for (const auto& faults : {label_key_faults(key), label_value_faults(value)})
        if (!faults.empty()) return "label " + key + "=" + value + ": " + faults.front();
    return {};
}

}  // namespace

NodeDeclaration parse_node_declaration(const std::string& text) {
    const auto fail = [&text](const std::string& why) -> Error {
        return {Reason::bad_request,
                "--node " + text + ": " + why + "; write NAME:cpu=8,memory=16Gi,pods=110"};
    };
    NodeDeclaration node;
    const auto halves = split_first(text, ':');
    node.name = halves ? std::string(halves->before) : text;
    if (node.name.empty()) throw fail("there is no name");
    if (const auto faults = dns1123_subdomain_faults(node.name); !faults.empty())
        throw fail("\"" + node.name + "\" is no name: " + faults.front());
    std::set<std::string> named;
    for (const std::string_view part : split(halves ? halves->after : "", ',')) {
        if (part.empty()) continue;
        const auto pair = split_first(part, '=');
        if (!pair) throw fail("\"" + std::string(part) + "\" has no =");
        const std::string key(pair->before), value(pair->after);
        if (!named.insert(key).second) throw fail(key + " stands there twice");
        if (key.starts_with("label.")) {
            if (const std::string fault = label_fault(key.substr(6), value); !fault.empty())
                throw fail(fault);
            node.labels.emplace_back(key.substr(6), value);
            continue;
        }
        if (const std::string fault = resource_fault(key); !fault.empty()) throw fail(fault);
        const auto amount = Quantity::parse(value);
        if (!amount || amount->is_negative())
            throw fail("\"" + value + "\" is not an amount of " + key);
        node.capacity.emplace_back(key, value);
    }
    if (!named.contains("pods")) node.capacity.emplace_back("pods", "110");
    return node;
}

void share_disk(std::vector<NodeDeclaration>& nodes, std::int64_t bytes) {
    const std::int64_t part = bytes / std::max<std::int64_t>(1, std::ssize(nodes)) / 1024;
    for (NodeDeclaration& node : nodes) {
        const bool is_declared =
            std::any_of(node.capacity.begin(), node.capacity.end(),
                        [](const auto& each) { return each.first == "ephemeral-storage"; });
        if (!is_declared && part > 0)
            node.capacity.emplace_back("ephemeral-storage", std::to_string(part) + "Ki");
    }
}

MachineFacts machine_facts() {
    MachineFacts facts;
    utsname name{};
    ::uname(&name);
    facts.kernel = name.release;
    const std::string machine = name.machine;
    facts.architecture = machine == "x86_64" ? "amd64" : machine == "aarch64" ? "arm64" : machine;
    facts.machine_id = std::string(trim(read_file("/etc/machine-id").value_or("")));
    facts.boot_id = std::string(trim(read_file("/proc/sys/kernel/random/boot_id").value_or("")));
    const std::string release = read_file("/etc/os-release").value_or("");
    for (const std::string_view line : split(release, '\n'))
        if (line.starts_with("PRETTY_NAME="))
            facts.os_image = replace_all(line.substr(12), "\"", "");
    return facts;
}

Value node_labels(const NodeDeclaration& node, const MachineFacts& facts) {
    Value labels = Value::object({{"beta.kubernetes.io/arch", facts.architecture},
                                  {"beta.kubernetes.io/os", "linux"},
                                  {"kubernetes.io/arch", facts.architecture},
                                  {"kubernetes.io/hostname", node.name},
                                  {"kubernetes.io/os", "linux"}});
    for (const auto& [key, value] : node.labels)
        labels.set(key, value);
    return labels;
}

Value make_node(const NodeDeclaration& node, const MachineFacts& facts) {
    return Value::object(
        {{"apiVersion", "v1"},
         {"kind", "Node"},
         {"metadata", Value::object({{"name", node.name}, {"labels", node_labels(node, facts)}})},
         {"spec", Value::object()}});
}

Value make_node_status(const NodeDeclaration& node, const MachineFacts& facts,
                       const std::string& address, const std::string& version,
                       const Network::Limits& limits, const Network::Users& users,
                       const Value& before, Time now) {
    Value capacity = Value::object();
    for (const auto& [resource, amount] : node.capacity)
        capacity.set(resource, amount);
    for (const char* pages : {"hugepages-1Gi", "hugepages-2Mi"})
        if (!capacity.has(pages)) capacity.set(pages, "0");  // As the kubelet says it.
    Value conditions = Value::array(
        {condition(before, now, "MemoryPressure", "False", "KubeletHasSufficientMemory",
                   "kubelet has sufficient memory available"),
         condition(before, now, "DiskPressure", "False", "KubeletHasNoDiskPressure",
                   "kubelet has no disk pressure"),
         condition(before, now, "PIDPressure", "False", "KubeletHasSufficientPID",
                   "kubelet has sufficient PID available"),
         condition(before, now, "Ready", "True", "KubeletReady",
                   "the Muster agent runs pods as processes of this machine"),
         condition(before, now, "muster.dev/LimitsEnforced", limits.enforced ? "True" : "False",
                   limits.enforced ? "LimitsAreEnforced" : "LimitsAreNotEnforced", limits.sentence),
         condition(before, now, "muster.dev/PodsHaveOwnUsers",
                   users.kind == PodUsers::own ? "True" : "False",
                   users.kind == PodUsers::own ? "UsersByNamespace" : "SharedUser",
                   users.sentence)});
    return Value::object(
        {{"addresses",
          Value::array({Value::object({{"type", "InternalIP"}, {"address", address}}),
                        Value::object({{"type", "Hostname"}, {"address", node.name}})})},
         {"capacity", capacity},
         {"allocatable", capacity},
         {"conditions", conditions},
         {"daemonEndpoints",
          Value::object({{"kubeletEndpoint", Value::object({{"Port", 10250}})}})},
         {"nodeInfo", Value::object({{"machineID", facts.machine_id},
                                     {"systemUUID", facts.machine_id},
                                     {"bootID", facts.boot_id},
                                     {"kernelVersion", facts.kernel},
                                     {"osImage", facts.os_image},
                                     {"containerRuntimeVersion", "muster://1.0"},
                                     {"kubeletVersion", version},
                                     {"kubeProxyVersion", ""},
                                     {"operatingSystem", "linux"},
                                     {"architecture", facts.architecture}})}});
}

NodeKeeper::NodeKeeper(const Options& options, const Network& network, Loop& loop,
                       kube::Transport& transport)
    : options_(options),
      network_(network),
      loop_(loop),
      transport_(transport),
      facts_(machine_facts()) {}

NodeKeeper::~NodeKeeper() = default;

std::string NodeKeeper::address_of(const std::string& node) const {
    for (std::size_t i = 0; i < options_.nodes.size(); ++i)
        if (options_.nodes[i].name == node) return "10.244.0." + std::to_string(1 + i % 250);
    return "";
}

void NodeKeeper::start() {
    for (const NodeDeclaration& node : options_.nodes)
        declare(node);
    statuses_told_ = loop_.now();
    tick();
}

void NodeKeeper::observe(const kube::Object& node) {
    const Value& conditions = node.value["status"]["conditions"];
    const bool is_lost =
        std::any_of(conditions.items().begin(), conditions.items().end(), [](const Value& each) {
            return each["type"].text() == "Ready" && each["status"].text() == "Unknown";
        });
    if (!is_lost) return;
    for (const NodeDeclaration& ours : options_.nodes) {
        if (ours.name != node.key.name) continue;
        renew(ours);
        declare(ours);
    }
}

void NodeKeeper::tick() {
    for (const NodeDeclaration& node : options_.nodes)
        renew(node);
    if (loop_.now() - statuses_told_ > kStatusPeriod) {
        statuses_told_ = loop_.now();
        for (const NodeDeclaration& node : options_.nodes)
            declare(node);
    }
    loop_.after(kLeasePeriod, [this, alive = std::weak_ptr<int>(alive_)] {
        if (!alive.expired()) tick();
    });
}

void NodeKeeper::declare(const NodeDeclaration& node) {
    const auto again = [this, &node] {
        loop_.after(kRetry, [this, &node, alive = std::weak_ptr<int>(alive_)] {
            if (!alive.expired()) declare(node);
        });
    };
    const auto alive = std::weak_ptr<int>(alive_);
    transport_.send(kube::get(kNodes, "", node.name), [=, this, &node](net::Response response) {
        if (alive.expired()) return;
        if (response.status == 200) return tell_status(node, kube::body_of(response)["status"]);
        if (response.status != 404) return again();
        transport_.send(kube::create(kNodes, "", node.name, "", make_node(node, facts_)),
                        [=, this, &node](net::Response created) {
                            if (alive.expired()) return;
                            const bool good = created.status == 201 || created.status == 200;
                            good ? tell_status(node, Value()) : again();
                        });
    });
}

void NodeKeeper::tell_status(const NodeDeclaration& node, const Value& before) {
    const api::Key key{kNodes.resource, "", node.name};
    const Value status = make_node_status(node, facts_, address_of(node.name), options_.version,
                                          network_.limits(), network_.users(), before, loop_.now());
    const auto alive = std::weak_ptr<int>(alive_);
    // Capacity is replaced as a whole: a resource that is no longer declared must go.
    Value replaced = status;
    for (const char* part : {"capacity", "allocatable"})
        for (const Value::Member& old : before[part].members())
            if (!status[part].has(old.key)) replaced.at(part).set(old.key, Value());
    transport_.send(
        kube::patch(
            kNodes, key, "", "application/merge-patch+json",
            Value::object({{"metadata", Value::object({{"labels", node_labels(node, facts_)}})}})),
        [](const net::Response&) {});
    transport_.send(kube::patch(kNodes, key, "status", "application/merge-patch+json",
                                Value::object({{"status", replaced}})),
                    [this, &node, alive](const net::Response& response) {
                        if (alive.expired() || response.status == 200) return;
                        loop_.after(kRetry, [this, &node, alive] {
                            if (!alive.expired()) declare(node);
                        });
                    });
}

void NodeKeeper::renew(const NodeDeclaration& node) {
    const api::Key key{kLeases.resource, kLeaseNamespace, node.name};
    const Value spec = Value::object({{"holderIdentity", node.name},
                                      {"leaseDurationSeconds", 40},
                                      {"renewTime", to_rfc3339_micro(loop_.now())}});
    transport_.send(kube::patch(kLeases, key, "", "application/merge-patch+json",
                                Value::object({{"spec", spec}})),
                    [this, &node, alive = std::weak_ptr<int>(alive_)](const net::Response& got) {
                        if (!alive.expired() && got.status == 404) create_lease(node);
                    });
}

void NodeKeeper::create_lease(const NodeDeclaration& node) {
    const Value lease = Value::object(
        {{"apiVersion", "coordination.k8s.io/v1"},
         {"kind", "Lease"},
         {"metadata", Value::object({{"name", node.name}, {"namespace", kLeaseNamespace}})},
         {"spec", Value::object({{"holderIdentity", node.name},
                                 {"leaseDurationSeconds", 40},
                                 {"renewTime", to_rfc3339_micro(loop_.now())}})}});
    transport_.send(kube::create(kLeases, kLeaseNamespace, node.name, "", lease),
                    [](const net::Response&) {});  // Tried again with the next renewal.
}

}  // namespace muster::agent
