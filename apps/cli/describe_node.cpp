// apps/cli/describe_node.cpp - a node as kubectl describes it: what it has, and which pods hold how
// much of it.
#include <algorithm>

#include "apps/cli/describe.h"
#include "apps/cli/pod_amounts.h"
#include "base/text.h"

namespace muster::cli {
namespace {

using api::Value;

constexpr std::string_view role_prefix = "node-role.kubernetes.io/";

std::string roles_of(const Value& node) {
    std::vector<std::string> roles;
    for (const auto& label : node["metadata"]["labels"].members()) {
        if (label.key.starts_with(role_prefix))
            roles.push_back(label.key.text().substr(role_prefix.size()));
        if (label.key == "kubernetes.io/role") roles.push_back(label.value.text());
    }
    std::sort(roles.begin(), roles.end());
    return roles.empty() ? "<none>" : join(roles, ",");
}

std::string taint_lines(const Value& taints) {
    std::string out = "Taints:";
    if (taints.empty()) return out + "\t<none>\n";
    for (const Value& taint : taints.items()) {
        const std::string value = taint["value"].text();
        out += "\t" + taint["key"].text() + (value.empty() ? "" : "=" + value) + ":" +
               taint["effect"].text() + "\n";
    }
    return out;
}

std::string lease_lines(const Value& lease) {
    const Value& spec = lease["spec"];
    std::string holder = spec["holderIdentity"].text();
    if (holder.empty()) holder = "<unset>";
    return "Lease:\n  HolderIdentity:\t" + holder + "\n  AcquireTime:\t" +
           long_time(spec["acquireTime"]) + "\n  RenewTime:\t" + long_time(spec["renewTime"]) +
           "\n";
}

std::string condition_lines(const Value& conditions) {
    if (conditions.empty()) return "";
    std::string out =
        "Conditions:\n  Type\tStatus\tLastHeartbeatTime\tLastTransitionTime\tReason\tMessage\n"
        "  ----\t------\t-----------------\t------------------\t------\t-------\n";
    for (const Value& condition : conditions.items()) {
        out += "  " + condition["type"].text() + " \t" + condition["status"].text() + " \t" +
               long_time(condition["lastHeartbeatTime"]) + " \t" +
               long_time(condition["lastTransitionTime"]) + " \t" + condition["reason"].text() +
               " \t" + condition["message"].text() + "\n";
    }
    return out;
}

std::string resource_lines(const std::string& title, const Value& list) {
    if (list.empty()) return "";
    std::vector<std::string> lines;
    for (const auto& member : list.members()) {
        const auto quantity = Quantity::parse(member.value.text());
        lines.push_back("  " + member.key + ":\t" +
                        (quantity ? quantity->text() : member.value.text()) + "\n");
    }
    std::sort(lines.begin(), lines.end());
    return title + ":\n" + join(lines, "");
}

std::string system_lines(const Value& info) {
    static constexpr std::pair<const char*, const char*> rows[] = {
        {"Machine ID", "machineID"},
        {"System UUID", "systemUUID"},
        {"Boot ID", "bootID"},
        {"Kernel Version", "kernelVersion"},
        {"OS Image", "osImage"},
        {"Operating System", "operatingSystem"},
        {"Architecture", "architecture"},
        {"Container Runtime Version", "containerRuntimeVersion"},
        {"Kubelet Version", "kubeletVersion"},
        {"Kube-Proxy Version", "kubeProxyVersion"},
    };
    std::string out = "System Info:\n";
    for (const auto& [title, field] : rows) {
        // Newer clusters do not say it any more.
        if (std::string_view(field) == "kubeProxyVersion" && info[field].text_or("").empty())
            continue;
        out += std::string("  ") + title + ":\t" + info[field].text() + "\n";
    }
    return out;
}

Quantity amount_of(const Amounts& amounts, const std::string& name) {
    const auto at = amounts.find(name);
    return at == amounts.end() ? Quantity() : at->second;
}

/// "6050m (75%)": whole percents, rounded down.
std::string share_text(const Quantity& part, const Quantity& whole, const std::string& resource) {
    const bool fine = resource == "cpu";
    const auto of = static_cast<double>(fine ? whole.milli() : whole.units());
    const auto is = static_cast<double>(fine ? part.milli() : part.units());
    const auto percent = of > 0 ? static_cast<std::int64_t>(is / of * 100) : 0;
    return part.text() + " (" + std::to_string(percent) + "%)";
}

Amounts allocatable_of(const Value& node) {
    const Value& status = node["status"];
    Amounts amounts;
    const Value& list = status["allocatable"].empty() ? status["capacity"] : status["allocatable"];
    for (const auto& member : list.members()) {
        if (const auto quantity = Quantity::parse(member.value.text()))
            amounts[member.key] = *quantity;
    }
    return amounts;
}

std::string pod_lines(const std::vector<Value>& pods, const Amounts& whole, Time now) {
    std::string out = "Non-terminated Pods:\t(" + std::to_string(pods.size()) + " in total)\n";
    out +=
        "  Namespace\tName\t\tCPU Requests\tCPU Limits\tMemory Requests\tMemory Limits\tAge\n"
        "  ---------\t----\t\t------------\t----------\t---------------\t-------------\t---\n";
    for (const Value& pod : pods) {
        const Amounts requests = pod_amounts(pod, "requests");
        const Amounts limits = pod_amounts(pod, "limits");
        out += "  " + pod["metadata"]["namespace"].text() + "\t" + pod["metadata"]["name"].text() +
               "\t";
        for (const char* name : {"cpu", "memory"}) {
            for (const Amounts* amounts : {&requests, &limits})
                out += "\t" + share_text(amount_of(*amounts, name), amount_of(whole, name), name);
        }
        out += "\t" + age_of(pod["metadata"]["creationTimestamp"], now) + "\n";
    }
    return out;
}

std::string allocated_lines(const std::vector<Value>& pods, const Amounts& whole) {
    Amounts requests;
    Amounts limits;
    for (const Value& pod : pods) {
        add_amounts(requests, pod_amounts(pod, "requests"));
        add_amounts(limits, pod_amounts(pod, "limits"));
    }
    std::string out =
        "Allocated resources:\n  (Total limits may be over 100 percent, i.e., overcommitted.)\n"
        "  Resource\tRequests\tLimits\n  --------\t--------\t------\n";
    const auto add_share = [&](const std::string& name) {
        out += "  " + name + "\t" +
               share_text(amount_of(requests, name), amount_of(whole, name), name) + "\t" +
               share_text(amount_of(limits, name), amount_of(whole, name), name) + "\n";
    };
    for (const char* name : {"cpu", "memory", "ephemeral-storage"})
        add_share(name);
    for (const auto& [name, quantity] : whole) {
        if (name.starts_with("hugepages-")) add_share(name);
    }
    for (const auto& [name, quantity] : whole) {
        const bool usual = name == "cpu" || name == "memory" || name == "ephemeral-storage" ||
                           name == "pods" || name.starts_with("hugepages-");
        if (usual) continue;
        out += "  " + name + "\t" + amount_of(requests, name).text() + "\t" +
               amount_of(limits, name).text() + "\n";
    }
    return out;
}

}  // namespace

std::string describe_node(const Value& node, const Value& lease, const std::vector<Value>& pods,
                          const std::vector<Value>& events, Time now) {
    const Value& metadata = node["metadata"];
    const Value& status = node["status"];
    std::string out = "Name:\t" + metadata["name"].text() + "\nRoles:\t" + roles_of(node) + "\n";
    out += label_lines("Labels", metadata["labels"]) + annotation_lines(metadata["annotations"]);
    out += "CreationTimestamp:\t" + long_time(metadata["creationTimestamp"]) + "\n";
    out += taint_lines(node["spec"]["taints"]);
    const bool closed = node["spec"]["unschedulable"].boolean_or(false);
    out += std::string("Unschedulable:\t") + (closed ? "true" : "false") + "\n";
    out += lease_lines(lease) + condition_lines(status["conditions"]) + "Addresses:\n";
    for (const Value& address : status["addresses"].items())
        out += "  " + address["type"].text() + ":\t" + address["address"].text() + "\n";
    out += resource_lines("Capacity", status["capacity"]);
    out += resource_lines("Allocatable", status["allocatable"]);
    out += system_lines(status["nodeInfo"]);
    for (const char* field : {"podCIDR", "providerID"}) {
        if (const std::string text = node["spec"][field].text(); !text.empty())
            out += (std::string(field) == "podCIDR" ? "PodCIDR:\t" : "ProviderID:\t") + text + "\n";
    }
    const Amounts whole = allocatable_of(node);
    out += pod_lines(pods, whole, now) + allocated_lines(pods, whole);
    return align_blocks(out + event_lines(events, now));
}

}  // namespace muster::cli
